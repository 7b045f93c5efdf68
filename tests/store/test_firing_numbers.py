"""Numbers of planned firings, on real servers: in the order of moments, each given once, and only where asked for."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import Connection, delete, event, select

from tests.buckets import buckets
from tests.store.definitions import EVERY_MINUTE, NOTIFY
from tests.store.worlds import memory_sql, real_sql
from wangtimer.core.flow.firing import TO_BE_NUMBERED, Firing, FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.planning import firings_of, plan
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.timers.call_options import UNTOUCHED, CallForm
from wangtimer.core.timers.timer import NewTimer, TimerStatus
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import insert_missing
from wangtimer.store.sql.tables import firings, timers

AT = 1_800_000_000_000
NUMBERED = CallForm(numbered=True)


class Ground:
    """A database, with timers that are made here."""

    def __init__(self, database: Database) -> None:
        self.database, self.sql = database, real_sql(database)

    def made(self, name: str, form: CallForm = NUMBERED) -> int:
        """Return an enabled timer that has no firings."""
        new = NewTimer("shop", name, EVERY_MINUTE, NOTIFY, form=form)
        timer, _ = self.sql.timers.create_enabled(new, AT, lambda read: (plan(read, AT, 1), []))
        return timer.id

    def numbers(self, timer: int) -> list[int | None]:
        """Return the numbers of a timer's firings, by moment."""
        query = select(firings.c.seq).where(firings.c.timer_id == timer).order_by(firings.c.fire_at)
        return self.database.read(lambda sql: list(sql.execute(query).scalars()))

    def last_number(self, timer: int) -> int:
        query = select(timers.c.planned_seq).where(timers.c.id == timer)
        return int(self.database.read(lambda sql: sql.execute(query).scalar_one()))


def planned(timer: int, minute: int, seq: int | None = TO_BE_NUMBERED) -> Firing:
    return Firing.planned(timer, AT + minute * MINUTE_MS, 0, seq)


@pytest.fixture
def ground(database: Database) -> Ground:
    return Ground(database)


@pytest.fixture
def statements(ground: Ground) -> Iterator[list[str]]:
    """What SQL is asked from now on."""
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(ground.database.engine, "before_cursor_execute", note)
    yield asked
    event.remove(ground.database.engine, "before_cursor_execute", note)


def in_key_order(rows: Sequence[Firing]) -> list[Firing]:
    return sorted(rows, key=lambda one: (one.fire_at, one.timer_id))


def test_each_timer_counts_its_own_in_the_order_of_moments(ground: Ground) -> None:
    one, two = ground.made("one"), ground.made("two")
    found = ground.sql.insert(
        in_key_order([planned(two, 1), planned(one, 2), planned(one, 3), planned(two, 3)])
    )
    assert [(row.timer_id, row.seq) for row in found] == [(two, 1), (one, 1), *sorted([(one, 2), (two, 2)])]
    assert (ground.numbers(one), ground.numbers(two)) == ([1, 2], [1, 2])
    assert (ground.last_number(one), ground.last_number(two)) == (2, 2)


def test_a_row_that_is_there_keeps_what_it_has(ground: Ground) -> None:
    timer = ground.made("one")
    ground.sql.insert([planned(timer, 1, None), *[planned(timer, minute) for minute in (2, 4)]])
    found = ground.sql.insert([planned(timer, minute) for minute in (1, 2, 3, 4, 5)])
    assert [row.seq for row in found] == [None, 1, 3, 2, 4]
    assert ground.numbers(timer) == [None, 1, 3, 2, 4]
    assert ground.last_number(timer) == 4


def test_planning_the_same_again_gives_no_number(ground: Ground) -> None:
    timer = ground.made("one")
    rows = [planned(timer, minute) for minute in range(1, 6)]
    assert ground.sql.insert(rows) == ground.sql.insert(rows)
    assert ground.last_number(timer) == 5


def test_a_number_is_not_given_again_after_its_row_was_purged(ground: Ground) -> None:
    timer = ground.made("one")
    ground.sql.insert([planned(timer, minute) for minute in (1, 2)])
    ground.database.write(lambda sql: sql.execute(delete(firings)))
    assert [row.seq for row in ground.sql.insert([planned(timer, minute) for minute in (1, 2)])] == [3, 4]


