"""One row, definition or parked outcome that cannot be read keeps no other from being read, on real servers."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

import pytest
from redis import Redis
from sqlalchemy import text, update

from tests.store.plain_stores import plain_batches, plain_timers
from wangtimer.cli.doctor.findings import Severity
from wangtimer.cli.doctor.stored_checkups import of_bad_timers
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import Unreadable
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.planning import Plan
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.timers.bad_timers import BadTimers, Readable
from wangtimer.core.timers.timer import NewTimer, Notify, TimerStatus
from wangtimer.store.redis.bad_record import FORGOTTEN_AFTER_MS, MOST, PRESENT_MS, BadRecord
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.sql.calendars import CalendarStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_lists import FiringFilter, FiringLists
from wangtimer.store.sql.firings import FiringStore, insert_missing
from wangtimer.store.sql.tables import calendars, firings, timers
from wangtimer.store.sql.timer_lists import Order, SortKey, TimerFilter, TimerLists
from wangtimer.store.sql.timers import TimerStore
from wangtimer.testing.doubles import HandClock

APP = "shop"
NOW = 1_800_000_000_000
NOTIFY = Notify("http://shop.test/due")


class Noted(BadTimers):
    """Remembers what was noted."""

    def __init__(self) -> None:
        self.reasons: dict[int, str] = {}

    def note(self, reasons: Mapping[int, str]) -> None:
        self.reasons |= reasons


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=2)
    database.create_tables()
    with closing(database):
        yield database


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def store(database: Database, noted: Noted) -> TimerStore:
    return plain_timers(database, noted)


def enabled(store: TimerStore, number: int) -> list[int]:
    made = [
        store.create(NewTimer(APP, f"timer-{one:03}", Cron.parse("* * * * *"), NOTIFY), NOW)
        for one in range(number)
    ]
    for timer in made:
        store.enable(APP, timer.id, NOW, lambda one: (Plan(one, (), NOW, one.next_fire_at), []))
    return [timer.id for timer in made]


def widen(database: Database, column: str) -> None:
    """Let a column of words take any, as that of another version does."""
    if not database.is_sqlite:
        table, name = column.split(".")
        database.write(
            lambda sql: sql.execute(text(f"ALTER TABLE {table} MODIFY {name} VARCHAR(40) NOT NULL"))
        )


def spoil(database: Database, timer_id: int, how: str) -> None:
    values = {
        "calendar": {"bounds": '{"excluded":{"name":"de-off-days"}}'},
        "bound": {"bounds": '{"moon":"full"}'},
        "misfire": {"misfire": "fire_twice"},
        "notify": {"notify": '{"target":"grpc://shop.test"}'},
    }[how]
    if how == "misfire":
        widen(database, "timer.misfire")
    change = update(timers).where(timers.c.id == timer_id).values(values)
    database.write(lambda sql: sql.execute(change))


HOW = ["calendar", "bound", "misfire", "notify"]


@pytest.mark.parametrize("how", HOW)
def test_one_row_that_cannot_be_read_is_noted_and_the_others_are_read(
    database: Database, store: TimerStore, noted: Noted, how: str
) -> None:
    ids = enabled(store, 3)
    spoil(database, ids[1], how)
    # Planning does not read the call.
    planned = ids if how == "notify" else [ids[0], ids[2]]
    assert list(store.to_plan(NOW + 3_600_000, 9)) == planned
    found = store.definitions(set(ids))
    assert (set(found), set(found.bad)) == ({ids[0], ids[2]}, {ids[1]})
    assert [timer.id for timer in store.page(APP, 0, 9)] == [ids[0], ids[2]]
    assert set(noted.reasons) == {ids[1]}
    with pytest.raises(Unreadable, match=f"timer {ids[1]} cannot be read"):
        store.get(APP, ids[1])


def test_what_is_left_out_takes_no_place_of_a_page(database: Database, store: TimerStore) -> None:
    ids = enabled(store, 6)
    for one in ids[:4]:
        spoil(database, one, "bound")
    page = store.to_plan(NOW + 3_600_000, 4)
    assert (set(page), set(page.bad)) == (set(), set(ids[:4]))
    assert set(store.to_plan(NOW + 3_600_000, 4, without=ids[:4])) == set(ids[4:])


@pytest.mark.parametrize("order", [Order(), Order(SortKey.NAME, descending=True)])
def test_a_list_goes_on_behind_timers_that_cannot_be_read(
    database: Database, store: TimerStore, order: Order
) -> None:
    ids = enabled(store, 9)
    for one in ids[1:6]:
        spoil(database, one, "bound")
    lists = TimerLists(database, HandClock(), BadTimers())
    good = [ids[0], *ids[6:]]
    wanted = good[::-1] if order.descending else good
    assert [timer.id for timer in lists.page(TimerFilter(APP), order, 3, NOW)] == wanted[:3]
    chosen = lists.chosen(TimerFilter(APP), 4, NOW, 0)
    assert (sorted(chosen), sorted(chosen.bad)) == ([ids[0]], ids[1:4])


def test_many_are_switched_off_though_one_cannot_be_read(database: Database, store: TimerStore) -> None:
    ids = enabled(store, 3)
    spoil(database, ids[0], "bound")
    off = plain_batches(database).disable(ids, NOW)
    assert {timer.id: timer.definition.status for timer in off} == dict.fromkeys(
        ids[1:], TimerStatus.DISABLED
    )


def strange(database: Database, column: str, *keys: tuple[int, int]) -> None:
    widen(database, f"firing.{column}")
    for timer_id, fire_at in keys:
        own = (firings.c.timer_id == timer_id, firings.c.fire_at == fire_at)
        change = update(firings).where(*own).values({column: "of-another-version"})
        database.write(lambda sql, change=change: sql.execute(change))


def test_firings_of_a_kind_of_another_version_harm_no_others(database: Database, store: TimerStore) -> None:
    (timer_id,) = enabled(store, 1)
    of_firings = FiringStore(database)
    planned = [Firing.planned(timer_id, NOW + number, 0) for number in range(9)]
    database.write(lambda sql: insert_missing(sql, planned))
    strange(database, "kind", *((timer_id, NOW + number) for number in range(1, 6)))
    good = [NOW, *(NOW + number for number in range(6, 9))]
    assert [one.fire_at for one in of_firings.pending_between(0, NOW + 99, 3)] == good[:3]
    assert [one.fire_at for one in of_firings.pending_of(planned[0].slice)] == good
    rows = of_firings.rows(one.member for one in planned)
    assert [fire_at for _, fire_at in rows] == good
    assert {fire_at for _, fire_at in rows.bad} == {NOW + number for number in range(1, 6)}
    assert [one.firing.fire_at for one in of_firings.records(timer_id, 2)] == [NOW + 8, NOW + 7]
    lists = FiringLists(database, HandClock())
    wanted = FiringFilter(APP, timer_id=timer_id)
    listed = lists.page(wanted, 4, is_patient=True)
    assert [one.firing.fire_at for one in listed] == good[::-1]


def test_a_status_of_another_version_is_not_pending_here(database: Database) -> None:
    store = FiringStore(database)
    planned = [Firing.planned(1, NOW + number, 0) for number in range(2)]
    database.write(lambda sql: insert_missing(sql, planned))
    strange(database, "status", (1, NOW))
    rows = store.rows(one.member for one in planned)
    assert (list(rows), rows.bad) == ([(1, NOW + 1)], {})


def test_one_calendar_that_cannot_be_read_hides_no_other(database: Database) -> None:
    store = CalendarStore(database)
    for name in ("a", "b"):
        store.put(APP, Calendar(name, frozenset({6})), NOW)
    spoilt = update(calendars).where(calendars.c.name == "a").values(content='{"name":"a","moon":1}')
    database.write(lambda sql: sql.execute(spoilt))
    assert [one.name for one in store.all_of(APP)] == ["b"]


# Redis


@pytest.fixture
def connection(store_url: str) -> Iterator[RedisConnection]:
    with closing(RedisConnection(store_url)) as connection:
        yield connection


@pytest.fixture
def raw(store_url: str) -> Redis:
    return Redis.from_url(store_url, decode_responses=True)


def test_one_definition_that_cannot_be_read_is_noted_and_the_others_are_read(
    connection: RedisConnection, raw: Redis, noted: Noted, make_definition: Callable[..., object]
) -> None:
    keys = Keys("wt")
    store = DefinitionStore(connection, keys, HandClock(), 60, noted)
    store.put([make_definition(one) for one in (1, 2, 3)])
    raw.set(keys.definition(2), '7 {"app":"shop","status":"paused"}')
    found = store.get([1, 2, 3, 4]).definitions
    assert isinstance(found, Readable)
    assert (set(found), set(found.bad), set(noted.reasons)) == ({1, 3}, {2}, {2})
    store.forget([2, 3, 4])
    assert [raw.exists(keys.definition(one)) for one in (1, 2, 3)] == [1, 0, 0]


def test_a_definition_that_cannot_be_written_keeps_no_other_from_it(
    connection: RedisConnection, noted: Noted, make_definition: Callable[..., object]
) -> None:
    store = DefinitionStore(connection, Keys("wt"), HandClock(), 60, noted)
    broken = make_definition(2)._replace(notify=Notify("http://shop.test/\ud800"))
    store.put([make_definition(1), broken, make_definition(3)])
    assert (set(store.get([1, 2, 3]).definitions), set(noted.reasons)) == ({1, 3}, {2})


@pytest.fixture
def make_definition() -> Callable[..., object]:
    from tests.store.definitions import definition

    return definition


def test_one_parked_outcome_that_cannot_be_read_keeps_no_other_from_being_read(
    connection: RedisConnection, raw: Redis
) -> None:
    keys = Keys("wt")
    outbox = Outbox(connection, keys)
    good = Outcome(Firing.planned(1, NOW, 0).member, 0, FiringStatus.SUCCEEDED, NOW)
    outbox.park([good])
    raw.hset(keys.outbox, "2-3-1", '["of another version"]')
    found = outbox.read(outbox.page(10))
    assert (list(found.values()), set(found.bad)) == ([good], {"2-3-1"})


def test_bad_timers_are_recorded_with_reason_and_moment_the_latest_first(connection: RedisConnection) -> None:
    clock = HandClock()
    record = BadRecord(connection, Keys("wt"), clock)
    record.note({7: "its zone is unknown"})
    clock.sleep(10)
    record.note({7: "its zone is unknown", 8: "its row cannot be read"})
    assert [(one.timer_id, one.reason) for one in record.latest(9)] == [
        (8, "its row cannot be read"),
        (7, "its zone is unknown"),
    ]
    assert (record.present(), record.notes()) == (2, 2), "a minute has to pass before one is noted again"
    clock.sleep(60)
    record.note({7: "its zone is unknown"})
    assert record.latest(1)[0].timer_id == 7
    clock.sleep(PRESENT_MS / 1_000 + 1)
    assert (record.present(), record.notes()) == (0, 3)
    clock.sleep(FORGOTTEN_AFTER_MS / 1_000)
    record.note({9: "new"})
    assert [one.timer_id for one in record.latest(9)] == [9]


def test_the_record_of_bad_timers_is_bounded(connection: RedisConnection, raw: Redis) -> None:
    clock = HandClock()
    record = BadRecord(connection, Keys("wt"), clock)
    for first in range(0, 3 * MOST, MOST):
        clock.sleep(1)
        record.note({one: f"reason {one}" for one in range(first, first + MOST)})
    assert (record.present(), raw.zcard(Keys("wt").bad_timers)) == (MOST, MOST)
    assert record.latest(1)[0].timer_id >= 2 * MOST


def test_doctor_shows_what_is_bad_and_why(connection: RedisConnection) -> None:
    clock = HandClock()
    record = BadRecord(connection, Keys("wt"), clock)
    now = int(clock.now_ms())
    assert [one.severity for one in of_bad_timers([], 0, now)] == [Severity.OK]
    record.note({7: "its zone is unknown"})
    (found,) = of_bad_timers(record.latest(20), record.present(), now)
    assert found.severity is Severity.ERROR
    assert "timer 7: its zone is unknown" in found.text
    (later,) = of_bad_timers(record.latest(20), 0, now + PRESENT_MS + 1)
    assert later.severity is Severity.WARNING
