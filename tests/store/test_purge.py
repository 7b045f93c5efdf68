"""What is past retention goes; what is not settled stays, however old."""

import pytest

from tests.store.definitions import NOTIFY
from tests.store.members import outcome_of, row_at
from tests.store.worlds import SqlWorld
from wangtimer.base.in_turn import PAUSE_S
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.timer import NewTimer
from wangtimer.store.sql.firings import Overdue, Purged
from wangtimer.testing.doubles import HandClock
from wangtimer.timers.purger import FROM_OLDEST_EVERY_S, Purger

AT = 1_800_000_000_000


def settle(sql: SqlWorld, *keys: tuple[int, int]) -> None:
    """Plan and settle firings, each (moment, timer)."""
    sql.insert(sorted((row_at(*key) for key in keys), key=lambda row: (row.fire_at, row.timer_id)))
    sql.firings.settle([outcome_of(row_at(*key).member) for key in keys])


def left(sql: SqlWorld, timer_id: int) -> list[int]:
    return [record.firing.fire_at for record in sql.firings.records(timer_id, 99)]


def test_settled_firings_before_the_moment_go_and_later_ones_stay(sql: SqlWorld) -> None:
    settle(sql, (AT - 2, 1), (AT - 1, 1), (AT, 1), (AT + 1, 1))
    assert sql.firings.purge(AT, 100).rows == 2
    assert left(sql, 1) == [AT + 1, AT]


def test_one_that_is_not_settled_stays_however_old(sql: SqlWorld) -> None:
    settle(sql, (AT - 9, 1), (AT - 7, 1))
    sql.insert([row_at(AT - 8)])
    assert sql.firings.purge(AT, 100).rows == 2
    assert left(sql, 1) == [AT - 8]


def test_a_retry_to_come_is_not_settled(sql: SqlWorld) -> None:
    sql.insert([row_at(AT - 9)])
    sql.firings.settle([outcome_of(row_at(AT - 9).member, FiringStatus.PENDING, AT + 5_000)])
    assert sql.firings.purge(AT, 100).rows == 0


def test_a_page_is_no_more_than_asked_for_even_at_one_moment(sql: SqlWorld) -> None:
    settle(sql, *((AT - 1, timer_id) for timer_id in range(1, 8)))
    assert [sql.firings.purge(AT, 3).rows for _ in range(4)] == [3, 3, 1, 0]


def test_timers_go_a_while_after_they_were_deleted(sql: SqlWorld) -> None:
    kept, gone = (sql.timers.create(NewTimer("shop", name, Once(AT), NOTIFY), AT) for name in ("a", "b"))
    sql.timers.delete("shop", gone.id, AT + 5)
    assert sql.timers.purge(AT + 5, 9) == 0
    assert sql.timers.purge(AT + 6, 9) == 1
    assert sql.timers.definitions({kept.id, gone.id}).keys() == {kept.id}


def test_a_purge_goes_on_page_by_page_until_nothing_is_left(sql: SqlWorld) -> None:
    settle(sql, *((AT - 10_000 + i, 1) for i in range(2_500)))
    settle(sql, (AT + 1, 1))
    clock = HandClock(AT + DAY_MS)
    assert purger_at(sql, clock).purge() == 2_500
    assert left(sql, 1) == [AT + 1]


