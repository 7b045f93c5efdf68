"""Finished timers go when their time has come; living ones are not even read, and what waits keeps its timer."""

from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, delete, event, insert, select, update

from tests.store.definitions import NOTIFY
from tests.store.members import outcome_of
from tests.store.plain_stores import plain_batches, plain_timers, without_limits
from wangtimer.base.in_turn import PAUSE_S
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import UnknownTimer
from wangtimer.core.flow.firing import WITHDRAWN, Firing, FiringKind, FiringStatus, Member
from wangtimer.core.flow.planning import plan
from wangtimer.core.flow.reply_control import CONTROL
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.schedule import Bounded, Once
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.timer import NewTimer, Timer, TimerIds
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.finished_timers import FinishedPage, FinishedTimers
from wangtimer.store.sql.firings import FiringStore, insert_missing
from wangtimer.store.sql.on_settled import ReplyControlStore
from wangtimer.store.sql.tables import dead_letters, timer_tags, timers
from wangtimer.store.sql.timer_rows import NO_CALL_TEXT
from wangtimer.store.sql.timers import Revision, TimerStore, new_row
from wangtimer.testing.doubles import HandClock
from wangtimer.timers.purger import FINISHED_PAGE, LONGEST_S, FinishedPurger

AT = 1_800_000_000_000
DEFAULT_DAYS = 30
# How the first firing of a timer ends whose second ends otherwise.
OPPOSITES = {"mended": "failed", "broken": "succeeded"}


@pytest.fixture
def store(database: Database) -> TimerStore:
    return plain_timers(database)


def enabled(store: TimerStore, name: str, at: int = AT, keep_days: int | None = 0) -> Timer:
    """Return an enabled timer of one moment, planned to its end; its firing waits."""
    timer = store.create(
        NewTimer("shop", name, Once(at), NOTIFY, tags=("t",), keep_days=keep_days), at - 1_000
    )
    first = plan(timer, at, 9)
    enabled, _ = store.enable(
        "shop", timer.id, at - 1_000, lambda _: (first, [Firing.planned(timer.id, at, 0)])
    )
    return enabled


def finished(
    database: Database, name: str, at: int = AT, keep_days: int | None = 0, status: str = "succeeded"
) -> Timer:
    timer = enabled(plain_timers(database), name, at, keep_days)
    FiringStore(database).settle([outcome_of(Member(timer.id, at, 1), FiringStatus(status))])
    return timer


def purge(database: Database, now: int = AT + 1) -> int:
    return FinishedPurger(
        FinishedTimers(database, without_limits(database)), HandClock(now), DEFAULT_DAYS
    ).purge()


def is_there(store: TimerStore, timer: Timer) -> bool:
    try:
        store.get("shop", timer.id)
    except UnknownTimer:
        return False
    return True


def test_one_that_is_not_kept_goes_once_its_last_firing_has_its_outcome(
    database: Database, store: TimerStore
) -> None:
    timer = enabled(store, "once")
    assert purge(database) == 0
    FiringStore(database).settle([outcome_of(Member(timer.id, AT, 1))])
    assert purge(database, AT - 1) == 0
    assert purge(database) == 1
    assert not is_there(store, timer)
    assert store.create(NewTimer("shop", "once", Once(AT + 5_000), NOTIFY), AT).id != timer.id
    assert [one.firing.fire_at for one in FiringStore(database).records(timer.id, 9)] == [AT]
    assert database.read(lambda sql: list(sql.execute(select(timer_tags)))) == []
    assert purge(database) == 0


def test_one_that_an_answer_is_still_to_put_off_stays(database: Database, store: TimerStore) -> None:
    timer, other = enabled(store, "paces itself"), finished(database, "other")
    member = Member(timer.id, AT, 1)
    control = f"{timer.definition.version} delay {AT + 60_000}"
    FiringStore(database).settle([outcome_of(member).with_note((CONTROL, control))])
    assert purge(database) == 1
    assert (is_there(store, timer), is_there(store, other)) == (True, False)
    ReplyControlStore(database).forget([member.key], {})
    assert purge(database) == 1


