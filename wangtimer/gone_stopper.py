"""The gone stopper: disables timers whose target answered 410 Gone."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import structlog

from wangtimer.batches import Batches
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.errors import UnknownTarget
from wangtimer.core.timers.timer import Timer
from wangtimer.in_turn import do_in_turn
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.timer_lists import TimerLists

log = structlog.get_logger()

# As the audit names who did it.
CALLER = Caller(None, "the target answered 410", None, frozenset(), "")


@dataclass(frozen=True, slots=True)
class GoneStopper:
    """Repeatable: who is disabled stays so. What takes too long is left: the next answers ask for it again.

    A timer is left alone if it, or the target it names, was changed since its call, or if it has no moment to come:
    that one ends as after any failure.
    """

    lists: TimerLists
    targets: TargetStore
    batches: Batches

    def stop(self, called: Mapping[int, tuple[int, int]]) -> None:
        """Disable timers, given by id with the versions of timer and named target (0: none) that were called.

        What fails for one app holds up no other. Raises `StoreAway`.
        """
        of_apps: dict[str, list[int]] = defaultdict(list)
        for timer_id, app in self.lists.apps_of(called).items():
            of_apps[app].append(timer_id)
        do_in_turn(*(partial(self._stop, app, ids, called) for app, ids in of_apps.items()))

    def _stop(self, app: str, ids: list[int], called: Mapping[int, tuple[int, int]]) -> None:
        versions: dict[str, int] = {"": 0}
        chosen = [
            timer
            for timer in self.lists.of_ids(app, ids).values()
            if timer.definition.is_enabled
            and timer.next_fire_at is not None
            and called[timer.id] == (timer.definition.version, self._target_version(timer, versions))
        ]
        if not chosen:
            return
        with calling(CALLER):
            results = self.batches.disable(chosen, as_read=True)
        disabled = sum(isinstance(one, Timer) for one in results.values())
        log.warning("gone_timers_disabled", app=app, timers=disabled, left=len(chosen) - disabled)

    def _target_version(self, timer: Timer, versions: dict[str, int]) -> int:
        """Return the version of the target that a timer names, looked up once; 0 where it names none."""
        name = timer.definition.notify.target
        if name not in versions:
            try:
                versions[name] = self.targets.get(timer.definition.app, name).version
            except UnknownTarget:
                versions[name] = 0
        return versions[name]