def test_deleted_timers_and_kept_answers_go_page_by_page_too(
    sql: SqlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.timers.purger.PAGE", 4)
    delete_timers(sql, 10)
    purger_of(sql).purge()
    assert deleted_left(sql) == 0


def test_a_purge_of_each_kind_ends_when_its_time_is_over(
    sql: SqlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.timers.purger.PAGE", 4)
    monkeypatch.setattr("wangtimer.timers.purger.LONGEST_S", 2 * PAUSE_S)
    settle(sql, *((AT - 10_000 + i, 1) for i in range(20)))
    delete_timers(sql, 20)
    assert purger_of(sql).purge() == 8
    assert deleted_left(sql) == 12


def test_a_purge_whose_time_is_over_says_that_there_is_more(
    sql: SqlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.timers.purger.PAGE", 4)
    monkeypatch.setattr("wangtimer.timers.purger.LONGEST_S", 2 * PAUSE_S)
    settle(sql, *((AT - 10_000 + i, 1) for i in range(20)))
    purger, seen = purger_of(sql), []
    for _ in range(4):
        seen.append((purger.purge(), purger.has_more))
    assert seen == [(8, True), (8, True), (4, False), (0, False)]


def test_a_purge_works_half_of_the_time(sql: SqlWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.timers.purger.PAGE", 4)
    settle(sql, *((AT - 10_000 + i, 1) for i in range(20)))
    clock = HandClock(AT + 2 * DAY_MS + 1)
    plain = sql.firings.purge

    pages: list[int] = []

    def purge(before: int, limit: int, since: int = 0) -> Purged:
        clock.sleep(0.3)
        page = plain(before, limit, since)
        pages.append(page.rows)
        return page

    monkeypatch.setattr(sql.firings, "purge", purge)
    assert purger_at(sql, clock).purge() == 20
    # A look that finds nothing is not rested after.
    rested_s = clock.monotonic() - 0.3 * len(pages)
    assert rested_s >= 0.3 * sum(map(bool, pages)) - 0.001


def test_each_page_begins_where_the_one_before_it_ended(
    sql: SqlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.timers.purger.PAGE", 4)
    settle(sql, *((AT - 10_000, timer_id) for timer_id in range(1, 11)), (AT - 9_000, 1))
    begins: list[int] = []
    plain = sql.firings.purge

    def purge(before: int, limit: int, since: int = 0) -> Purged:
        begins.append(since)
        return plain(before, limit, since)

    monkeypatch.setattr(sql.firings, "purge", purge)
    assert purger_of(sql).purge() == 11
    assert begins[:4] == [AT - 10_000] * 3 + [AT - 9_000]


def test_the_oldest_settled_firing_is_looked_for_among_the_oldest_alone(sql: SqlWorld) -> None:
    sql.insert([row_at(AT - 50 + one, 1) for one in range(5)])
    settle(sql, (AT - 9, 1), (AT - 8, 2))
    assert sql.firings.oldest_settled(AT, 100) == AT - 9
    assert sql.firings.oldest_settled(AT - 9, 100) is None
    assert sql.firings.oldest_settled(AT, 5) is None


def test_what_fails_to_go_stops_no_other_kind(sql: SqlWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    delete_timers(sql, 3)

    def fail() -> int:
        raise StoreAway("SQL", "the statement took too long")

    monkeypatch.setattr(sql.firings, "oldest_moment", fail)
    with pytest.raises(StoreAway):
        purger_of(sql).purge()
    assert deleted_left(sql) == 0


def test_what_is_not_settled_is_passed_once_a_day_and_not_with_each_page(
    sql: SqlWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million firings that waited for a paused host let a page of a thousand take a second."""
    sql.insert([row_at(AT - 50 * DAY_MS + index, 1) for index in range(300)])
    settle(sql, *((AT - 2 * DAY_MS + index, 2) for index in range(30)))
    clock = HandClock(AT)
    purger, passed = purger_at(sql, clock), []
    plain = sql.firings.purge

    def purge(before: int, limit: int, since: int = 0) -> Purged:
        passed.append(since)
        return plain(before, limit, since)

    monkeypatch.setattr("wangtimer.timers.purger.PAGE", 4)
    monkeypatch.setattr(sql.firings, "purge", purge)
    assert purger.purge() == 30
    assert sum(since <= AT - 50 * DAY_MS + 300 for since in passed) == 1
    passed.clear()
    settle(sql, (AT - DAY_MS + 5, 2))
    clock.sleep(60)
    assert purger.purge() == 1
    assert len(passed) <= 3
    sql.firings.settle([outcome_of(row_at(AT - 50 * DAY_MS, 1).member)])
    assert purger.purge() == 0
    clock.sleep(FROM_OLDEST_EVERY_S)
    assert purger.purge() == 1


def purger_of(sql: SqlWorld) -> Purger:
    """Return the purger of a moment at which all that was deleted by `AT` may go."""
    return purger_at(sql, HandClock(AT + 2 * DAY_MS + 1))


def purger_at(sql: SqlWorld, clock: HandClock) -> Purger:
    return Purger(sql.firings, sql.timers, sql.answers, sql.audit, sql.dead_letters, clock, DAY_MS, DAY_MS)


def delete_timers(sql: SqlWorld, number: int) -> None:
    for each in range(number):
        made = sql.timers.create(NewTimer("shop", f"t{each}", Once(AT), NOTIFY), AT - 9)
        sql.timers.delete("shop", made.id, AT)


def deleted_left(sql: SqlWorld) -> int:
    return len(sql.timers.changed_behind((0, 0), 99))


def test_overdue_counts_what_has_no_outcome_and_finds_the_oldest(sql: SqlWorld) -> None:
    assert sql.firings.overdue(AT, 100) == Overdue(0, None)
    settle(sql, (AT - 50, 1))
    sql.insert([row_at(moment) for moment in (AT - 30, AT - 20, AT - 10, AT)])
    assert sql.firings.overdue(AT, 100) == Overdue(3, AT - 30)
    assert sql.firings.overdue(AT, 2) == Overdue(2, AT - 30)
