"""However deep a page lies, MariaDB reads the page, and not what stands before it."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from tests.store.members import row_at
from tests.store.test_timers import new
from tests.store.worlds import SqlWorld
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.slicing import MINUTE_MS, SharedLane, Slice
from wangtimer.store.sql import firing_lists
from wangtimer.store.sql.firing_lists import FiringFilter

AT, ROWS, LIMIT, TIMER = 1_800_000_000_000, 3_000, 50, 7
# Of the statement itself: tables opened, indexes looked at for a plan, temporary tables.
BESIDES = 60

LANE = SharedLane.of_way("shop", "a.example:80")
AT_ONE_MOMENT = [row_at(AT, timer_id) for timer_id in range(1, ROWS + 1)]
AT_MANY = [row_at(AT + number, TIMER) for number in range(ROWS)]


@pytest.fixture
def maria(mariadb_world: SqlWorld) -> SqlWorld:
    return mariadb_world


def rows_read(maria: SqlWorld, work: Callable[[], object], or_name: str = "Handler_icp_attempts") -> int:
    """Return how many rows and index entries the server looked at; without `or_name`, rows alone."""

    def so_far() -> int:
        status = text(
            f"SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Handler_read%' OR Variable_name = '{or_name}'"
        )
        found = maria.firings._database.read(lambda sql: sql.execute(status).all())
        return sum(int(value) for _, value in found)

    before = so_far()
    work()
    after = so_far()
    # Looking is itself counted.
    return (after - before) - (so_far() - after)


@pytest.mark.parametrize("rows", [AT_ONE_MOMENT, AT_MANY], ids=["of one moment", "of many moments"])
def test_pending_firings(maria: SqlWorld, rows: list[Firing]) -> None:
    maria.insert(rows)
    before = rows[-LIMIT - 1]
    assert maria.firings.pending_between(0, AT * 2, LIMIT, before) == rows[-LIMIT:]
    assert rows_read(maria, lambda: maria.firings.pending_between(0, AT * 2, LIMIT, before)) < LIMIT + BESIDES


@pytest.mark.parametrize("in_lanes", [False, True], ids=["past those in lanes", "past those in none"])
def test_overdue_firings_past_many_others(maria: SqlWorld, in_lanes: bool) -> None:
    """The others are passed over within the index, where an entry costs a twelfth of a row looked up."""
    few, many = AT_ONE_MOMENT[-LIMIT:], AT_ONE_MOMENT[:-LIMIT]
    maria.insert(AT_ONE_MOMENT)
    maria.firings.note_lanes({LANE: [row.member for row in (few if in_lanes else many)]})

    def read() -> None:
        found = maria.firings.pending_between(0, AT, LIMIT + 1, in_lanes=in_lanes)
        assert [row.timer_id for row in found] == [row.timer_id for row in few]

    read()
    assert rows_read(maria, read, or_name="") < LIMIT + BESIDES


def test_a_next_page_of_those_in_lanes(maria: SqlWorld) -> None:
    """It begins at its key, within the index too."""
    maria.insert(AT_ONE_MOMENT)
    maria.firings.note_lanes({LANE: [row.member for row in AT_ONE_MOMENT]})
    before = AT_ONE_MOMENT[-LIMIT - 1]

    def read() -> None:
        assert len(maria.firings.pending_between(0, AT, LIMIT, before, in_lanes=True)) == LIMIT

    read()
    assert rows_read(maria, read) < LIMIT + LIMIT + BESIDES


def test_a_slice_s_firings(maria: SqlWorld) -> None:
    """Read where Redis seems to have lost them: of a minute, not of all that is to come."""
    maria.insert([row_at(AT + number * MINUTE_MS) for number in range(ROWS)])
    slice_ = Slice.at(AT + 5 * MINUTE_MS, 0)
    assert len(maria.firings.pending_of(slice_)) == 1
    assert rows_read(maria, lambda: maria.firings.pending_of(slice_)) < BESIDES


def test_a_timer_s_firings(maria: SqlWorld) -> None:
    timer = maria.timers.create(new("it"), AT)
    maria.insert([row_at(AT + number, timer.id) for number in range(ROWS)])
    wanted, after = FiringFilter("shop", timer.id), (AT + LIMIT, timer.id)
    assert len(maria.lists.page(wanted, LIMIT, after)) == LIMIT
    assert rows_read(maria, lambda: maria.lists.page(wanted, LIMIT, after)) < LIMIT + BESIDES


@pytest.mark.parametrize("most_named", [2, 3], ids=["of more timers than are named", "of few timers"])
def test_an_app_s_firings(maria: SqlWorld, monkeypatch: pytest.MonkeyPatch, most_named: int) -> None:
    """No index has them in order: a page looks at the time that holds it, and not at all the app ever had."""
    monkeypatch.setattr(firing_lists, "MOST_NAMED", most_named)
    timers = [maria.timers.create(new(f"timer-{number}"), AT).id for number in range(3)]
    maria.insert([row_at(AT + number * 1_000, timer_id) for timer_id in timers for number in range(ROWS)])

    def read() -> None:
        assert len(maria.lists.page(FiringFilter("shop"), LIMIT, (AT + ROWS * 500, 0))) == LIMIT

    # A second, then eight, then 64 hold a page: at most 219 firings, each found by its key and looked up.
    assert rows_read(maria, read) < 219 * 3 + 3 * BESIDES