@pytest.mark.parametrize(("keep_days", "days"), [(None, DEFAULT_DAYS), (0, DEFAULT_DAYS), (1, 1)])
def test_one_whose_last_firing_failed_is_kept_as_any_other_that_it_may_be_replayed(
    database: Database, store: TimerStore, keep_days: int | None, days: int
) -> None:
    timer = finished(database, "once", keep_days=keep_days, status="failed")
    assert purge(database) == 0
    assert store.get("shop", timer.id) == timer
    assert purge(database, AT + days * DAY_MS - 1) == 0
    assert purge(database, AT + days * DAY_MS) == 1
    assert not is_there(store, timer)


@pytest.mark.parametrize(
    ("why", "stays"),
    [("missed", True), ("coalesced", True), ("overlap: the firing of x is not done", True)]
    + [(why, False) for why in WITHDRAWN],
)
def test_one_that_was_never_called_is_kept_that_it_may_be_replayed(
    database: Database, store: TimerStore, why: str, stays: bool
) -> None:
    timer = enabled(store, "once")
    skipped = outcome_of(Member(timer.id, AT, 1), FiringStatus.SKIPPED)
    FiringStore(database).settle([skipped._replace(error=why)])
    assert purge(database) == (0 if stays else 1)
    assert is_there(store, timer) is stays
    assert purge(database, AT + DEFAULT_DAYS * DAY_MS) == (1 if stays else 0)


def test_one_with_a_dead_letter_is_kept_though_its_last_firing_succeeded(
    database: Database, store: TimerStore
) -> None:
    timer = finished(database, "thrice")
    of_before = {
        "timer_id": timer.id,
        "fire_at": AT - 9,
        "failed_at": AT - 9,
        "app": "shop",
        "name": "thrice",
    }
    why = {"kind": "scheduled", "reason": "http_503", "host": "", "attempt": 11, "error": "HTTP 503"}
    database.write(lambda sql: sql.execute(insert(dead_letters), [of_before | why]))
    assert purge(database) == 0
    assert is_there(store, timer)


def test_of_several_firings_the_last_says_whether_their_timer_is_kept(
    database: Database, store: TimerStore
) -> None:
    mended, broken = (finished(database, name, status=status) for name, status in OPPOSITES.items())
    firings = FiringStore(database)
    later = [Firing(one.id, AT + 9, 0, FiringKind.MANUAL, due_at=AT + 9) for one in (mended, broken)]
    database.write(lambda sql: insert_missing(sql, later))
    firings.settle([outcome_of(later[0].member), outcome_of(later[1].member, FiringStatus.FAILED)])
    # Somebody replayed what had failed.
    database.write(lambda sql: sql.execute(delete(dead_letters).where(dead_letters.c.timer_id == mended.id)))
    assert purge(database) == 1
    assert (is_there(store, mended), is_there(store, broken)) == (False, True)


def test_those_that_failed_are_looked_at_once(database: Database) -> None:
    """However many are kept, none holds up those behind it at each purge."""
    for number in range(3):
        finished(database, str(number), AT + number, status="failed")
    timers = FinishedTimers(database, without_limits(database))
    assert timers.delete_page(0, AT + 9, (-1, 0), 9, AT + 9) == FinishedPage(0, None)
    assert timers.kept_days() == []


def test_an_edit_has_one_that_failed_judged_anew(database: Database, store: TimerStore) -> None:
    timer = finished(database, "once", status="failed")
    purge(database)
    store.edit(
        "shop",
        timer.id,
        AT + 1,
        lambda was: Revision(replace(was, tags=("u",)), [], [], was.definition.status),
    )
    assert FinishedTimers(database, without_limits(database)).kept_days() == [0]


@pytest.mark.parametrize(("keep_days", "days"), [(None, DEFAULT_DAYS), (1, 1), (400, 400)])
def test_one_that_is_kept_goes_so_many_days_after_its_last_moment(
    database: Database, store: TimerStore, keep_days: int | None, days: int
) -> None:
    timer = finished(database, "once", keep_days=keep_days)
    assert purge(database, AT + days * DAY_MS - 1) == 0
    assert is_there(store, timer)
    assert purge(database, AT + days * DAY_MS) == 1
    assert not is_there(store, timer)