def test_what_is_undone_gave_no_number(ground: Ground) -> None:
    timer = ground.made("one")

    def insert_and_fail(sql: Connection) -> None:
        insert_missing(sql, [planned(timer, 1)])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ground.database.write(insert_and_fail)
    assert ground.last_number(timer) == 0
    assert [row.seq for row in ground.sql.insert([planned(timer, 1)])] == [1]


def test_others_in_the_same_plan_have_none_and_a_settled_row_is_not_returned(ground: Ground) -> None:
    plain, numbered = ground.made("plain", UNTOUCHED), ground.made("numbered")
    (first,) = ground.sql.insert([planned(numbered, 1)])
    ground.sql.firings.settle([Outcome(first.member, 0, FiringStatus.SUCCEEDED, first.fire_at)])
    rows = [planned(plain, 1, None), planned(numbered, 1), planned(plain, 2, None), planned(numbered, 2)]
    found = ground.sql.insert(in_key_order(rows))
    assert sorted((row.timer_id == numbered, row.seq) for row in found if row.seq) == [(True, 2)]
    assert [row.timer_id for row in found].count(plain) == 2
    assert (ground.numbers(plain), ground.numbers(numbered)) == ([None, None], [1, 2])
    assert ground.last_number(plain) == 0


def test_a_settled_firing_keeps_its_number(ground: Ground) -> None:
    timer = ground.made("one")
    (row,) = ground.sql.insert([planned(timer, 1)])
    ground.sql.firings.settle([Outcome(row.member, 0, FiringStatus.PENDING, row.fire_at + 1, 1, 1)])
    ground.sql.firings.settle([Outcome(row.member._replace(attempt=2), 0, FiringStatus.FAILED, row.fire_at)])
    assert ground.numbers(timer) == [1]
    (record,) = ground.sql.firings.records(timer, 5)
    assert (record.firing.status, record.firing.seq) == (FiringStatus.FAILED, 1)


def test_timers_without_numbers_cost_one_insert_as_ever(ground: Ground, statements: list[str]) -> None:
    timer = ground.made("plain", UNTOUCHED)
    statements.clear()
    ground.sql.insert([planned(timer, minute, None) for minute in range(1, 50)])
    (inserting,) = [one for one in statements if not one.startswith("BEGIN")]
    assert "seq" not in inserting


def test_only_plans_of_numbered_timers_ask_for_numbers() -> None:
    def planned_of(form: CallForm) -> set[int | None]:
        timer = memory_sql().timers.create(NewTimer("shop", "one", EVERY_MINUTE, NOTIFY, form=form), AT)
        rows = firings_of([plan(timer, AT + 9 * MINUTE_MS, 9)], {}, buckets(4, 50))
        assert len(rows) == 9
        return {row.seq for row in rows}

    assert planned_of(UNTOUCHED) == {None}
    assert planned_of(NUMBERED) == {TO_BE_NUMBERED}


def test_planners_at_once_give_each_number_once_and_leave_none_out(ground: Ground) -> None:
    """Each reads the timer and plans the next minutes, as migrators do; an edit begins the plan anew meanwhile."""
    timer, threads = ground.made("one"), 4
    begin = Barrier(threads)

    def work(number: int) -> None:
        begin.wait(10)
        for turn in range(8):
            read = ground.sql.timers.get("shop", timer)
            one = plan(read, read.planned_until + 5 * MINUTE_MS, 5)
            ground.sql.timers.commit_plans([one], firings_of([one], {}, buckets(4, 50)))
            if number == 0 and turn % 3 == 0:
                ground.sql.timers.disable("shop", timer, AT)
                ground.sql.timers.enable(
                    "shop",
                    timer,
                    AT,
                    lambda held: (
                        near := plan(held.planned_from(AT), AT + 7 * MINUTE_MS, 9),
                        firings_of([near], {}, buckets(4, 50)),
                    ),
                )

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert ground.sql.timers.get("shop", timer).definition.status is TimerStatus.ENABLED
    numbers = ground.numbers(timer)
    assert len(numbers) >= 20
    assert numbers == list(range(1, len(numbers) + 1))
    assert ground.last_number(timer) == len(numbers)
