"""The gone stopper: disables timers whose target answered 410 Gone."""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from wangtimer.batches import Batches
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.errors import StoreAway, UnknownTarget
from wangtimer.core.flow.reply_control import ReplyControl
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.timer_lists import TimerLists

log = structlog.get_logger()

# As the audit names who did it.
CALLER = Caller(None, "the target answered 410", None, frozenset(), "")


@dataclass(frozen=True, slots=True)
class GoneStopper:
    """Repeatable: who is disabled stays so.

    A timer is left alone if it, or the target it names, was changed since its call, or if it has no moment to come:
    that one ends as after any failure.
    """

    lists: TimerLists
    targets: TargetStore
    batches: Batches

    def stop(self, app: str, called: Mapping[int, ReplyControl]) -> dict[int, StoreAway]:
        """Disable timers of an app, given by id with what was called; return those for which SQL is away.

        Those that cannot be read here are disabled too. Raises `StoreAway` where it is away for all.
        """
        versions: dict[str, int] = {"": 0}
        found = self.lists.of_ids(app, list(called))
        if found.bad:
            self.batches.disable_unread(list(found.bad))
        chosen = [
            timer
            for timer in found.values()
            if timer.definition.is_enabled
            and timer.next_fire_at is not None
            and timer.is_at(called[timer.id].version)
            and called[timer.id].until == self._target_version(timer, versions)
        ]
        if not chosen:
            return {}
        with calling(CALLER):
            results = self.batches.disable(chosen, as_read=True)
        disabled = sum(isinstance(result, Timer) for result in results.values())
        log.warning("gone_timers_disabled", app=app, timers=disabled, left=len(chosen) - disabled)
        return {timer_id: result for timer_id, result in results.items() if isinstance(result, StoreAway)}

    def _target_version(self, timer: Timer, versions: dict[str, int]) -> int:
        """Return the version of the target that a timer names, looked up once; 0 where it names none."""
        name = timer.definition.notify.target
        if name not in versions:
            try:
                versions[name] = self.targets.get(timer.definition.app, name).version
            except UnknownTarget:
                versions[name] = 0
        return versions[name]