def test_a_deleted_one_is_as_one_that_somebody_deleted(database: Database, store: TimerStore) -> None:
    timer = finished(database, "once")
    purge(database, AT + 7)
    definition = store.definitions({timer.id})[timer.id]
    assert (definition.status.value, definition.version) == ("deleted", timer.definition.version + 1)
    assert [one.timer_id for one in store.changed_behind((AT + 6, 0), 9)] == [timer.id]
    assert store.purge(AT + 8, 9) == 1


def test_a_retry_a_replay_and_one_that_was_asked_for_keep_their_timer(database: Database) -> None:
    firings = FiringStore(database)
    retried = enabled(plain_timers(database), "retried")
    member = Member(retried.id, AT, 1)
    firings.settle([outcome_of(member, FiringStatus.PENDING, AT + 5_000)])
    asked_for = finished(database, "asked for")
    by_hand = Firing(asked_for.id, AT + 9, 0, FiringKind.MANUAL, due_at=AT + 9)
    earlier = finished(database, "earlier")
    before = Firing(earlier.id, AT - 60_000, 0, FiringKind.BACKFILL, due_at=AT + 9)
    database.write(lambda sql: insert_missing(sql, sorted([by_hand, before])))
    assert purge(database) == 0
    firings.settle(
        [outcome_of(Member(retried.id, AT, 2)), outcome_of(by_hand.member), outcome_of(before.member)]
    )
    assert purge(database) == 3


def test_living_disabled_and_unplanned_ones_stay(database: Database, store: TimerStore) -> None:
    later = enabled(store, "later", AT + 60_000)
    off = finished(database, "off")
    store.disable("shop", off.id, AT + 1)
    never = store.create(NewTimer("shop", "never enabled", Once(AT), NOTIFY, keep_days=0), AT - 1)
    unplanned = store.create(NewTimer("shop", "unplanned", Once(AT), NOTIFY, keep_days=0), AT - 1)
    store.enable("shop", unplanned.id, AT - 1, lambda read: (plan(read, AT - 1, 9), []))
    assert purge(database, AT + 1_000) == 0
    assert all(is_there(store, one) for one in (later, off, never, unplanned))


def test_those_that_wait_are_passed_by(database: Database, store: TimerStore) -> None:
    waiting = [enabled(store, f"w{number}", AT + number) for number in range(3)]
    gone = finished(database, "gone", AT + 10)
    page = FinishedTimers(database, without_limits(database)).delete_page(0, AT + 20, (-1, 0), 3, AT + 20)
    assert (page.deleted, page.last) == (0, (AT + 2, waiting[2].id))
    assert purge(database, AT + 20) == 1
    assert not is_there(store, gone)


def test_the_days_in_use_are_found_one_by_one(database: Database) -> None:
    for number, days in enumerate([7, None, 0, 7, 3_650]):
        finished(database, str(number), keep_days=days)
    assert FinishedTimers(database, without_limits(database)).kept_days() == [0, 7, 3_650]


