"""Marks outcomes that the judge of alerts is to see."""

from collections.abc import Callable

from wangtimer.callback.origin import told_host
from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.alerts.alert_rule import noted
from wangtimer.core.alerts.alerted_apps import AlertedApps
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition

# Of a host in trouble one answer a second is noted: the judge wants to know whether it answers, not how often.
ANSWERS_EVERY_S = 1.0
# Hosts in trouble whose last marked answer is remembered.
HOSTS_KEPT = 1_000


class AlertMarks:
    """Quick, from any thread. `alerted` returns who has rules of alerts."""

    def __init__(self, alerted: Callable[[], AlertedApps], clock: Clock) -> None:
        self._alerted = alerted
        self._clock = clock
        self._marked_at: dict[tuple[str, str], float] = {}

    def noted(self, outcome: Outcome, place: AlertPlace) -> Outcome:
        """Return the outcome, marked if the judge is to see it."""
        return noted(outcome, place, self._alerted(), self._is_first)

    def _is_first(self, app: str, place: str) -> bool:
        """Tell whether no answer of this place was marked within the last second."""
        now = self._clock.monotonic()
        if now - self._marked_at.get((app, place), float("-inf")) < ANSWERS_EVERY_S:
            return False
        if len(self._marked_at) >= HOSTS_KEPT:
            self._marked_at.clear()
        self._marked_at[app, place] = now
        return True


def place_of(definition: Definition | None, target: NamedTarget | None = None) -> AlertPlace:
    """Return where a timer's calls go; without the target that it names nobody knows the host."""
    if definition is None:
        return NOWHERE
    if target is not None:
        return AlertPlace(definition.app, told_host(target.call.url), target.name)
    name = definition.notify.target
    return AlertPlace(definition.app, "" if name else told_host(definition.notify.url), name)
