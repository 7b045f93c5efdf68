"""Marks outcomes that the judge of alerts is to see."""

from collections.abc import Callable
from functools import partial

from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.alerts.alert_rule import noted
from wangtimer.core.alerts.alerted_apps import AlertedApps
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock

# Of a host in trouble one success a second is noted: the judge wants to know whether there are any, not how many. The
# first one after a failure may be the last for long, so it waits less.
SUCCESSES_EVERY_S, FIRST_SUCCESSES_EVERY_S = 1.0, 0.1
# Hosts whose last marked success is remembered, and hosts that have had a success since their last failure.
MARKED_KEPT, WELL_KEPT = 1_000, 10_000
_Place = tuple[str, str]


class AlertMarks:
    """Quick, from any thread. `alerted` returns who has rules of alerts."""

    def __init__(self, alerted: Callable[[], AlertedApps], clock: Clock) -> None:
        self._alerted = alerted
        self._clock = clock
        self._marked_at: dict[_Place, float] = {}
        # ms UTC, of places that have not failed since.
        self._well_at: dict[_Place, int] = {}

    @property
    def has_rules(self) -> bool:
        """Whether anybody has rules of alerts, so that an outcome may be noted."""
        return bool(self._alerted())

    @property
    def are_any_troubled(self) -> bool:
        """Whether some host is in trouble, so that a success may be noted."""
        return bool(self._alerted().troubled)

    def noted(self, outcome: Outcome, place: AlertPlace) -> Outcome:
        """Return the outcome, marked if the judge is to see it."""
        return self.noted_for(self._alerted(), outcome, place)

    def noted_for(self, alerted: AlertedApps, outcome: Outcome, place: AlertPlace) -> Outcome:
        """Do the same for those who have rules now."""
        app = place.app
        if not alerted or (app and app not in alerted):
            return outcome
        key, now, well_at, least_s = (app, place.text), int(self._clock.now_ms()), None, SUCCESSES_EVERY_S
        if outcome.status is FiringStatus.SUCCEEDED:
            if key not in self._well_at:
                least_s = FIRST_SUCCESSES_EVERY_S
                if len(self._well_at) >= WELL_KEPT:
                    self._well_at.clear()
            self._well_at[key] = now
        elif outcome.status in (FiringStatus.FAILED, FiringStatus.PENDING):
            well_at = self._well_at.pop(key, None)
        return noted(outcome, place, alerted, partial(self._is_first, least_s), now, well_at)

    def _is_first(self, least_s: float, app: str, place: str) -> bool:
        """Tell whether no success of this place was marked just now."""
        now = self._clock.monotonic()
        if now - self._marked_at.get((app, place), float("-inf")) < least_s:
            return False
        if len(self._marked_at) >= MARKED_KEPT:
            self._marked_at.clear()
        self._marked_at[app, place] = now
        return True