def test_a_purge_goes_on_page_by_page_until_its_time_is_over(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.timers.purger.FINISHED_PAGE", 4)
    monkeypatch.setattr("wangtimer.timers.purger.LONGEST_S", 2 * PAUSE_S)
    for number in range(13):
        finished(database, str(number), AT - number)
    assert [purge(database) for _ in range(3)] == [8, 5, 0]


def test_a_purge_is_bounded_by_its_time_alone(database: Database) -> None:
    """Else finished timers would grow without bound where more than a fixed number a minute finish."""
    timers = EndlessTimers(database, without_limits(database))
    deleted = FinishedPurger(timers, HandClock(AT + 1), DEFAULT_DAYS).purge()
    assert deleted == timers.pages * FINISHED_PAGE >= LONGEST_S / PAUSE_S * FINISHED_PAGE


class EndlessTimers(FinishedTimers):
    """Has a full page of finished timers whenever it is asked."""

    pages = 0

    def delete_page(
        self, days: int | None, upto: int, after: tuple[int, int], limit: int, now: int
    ) -> FinishedPage:
        del days, upto, now
        self.pages += 1
        return FinishedPage(limit, (after[0] + 1, 0))


def test_mariadb_reads_only_finished_timers_whose_time_has_come(mariadb: Database) -> None:
    """Of 5,000 living ones, and 2,000 finished ones that are still kept, none is read."""
    ids = TimerIds()
    living = [
        new_row(NewTimer("shop", f"l{n}", Once(AT + n), NOTIFY), ids.next(AT), AT, NO_KEYS)
        for n in range(5_000)
    ]
    kept = [
        new_row(NewTimer("shop", f"k{n}", Once(AT), NOTIFY, keep_days=7), ids.next(AT), AT, NO_KEYS)
        for n in range(2_000)
    ]
    mariadb.write(
        lambda sql: sql.execute(
            insert(timers),
            [row | {"status": "enabled"} for row in living]
            + [row | {"status": "enabled", "next_fire_at": None} for row in kept],
        )
    )
    finished(mariadb, "gone", keep_days=7, at=AT - 9 * DAY_MS)
    mariadb.write(lambda sql: sql.exec_driver_sql("ANALYZE TABLE timer").close())
    seen: list[tuple[str, Any]] = []

    def see(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    for engine in mariadb.engines:
        event.listen(engine, "before_cursor_execute", see)
    assert purge(mariadb, AT - DAY_MS) == 1
    for engine in mariadb.engines:
        event.remove(engine, "before_cursor_execute", see)
    looks = [one for one in seen if one[0].startswith("SELECT timer.") and "FOR UPDATE" not in one[0]]
    assert len(looks) == 5
    keys, rows = zip(*(mariadb.read(partial(cost_of, look=one)) for one in looks), strict=True)
    assert set(keys) == {"timer_finished"}
    assert sum(rows) < 20


def cost_of(sql: Connection, look: tuple[str, Any]) -> tuple[str, int]:
    """Return the index a statement is read by, and how many rows MariaDB reads for it."""
    statement, parameters = look
    (explained,) = sql.exec_driver_sql(f"EXPLAIN {statement}", parameters).mappings().all()
    before = rows_read(sql)
    sql.exec_driver_sql(statement, parameters).all()
    return str(explained["key"]), rows_read(sql) - before


def rows_read(sql: Connection) -> int:
    names = (
        "Handler_read_first",
        "Handler_read_key",
        "Handler_read_next",
        "Handler_read_prev",
        "Handler_read_rnd_next",
    )
    status = sql.exec_driver_sql(f"SHOW SESSION STATUS WHERE Variable_name IN {names}").all()
    return sum(int(value) for _, value in status)


def test_a_deleted_timer_s_row_keeps_no_days_and_no_call_however_it_was_deleted(database: Database) -> None:
    """Its row stays as long as the records of its firings; with a calendar it was 33 KB."""
    store, batches = plain_timers(database), plain_batches(database)
    days = Calendar("long", days=frozenset(date.fromordinal(750_000 + one) for one in range(400)))
    bounded = Bounded(Cron("0 0 * * *", "UTC"), last_ms=AT + 9 * DAY_MS, excluded=days)
    alone, many, done = (
        store.create(NewTimer("shop", name, bounded, NOTIFY, keep_days=0), AT) for name in ("a", "b", "c")
    )
    is_over = update(timers).where(timers.c.id == done.id)
    over = is_over.values(status="enabled", next_fire_at=None, planned_until=AT)
    database.write(lambda sql: sql.execute(over))
    store.delete("shop", alone.id, AT)
    batches.delete([many.id], AT)
    assert purge(database) == 1
    large = select(timers.c.status, timers.c.bounds, timers.c.notify)
    rows = database.read(lambda sql: [tuple(row) for row in sql.execute(large)])
    assert rows == [("deleted", None, NO_CALL_TEXT)] * 3
    assert {one.schedule for one in store.definitions({alone.id, many.id, done.id}).values()} == {
        bounded.rule
    }
