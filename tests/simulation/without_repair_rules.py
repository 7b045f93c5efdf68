"""Planning and the repairs as they would be with one rule left out; `rules` says which."""

from typing import Any

from tests.fakes import memory_firings, memory_timers
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Timer
from wangtimer.timers import registrar
from wangtimer.window import sweeper

# planning


# What need not be as planning read it now; several rules may be left out at once.
unheeded: dict[str, bool] = {}


def is_as_read(timer: Timer | None, read: Timer) -> bool:
    if timer is None:
        return False
    same = {
        "version": timer.definition.version == read.definition.version,
        "planned_until": timer.planned_until == read.planned_until,
        "enabled": timer.definition.is_enabled,
    }
    return all(holds for name, holds in same.items() if name not in unheeded)


_plan_near = registrar.Registrar._plan_near


def enable_from_now(self: Any, timer: Timer, now: int) -> Any:
    if isinstance(timer.definition.schedule, Once):
        return _plan_near(self, timer, now)
    return registrar.plan(timer.planned_from(now), now + self.near.near_ms, self.near.most)


def enable_from_mark(self: Any, timer: Timer, now: int) -> Any:
    if isinstance(timer.definition.schedule, Once):
        return _plan_near(self, timer, now)
    return registrar.plan(timer, now + self.near.near_ms, self.near.most)


def return_all_planned(table: Any, planned: Any) -> Any:
    for firing in planned:
        row = firing._replace(status=FiringStatus.PENDING)
        table.setdefault(
            memory_firings._key(firing), memory_firings.FiringRecord(row, None, None, None, None, "", "")
        )
    return list(planned)


def definitions_overwrite(self: Any, definitions: Any, may_be_far: bool = False) -> None:
    def work() -> None:
        expires_at = self._clock.monotonic() + self._longest_s
        for one in definitions:
            self._server.table("definitions")[one.timer_id] = one, expires_at

    self._server.call(work)


def return_as_planned(table: Any, planned: Any) -> Any:
    """Return what waits with the bucket of whoever planned it, not of the row."""
    pending = {one.member for one in _insert_missing(table, planned)}
    return [one for one in planned if one.member in pending]


_insert_missing = memory_timers.insert_missing


# repairs


def forget_then_settle(self: Any) -> int:
    flushed = 0
    while texts := self.outbox.page(sweeper.PAGE):
        outcomes = list(self.outbox.read(texts).values())
        self.outbox.forget(texts)
        self.firings.settle(outcomes)
        self.hot.add([outcome.retry_firing() for outcome in outcomes if outcome.is_retry], is_repair=True)
        flushed += len(texts)
    return flushed


def flush_without_retry(self: Any) -> int:
    flushed = 0
    while texts := self.outbox.page(sweeper.PAGE):
        self.firings.settle(list(self.outbox.read(texts).values()))
        self.outbox.forget(texts)
        flushed += len(texts)
    return flushed


def sweep_only_flush(self: Any) -> int:
    return self.flush()
