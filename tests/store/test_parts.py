"""A long time of firings counted and listed part by part."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from tests.store.members import outcome_of, row_at
from tests.store.test_timers import new
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.at_once import AtOnce
from wangtimer.core.errors import InvalidInput, TooManyAtOnce
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.store.sql import parts as parts_module
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_lists import FiringFilter, FiringLists
from wangtimer.store.sql.parts import PARTS_OF_COUNTS, parts_of
from wangtimer.testing.doubles import HandClock

AT, DAY_MS = 1_800_000_000_000, 86_400_000
SHOP = FiringFilter("shop")


def planned(sql: SqlWorld, *moments: int) -> int:
    timer = sql.timers.create(new(), AT)
    sql.insert([row_at(moment, timer.id) for moment in moments])
    return timer.id


def test_a_long_time_is_counted_part_by_part_and_each_firing_once(database: Database) -> None:
    sql = real_sql(database)
    moments = [AT + number * PARTS_OF_COUNTS.shortest_ms + edge for number in range(9) for edge in (-1, 0, 1)]
    timer_id = planned(sql, *moments)
    sql.firings.settle([outcome_of(row_at(moment, timer_id).member) for moment in moments[::2]])
    found = FiringLists(database, HandClock()).by_status(SHOP)
    assert found == {
        FiringStatus.PENDING: 13,
        FiringStatus.SUCCEEDED: 14,
        FiringStatus.FAILED: 0,
        FiringStatus.SKIPPED: 0,
        FiringStatus.ACCEPTED: 0,
    }


@pytest.fixture
def statements(database: Database) -> Iterator[Callable[[str, HandClock, float], list[str]]]:
    """Notes the statements with such a text, each of which takes so many seconds."""
    kept: list[Any] = []

    def note(text: str, clock: HandClock, takes_s: float) -> list[str]:
        seen: list[str] = []

        def see(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if text in statement:
                seen.append(statement)
                clock.sleep(takes_s)

        for engine in database.engines:
            event.listen(engine, "before_cursor_execute", see)
        kept.append(see)
        return seen

    yield note
    for see in kept:
        for engine in database.engines:
            event.remove(engine, "before_cursor_execute", see)


def test_parts_grow_while_they_are_quick(database: Database, statements: Any) -> None:
    sql, clock = real_sql(database), HandClock()
    planned(sql, AT, AT + 20 * PARTS_OF_COUNTS.shortest_ms)
    seen = statements("GROUP BY", clock, 0.1)
    assert FiringLists(database, clock).by_status(SHOP)[FiringStatus.PENDING] == 2
    assert len(seen) == 5


def test_what_takes_long_is_refused(database: Database, statements: Any) -> None:
    sql, clock = real_sql(database), HandClock()
    planned(sql, AT, AT + 20 * PARTS_OF_COUNTS.shortest_ms)
    statements("GROUP BY", clock, 1.4)
    with pytest.raises(InvalidInput, match="since"):
        FiringLists(database, clock).by_status(SHOP)
    assert clock.monotonic() < 9


def test_what_a_replay_counts_is_counted_in_parts_too(database: Database, statements: Any) -> None:
    sql, clock = real_sql(database), HandClock()
    planned(sql, AT, AT + 20 * PARTS_OF_COUNTS.shortest_ms)
    seen = statements("count(*)", clock, 0.1)
    assert FiringLists(database, clock).count(SHOP) == 2
    assert len(seen) == 5
    statements("count(*)", clock, 1.4)
    with pytest.raises(InvalidInput, match="since"):
        FiringLists(database, clock).count(SHOP)


def test_what_a_replay_finds_and_counts_takes_8_s_in_all(database: Database, statements: Any) -> None:
    sql, clock = real_sql(database), HandClock()
    timer_id = planned(sql, AT, AT + 20 * PARTS_OF_COUNTS.shortest_ms)
    wanted, lists = replace(SHOP, timer_id=timer_id), FiringLists(database, clock)
    statements("ORDER BY", clock, 5.0)
    counted = statements("count(*)", clock, 1.4)
    assert lists.oldest(wanted, 9)[1] == 2
    assert not counted, "all there are were found: nothing is left to count"
    with pytest.raises(InvalidInput, match="since"):
        lists.oldest(wanted, 1)
    assert len(counted) == 3


def test_a_list_looks_no_further_back_than_it_must(database: Database, statements: Any) -> None:
    sql, clock = real_sql(database), HandClock()
    timer_id = planned(sql, AT, *(AT + DAY_MS + number for number in range(50)))
    sql.timers.create(new("another"), AT)
    lists = FiringLists(database, clock)
    seen = statements("ORDER BY", clock, 0.1)
    assert [one.firing.fire_at for one in lists.page(SHOP, 50)][-1] == AT + DAY_MS
    assert len(seen) == 1
    assert len(lists.page(SHOP, 99)) == len(lists.page(replace(SHOP, timer_id=timer_id), 99)) == 51


def test_a_list_that_finds_nothing_in_time_is_refused_unless_it_is_for_an_export(
    database: Database, statements: Any
) -> None:
    sql, clock = real_sql(database), HandClock()
    planned(sql, AT, AT + 9_000)
    sql.timers.create(new("another"), AT)
    statements("ORDER BY", clock, 2.5)
    lists = FiringLists(database, clock)
    assert len(lists.page(SHOP, 2, is_patient=True)) == 2
    with pytest.raises(InvalidInput, match="since"):
        lists.page(SHOP, 2)
    with pytest.raises(InvalidInput, match="since"):
        lists.oldest(SHOP, 2)


def long_look(clock: HandClock, ends_at: float = 1e9, app: str = "shop") -> Iterator[tuple[int, int]]:
    """Begin to look through a long time, part by part, each of which takes a while."""
    for part in parts_of(AT, AT + 400 * DAY_MS, PARTS_OF_COUNTS, clock, ends_at, app):
        clock.sleep(0.4)
        yield part


def fails_at_its_third_part(clock: HandClock) -> None:
    for number, _ in enumerate(long_look(clock, app="bank")):
        if number == 2:
            raise RuntimeError("the statement took too long")


def test_few_long_looks_go_on_at_once_and_short_ones_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 counts of a large app's firings held all threads of the API for 8 s."""
    monkeypatch.setattr(parts_module, "LONG_LOOKS", AtOnce(2))
    clock = HandClock()
    under_way = [long_look(clock, app=app) for app in ("shop", "bank")]
    for look in under_way:
        assert len([next(look) for _ in range(3)]) == 3
    third = long_look(clock, app="third")
    next(third)
    with pytest.raises(TooManyAtOnce):
        next(third)
    short = parts_of(AT, AT + 1, PARTS_OF_COUNTS, clock, 1e9, "shop")
    assert list(short) == [(AT, AT + 1)]
    without_end = long_look(clock, math.inf)
    assert len([next(without_end) for _ in range(3)]) == 3
    under_way.pop()
    del look
    with pytest.raises(RuntimeError):
        fails_at_its_third_part(clock)
    another = long_look(clock, app="bank")
    assert len([next(another) for _ in range(3)]) == 3


def test_of_one_app_half_of_the_long_looks_go_on_and_while_it_has_them_its_others_end_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts_module, "LONG_LOOKS", AtOnce(2))
    clock = HandClock()
    first, second, third = (long_look(clock) for _ in range(3))
    next(second)
    assert len([next(first) for _ in range(3)]) == 3
    for look in (second, third):
        with pytest.raises(TooManyAtOnce):
            list(look)
    others = long_look(clock, app="bank")
    assert len([next(others) for _ in range(3)]) == 3
