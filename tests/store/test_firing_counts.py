"""Firings counted by status, part by part where there are many."""

from typing import Any

import pytest
from sqlalchemy import event

from tests.fakes import HandClock
from tests.store.members import outcome_of, row_at
from tests.store.test_timers import new
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.firing import FiringStatus
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_counts import SHORTEST_MS, FiringCounts
from wangtimer.store.sql.firing_lists import FiringFilter

AT = 1_800_000_000_000
SHOP = FiringFilter("shop")


def planned(sql: SqlWorld, *moments: int) -> int:
    timer = sql.timers.create(new(), AT)
    sql.insert([row_at(moment, timer.id) for moment in moments])
    return timer.id


def test_a_long_time_is_counted_part_by_part_and_each_firing_once(database: Database) -> None:
    sql = real_sql(database)
    moments = [AT + number * SHORTEST_MS + edge for number in range(9) for edge in (-1, 0, 1)]
    timer_id = planned(sql, *moments)
    sql.firings.settle([outcome_of(row_at(moment, timer_id).member) for moment in moments[::2]])
    found = FiringCounts(database, HandClock()).by_status(SHOP)
    assert found == {
        FiringStatus.PENDING: 13,
        FiringStatus.SUCCEEDED: 14,
        FiringStatus.FAILED: 0,
        FiringStatus.SKIPPED: 0,
    }


@pytest.mark.parametrize(("takes_s", "parts"), [(0.1, 5), (0.6, None)])
def test_parts_grow_while_they_are_quick_and_the_whole_has_its_bound(
    database: Database, takes_s: float, parts: int | None
) -> None:
    sql, clock, seen = real_sql(database), HandClock(), []
    planned(sql, AT, AT + 20 * SHORTEST_MS)

    def see(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "GROUP BY" in statement:
            seen.append(statement)
            clock.sleep(takes_s)

    event.listen(database.engine, "before_cursor_execute", see)
    found = FiringCounts(database, clock).by_status(SHOP)
    event.remove(database.engine, "before_cursor_execute", see)
    if parts is None:
        assert found is None
        assert clock.monotonic() < 9
    else:
        assert found is not None
        assert (found[FiringStatus.PENDING], len(seen)) == (2, parts)
