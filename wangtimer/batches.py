"""Many timers of one app at once: each has its own outcome, and SQL and Redis a few calls for all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import structlog

from wangtimer.core.clock import Clock
from wangtimer.core.errors import StoreAway, WangTimerError
from wangtimer.core.planning import Plan
from wangtimer.core.timer import Timer
from wangtimer.registrar import Registrar, refuse_past
from wangtimer.store.sql.timer_batches import TimerBatches
from wangtimer.store.sql.timers import NewTimer, name_taken

log = structlog.get_logger()

# Rows and timers one transaction enables: locks of a fraction of a second.
ROWS_A_TRANSACTION = 10_000
TIMERS_A_TRANSACTION = 500


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a timer that was to be created: it stands, or `error` says why not; both where it could only not
    be enabled.
    """

    timer: Timer | None = None
    error: WangTimerError | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    """Does what the registrar does, for many timers together; what does not go together, one by one."""

    registrar: Registrar
    timers: TimerBatches
    clock: Clock

    def create(self, app: str, new: Sequence[NewTimer], enable: bool) -> list[Made]:
        """Store timers, and enable them if asked to; one that is refused spoils no other. Raises `StoreAway`."""
        now = int(self.clock.now_ms())
        refused = [_refusal(one, now) for one in new]
        good = [one for one, error in zip(new, refused, strict=True) if error is None]
        stored = iter(self.timers.create(app, good, now))
        made = [
            _made(next(stored), one) if error is None else Made(error=error)
            for one, error in zip(new, refused, strict=True)
        ]
        if not enable:
            return made
        outcomes = self.enable([one.timer for one in made if one.timer is not None])
        return [one if one.timer is None else _enabled(one.timer, outcomes[one.timer.id]) for one in made]

    def enable(self, timers: Sequence[Timer]) -> dict[int, Timer | WangTimerError]:
        """Enable disabled timers, as they were read; return by id how each stands, or why it was not enabled."""
        outcomes: dict[int, Timer | WangTimerError] = {}
        now = int(self.clock.now_ms())
        for plans in self._plans(timers, now, outcomes):
            try:
                together = self._enable_together(plans, now)
            except StoreAway as error:
                outcomes |= {a_plan.timer.id: error for a_plan in plans}
                continue
            outcomes |= together
            for a_plan in plans:
                if a_plan.timer.id not in together:
                    outcomes[a_plan.timer.id] = self._enable_alone(a_plan.timer)
        return outcomes

    def _plans(
        self, timers: Sequence[Timer], now: int, refused: dict[int, Timer | WangTimerError]
    ) -> Iterator[list[Plan]]:
        """Yield the timers' first plans, so many as make one transaction."""
        plans: list[Plan] = []
        rows = 0
        for timer in timers:
            try:
                plans.append(self.registrar.plan_first(timer, now))
            except WangTimerError as error:
                refused[timer.id] = error
                continue
            rows += len(plans[-1].moments)
            if rows >= ROWS_A_TRANSACTION or len(plans) == TIMERS_A_TRANSACTION:
                yield plans
                plans, rows = [], 0
        if plans:
            yield plans

    def _enable_together(self, plans: list[Plan], now: int) -> dict[int, Timer | WangTimerError]:
        """Enable timers in one transaction; return those that were not changed meanwhile."""
        enabled = self.timers.enable(plans, self.registrar.firings_of(plans), now)
        self.registrar.tell_redis([timer.definition for timer in enabled.timers], enabled.pending, now)
        return {timer.id: timer for timer in enabled.timers}

    def _enable_alone(self, timer: Timer) -> Timer | WangTimerError:
        """Enable a timer that was changed meanwhile, or say why it is refused."""
        try:
            return self.registrar.enable(timer.definition.app, timer.id)
        except WangTimerError as error:
            return error


def _refusal(new: NewTimer, now: int) -> WangTimerError | None:
    try:
        refuse_past(new.schedule, now)
    except WangTimerError as error:
        return error
    return None


def _made(timer: Timer | None, new: NewTimer) -> Made:
    return Made(error=name_taken(new.app, repr(new.name))) if timer is None else Made(timer)


def _enabled(created: Timer, outcome: Timer | WangTimerError) -> Made:
    return Made(outcome) if isinstance(outcome, Timer) else Made(created, outcome)
