"""The gone stopper: disables timers whose target answered 410 Gone."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

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
# Timers that wait while others are disabled. A further one is left out: its next answer asks for it again.
MOST_ASKED = 5_000


@dataclass(slots=True)
class GoneStopper:
    """Repeatable: who is disabled stays so. One thread of a process disables, so that the others are free for the rest.

    A timer is left alone if it, or the target it names, was changed since its call, or if it has no moment to come:
    that one ends as after any failure.
    """

    lists: TimerLists
    targets: TargetStore
    batches: Batches
    _asked: dict[int, tuple[int, int]] = field(default_factory=dict, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)
    _busy: Lock = field(default_factory=Lock, init=False)

    def stop(self, called: Mapping[int, tuple[int, int]]) -> None:
        """Disable timers, given by id with the versions of timer and named target (0: none) that were called.

        While another thread is at it, that one disables these too. What fails for one app holds up no other. Raises
        `StoreAway`.
        """
        with self._lock:
            for timer_id, versions in called.items():
                if timer_id in self._asked or len(self._asked) < MOST_ASKED:
                    self._asked[timer_id] = versions
        while self._asked and self._busy.acquire(blocking=False):
            try:
                self._stop_asked()
            finally:
                self._busy.release()

    def _stop_asked(self) -> None:
        with self._lock:
            called, self._asked = self._asked, {}
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
            and timer.is_at(called[timer.id][0])
            and called[timer.id][1] == self._target_version(timer, versions)
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
