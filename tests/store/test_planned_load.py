"""How many firings come in each minute, and how seldom they are counted where counting takes long."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import event

from tests.store.members import outcome_of, row_at
from tests.store.test_timers import new, planned
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.errors import InvalidInput, TooManyAtOnce, TooMuchWork
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.timers.timer import Timer
from wangtimer.core.work_budget import work_budget
from wangtimer.store.sql import planned_load
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.planned_load import REMEMBERED_TIMES, PlannedLoad
from wangtimer.testing.doubles import HandClock

AT = 1_800_000_000_000
MINUTE = AT // MINUTE_MS


@dataclass
class Some:
    """Timers of two apps, and a load whose every counting takes `takes_s` of the stop-watch."""

    sql: SqlWorld
    load: PlannedLoad
    clock: HandClock
    takes_s: float = 0.0
    counted: list[str] = field(default_factory=list)

    def timer(self, app: str, name: str) -> Timer:
        made = self.sql.timers.create(new(name, app), AT)
        timer, _ = self.sql.timers.enable(app, made.id, AT, lambda timer: planned(timer, 0))
        return timer

    def count(self, number: int) -> dict[int, dict[str, int]]:
        found = self.load.minutes(MINUTE, number)
        return {minute - MINUTE: dict(apps) for minute, apps in found.items() if apps}


@pytest.fixture
def some(database: Database) -> Iterator[Some]:
    clock = HandClock(AT)
    some = Some(real_sql(database), PlannedLoad(database, clock), clock)

    def see(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "GROUP BY" in statement:
            some.counted.append(statement)
            clock.sleep(some.takes_s)

    for engine in database.engines:
        event.listen(engine, "before_cursor_execute", see)
    yield some
    for engine in database.engines:
        event.remove(engine, "before_cursor_execute", see)


def test_each_minute_has_its_firings_by_app(some: Some) -> None:
    a, b, other = some.timer("shop", "a"), some.timer("shop", "b"), some.timer("bank", "a")
    some.sql.insert(
        [
            row_at(AT, a.id),
            row_at(AT, b.id),
            row_at(AT + MINUTE_MS - 1, other.id),
            row_at(AT + MINUTE_MS, other.id),
            row_at(AT + 3 * MINUTE_MS, a.id),
        ]
    )
    assert some.count(3) == {0: {"shop": 2, "bank": 1}, 1: {"bank": 1}}


def test_what_has_an_outcome_is_not_to_come_and_a_retry_comes_in_its_minute(some: Some) -> None:
    timer = some.timer("shop", "a")
    rows = [row_at(AT + number, timer.id) for number in range(3)]
    some.sql.insert(rows)
    retry = outcome_of(rows[1].member, FiringStatus.PENDING, AT + 2 * MINUTE_MS)
    some.sql.firings.settle([outcome_of(rows[0].member), retry])
    assert some.count(5) == {0: {"shop": 1}, 2: {"shop": 1}}


def test_a_disabled_or_deleted_timers_firings_do_not_come(some: Some) -> None:
    disabled, deleted = some.timer("shop", "a"), some.timer("shop", "b")
    some.sql.insert([row_at(AT, disabled.id), row_at(AT, deleted.id)])
    some.sql.timers.disable("shop", disabled.id, AT)
    some.sql.timers.delete("shop", deleted.id, AT)
    assert some.count(1) == {}


def test_what_took_no_time_is_counted_anew(some: Some) -> None:
    timer = some.timer("shop", "a")
    assert some.count(1) == {}
    some.sql.insert([row_at(AT, timer.id)])
    assert some.count(1) == {0: {"shop": 1}}


def test_counts_are_given_again_for_as_many_times_as_long_as_they_took(some: Some) -> None:
    timer = some.timer("shop", "a")
    some.takes_s = 0.5
    some.count(4)
    assert len(some.counted) == 4
    some.sql.insert([row_at(AT, timer.id)])
    some.clock.sleep(REMEMBERED_TIMES * 4 * 0.5 - 2)
    assert some.count(4) == {}
    assert some.count(2) == {}
    assert len(some.counted) == 4
    some.clock.sleep(2)
    assert some.count(4) == {0: {"shop": 1}}
    assert len(some.counted) == 8


def test_counting_ends_after_some_seconds_and_goes_on_with_the_next_request(some: Some) -> None:
    some.takes_s = 3.0
    for _ in range(3):
        with pytest.raises(InvalidInput, match="minutes: there are too many firings to count"):
            some.count(10)
    assert len(some.counted) == 9
    assert some.count(10) == {}
    assert len(some.counted) == 10


def test_minutes_are_given_as_far_as_the_work_budget_goes(some: Some) -> None:
    with work_budget(0.0), pytest.raises(TooMuchWork):
        some.count(10)
    assert len(some.counted) == 0


def test_minutes_that_are_over_are_forgotten(some: Some) -> None:
    some.takes_s = 0.5
    some.count(4)
    some.load.minutes(MINUTE + 3, 1)
    assert len(some.counted) == 4
    some.load.minutes(MINUTE, 1)
    assert len(some.counted) == 5


def test_whoever_waits_too_long_for_anothers_counting_is_told(
    some: Some, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_load, "LONGEST_WAIT_S", 0.01)

    def meanwhile(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "GROUP BY" in statement:
            with pytest.raises(TooManyAtOnce):
                some.load.minutes(MINUTE, 1)
            told.append(statement)

    told: list[str] = []
    engine = some.load._database.engines[-1]
    event.listen(engine, "before_cursor_execute", meanwhile)
    some.load.minutes(MINUTE, 1)
    event.remove(engine, "before_cursor_execute", meanwhile)
    assert len(told) == 1
    assert some.load.minutes(MINUTE, 1) == {MINUTE: {}}


def test_the_first_moment_without_a_row_is_the_earliest_of_enabled_timers(some: Some) -> None:
    assert some.load.first_unplanned() is None
    some.sql.timers.create(new("disabled"), AT - 9 * MINUTE_MS)
    assert some.load.first_unplanned() is None
    some.timer("shop", "a")
    assert some.load.first_unplanned() == AT + MINUTE_MS


def test_one_range_of_an_index_is_read_a_minute(mariadb: Database) -> None:
    """MariaDB by itself would begin with all timers, and go through the history of each."""
    sql, load = real_sql(mariadb), PlannedLoad(mariadb, HandClock(AT))
    some = Some(sql, load, HandClock(AT))
    timers = [some.timer("shop", str(number)) for number in range(3)]
    sql.insert([row_at(AT + moment, timer.id) for moment in range(400) for timer in timers])
    seen: list[tuple[str, Any]] = []

    def see(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    for engine in mariadb.engines:
        event.listen(engine, "before_cursor_execute", see)
    load.minutes(MINUTE, 1)
    ((statement, parameters),) = seen
    explained = mariadb.read(
        lambda connection: connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).mappings().all()
    )
    assert [row["table"] for row in explained] == ["firing", "timer"]
    assert explained[0]["key"] == "firing_due"
    assert "Using index" in explained[0]["Extra"]
