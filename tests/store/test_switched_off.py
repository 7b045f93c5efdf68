"""Switching a timer off after planning was away: what came due while it was on becomes rows first."""

from collections.abc import Callable

import pytest

from tests.buckets import buckets
from tests.store.definitions import EVERY_MINUTE, NOTIFY
from tests.store.worlds import SqlWorld
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan, firings_of, plan
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.store.sql.timers import TimerStore

NOW = 1_799_999_990_000  # 50 s into a minute
LATER = NOW + 3 * MINUTE_MS

SwitchOff = Callable[[TimerStore, Timer], Timer]


def up_to(moment: int) -> Callable[[Timer], tuple[Plan, list[Firing]]]:
    def planned(timer: Timer) -> tuple[Plan, list[Firing]]:
        a_plan = plan(timer, max(moment, timer.planned_until), 1_000)
        return a_plan, firings_of([a_plan], {}, buckets(1_000, 1))

    return planned


def disable(timers: TimerStore, timer: Timer) -> Timer:
    return timers.disable("shop", timer.id, LATER, up_to(LATER))


def delete(timers: TimerStore, timer: Timer) -> Timer:
    return timers.delete("shop", timer.id, LATER, up_to(LATER))


def moments(sql: SqlWorld, timer: Timer) -> list[int]:
    return sorted(record.firing.fire_at for record in sql.firings.records(timer.id, 100))


def enabled(sql: SqlWorld, until: int) -> Timer:
    timer = sql.timers.create(NewTimer("shop", "bill", EVERY_MINUTE, NOTIFY), NOW)
    return sql.timers.enable("shop", timer.id, NOW, up_to(until))[0]


@pytest.mark.parametrize("switch_off", [disable, delete])
def test_what_came_due_unplanned_is_planned(sql: SqlWorld, switch_off: SwitchOff) -> None:
    timer = enabled(sql, until=NOW)
    off = switch_off(sql.timers, timer)
    assert moments(sql, timer) == EVERY_MINUTE.moments(NOW, LATER, 10)
    assert (off.planned_until, off.next_fire_at) == (LATER, EVERY_MINUTE.first_after(LATER))


@pytest.mark.parametrize("switch_off", [disable, delete])
def test_what_is_planned_ahead_stays_as_it_is(sql: SqlWorld, switch_off: SwitchOff) -> None:
    timer = enabled(sql, until=LATER + MINUTE_MS)
    off = switch_off(sql.timers, timer)
    assert moments(sql, timer) == EVERY_MINUTE.moments(NOW, LATER + MINUTE_MS, 10)
    assert off.planned_until == LATER + MINUTE_MS


@pytest.mark.parametrize("switch_off", [disable, delete])
def test_nothing_is_planned_for_a_timer_that_was_off(sql: SqlWorld, switch_off: SwitchOff) -> None:
    timer = sql.timers.create(NewTimer("shop", "bill", EVERY_MINUTE, NOTIFY), NOW)
    switch_off(sql.timers, timer)
    assert moments(sql, timer) == []
