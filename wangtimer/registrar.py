"""What business services ask for: create, enable, disable, delete a timer."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from wangtimer.core.clock import Clock
from wangtimer.core.errors import Conflict, InvalidInput, StoreAway
from wangtimer.core.firing import Chunk, Firing
from wangtimer.core.planning import Plan, count_by_minute, firings_of, plan
from wangtimer.core.schedule import Once
from wangtimer.core.slicing import BucketRule
from wangtimer.core.timer import Definition, Timer
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.load import MinuteLoad
from wangtimer.store.sql.timers import NewTimer, TimerStore

log = structlog.get_logger()

# A one-shot may be created or enabled this long after its moment; it then fires at once.
LATE_ONCE_MS = 60_000
# Moments planned at most when a timer is switched off after planning was away: about a second's work for SQL.
MOST_PAST = 100_000


@dataclass(frozen=True, slots=True)
class NearRule:
    """What enabling plans within the request: `near_ms` ahead, at most `most` moments; `soon_ms` is armed at once."""

    near_ms: int
    most: int
    soon_ms: int


@dataclass(frozen=True, slots=True)
class Registrar:
    """Each change is committed to SQL first; Redis then learns of it, or the sweep tells it later."""

    timers: TimerStore
    hot: HotStore
    definitions: DefinitionStore
    load: MinuteLoad
    clock: Clock
    near: NearRule
    buckets: BucketRule
    send_chunk: Callable[[Chunk], None]

    def create(self, new: NewTimer) -> Timer:
        """Store a disabled timer.

        Raises `InvalidInput` for a moment more than a minute past, `Conflict` for a name in use, `StoreAway`.
        """
        now = int(self.clock.now_ms())
        if isinstance(new.schedule, Once) and new.schedule.at_ms < now - LATE_ONCE_MS:
            late_s = (now - new.schedule.at_ms) // 1_000
            raise InvalidInput("at", f"this moment passed {late_s} s ago", "give a moment in the future")
        return self.timers.create(new, now)

    def enable(self, app: str, timer_id: int) -> Timer:
        """Enable a timer and plan its near part; a one-shot up to a minute late fires at once.

        Raises `UnknownTimer`, `Conflict` for a one-shot longer past or with an outcome already, `StoreAway`.
        """
        now = int(self.clock.now_ms())
        timer, firings = self.timers.enable(app, timer_id, now, lambda read: self._plan_near(read, now))
        self._tell_redis(timer.definition, firings, now)
        return timer

    def disable(self, app: str, timer_id: int) -> Timer:
        """Disable a timer: from `lead` before its next moment at the latest, nothing fires. Errors as above."""
        now = int(self.clock.now_ms())
        timer = self.timers.disable(app, timer_id, now, lambda read: self._plan_past(read, now))
        self._tell_redis(timer.definition, [], 0)
        return timer

    def delete(self, app: str, timer_id: int) -> Timer:
        """Delete a timer and free its name; its firings stay on record. Errors as above."""
        now = int(self.clock.now_ms())
        timer = self.timers.delete(app, timer_id, now, lambda read: self._plan_past(read, now))
        self._tell_redis(timer.definition, [], 0)
        return timer

    def _plan_near(self, timer: Timer, now: int) -> tuple[Plan, list[Firing]]:
        schedule = timer.definition.schedule
        start = max(timer.planned_until, now)
        if isinstance(schedule, Once) and schedule.at_ms <= now:
            _refuse_if_long_past(schedule, now)
            start = schedule.at_ms - 1
        near = plan(timer.planned_from(start), max(now + self.near.near_ms, start), self.near.most)
        return near, firings_of([near], self._planned_before(near), self.buckets)

    def _plan_past(self, timer: Timer, now: int) -> tuple[Plan, list[Firing]]:
        """Plan what came due while nobody planned: it is the sweep's to fire, or to record why not.

        A timer that cannot be planned here (a zone this node does not know) can be switched off all the same.
        """
        try:
            past = plan(timer, max(now, timer.planned_until), MOST_PAST)
        except Exception as error:
            log.warning("timer_cannot_be_planned", timer_id=timer.id, error=repr(error))
            past = Plan(timer, (), timer.planned_until, timer.next_fire_at)
        return past, firings_of([past], self._planned_before(past), self.buckets)

    def _planned_before(self, planned: Plan) -> dict[int, int]:
        if not planned.moments:
            return {}
        try:
            return self.load.reserve(count_by_minute([planned]))
        except StoreAway:
            return {}

    def _tell_redis(self, definition: Definition, firings: list[Firing], now: int) -> None:
        """Tell Redis what is committed; where it is away the sweep does, seconds later."""
        soon = [firing for firing in firings if firing.due_at < now + self.near.soon_ms]
        try:
            self.definitions.put([definition])
            self.hot.add([firing for firing in firings if firing.due_at >= now + self.near.soon_ms])
            for chunk in self.hot.arm_now(soon):
                self.send_chunk(chunk)
        except StoreAway as error:
            log.warning("change_not_in_redis_yet", timer_id=definition.timer_id, error=str(error))


def _refuse_if_long_past(schedule: Once, now: int) -> None:
    late_ms = now - schedule.at_ms
    if late_ms > LATE_ONCE_MS:
        raise Conflict(
            "id",
            f"this timer's one moment passed {late_ms // 1_000} s ago, more than the {LATE_ONCE_MS // 1_000} s allowed",
            "create a timer with a moment in the future",
        )
