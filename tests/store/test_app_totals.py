"""Timers and planned firings of an app: counted by each change of a timer, held against the app's limits."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import cycle

import pytest
from sqlalchemy import Connection, event, func, select, update

from tests.store.definitions import NOTIFY
from tests.store.plain_stores import plain_batches, plain_timers
from tests.store.test_timer_batches import firings_of_plans
from tests.store.test_timers import NOW, near, planned
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import Limited, LimitReached, StoreAway
from wangtimer.core.flow.planning import plan
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule
from wangtimer.core.time.zones import DAY_S
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.store.app_total import UNBOUNDED, WITHOUT_LIMIT, Total, together
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql import app_totals as app_totals_module
from wangtimer.store.sql.app_totals import COUNTED_ANEW_AFTER_MS, SLOTS, AppTotals, TotalCounts
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.finished_timers import FinishedTimers
from wangtimer.store.sql.tables import app_totals, timers
from wangtimer.store.sql.timer_batches import Created, draft
from wangtimer.store.sql.timers import Revision
from wangtimer.testing.doubles import HandClock
from wangtimer.timers.purger import COUNTED_EVERY_MS, TotalCounter

SECONDLY, MINUTELY = Every(1_000, 0), Cron("* * * * *", "UTC")
A_MINUTE = 1_440


class Office:
    """The stores of timers of an app with limits: `most` may be replaced."""

    def __init__(self, database: Database, most: Total) -> None:
        self.database = database
        self.most = most
        self.counts = TotalCounts(database)
        self.totals = AppTotals(lambda _: replace(self.most, bytes=self.most.bytes or UNBOUNDED), self.counts)
        self.store = plain_timers(database, totals=self.totals)
        self.batches = plain_batches(database, totals=self.totals)
        AppStore(database).create_missing("shop", {}, NOW)

    @property
    def total(self) -> Total:
        """What the app's slots say together, without the bytes."""
        return replace(self.whole, bytes=0)

    @property
    def whole(self) -> Total:
        """The same with the bytes."""
        return together(self.slots)

    @property
    def slots(self) -> list[Total]:
        query = select(app_totals.c.timers, app_totals.c.firings_a_day, app_totals.c.bytes).order_by(
            app_totals.c.slot
        )
        return self.database.read(lambda sql: [Total(*row) for row in sql.execute(query)])

    def living(self) -> int:
        query = select(func.count()).where(timers.c.tombstone == 0)
        return self.database.read(lambda sql: sql.execute(query).scalar_one())

    def made(self, name: str, schedule: Schedule = SECONDLY) -> Timer:
        return self.store.create(NewTimer("shop", name, schedule, NOTIFY), NOW)

    def enabled(self, name: str, schedule: Schedule = SECONDLY) -> Timer:
        return self.store.create_enabled(NewTimer("shop", name, schedule, NOTIFY), NOW, near())[0]

    def batch(self, *names: str, schedule: Schedule = MINUTELY, enabled: bool = False) -> Created:
        new = [NewTimer("shop", name, schedule, NOTIFY) for name in names]
        drafts = [draft(one, self.batches.ids.next(NOW), NOW, NO_KEYS) for one in new]
        if enabled:
            drafts = [one.enabled_by(plan(one.timer, NOW + 2 * MINUTE_MS, 1_000)) for one in drafts]
        return self.batches.create("shop", drafts, NOW, firings_of_plans)


@pytest.fixture
def office(database: Database) -> Office:
    return Office(database, Total(UNBOUNDED - 1, UNBOUNDED - 1))


def to(schedule: Schedule) -> Callable[[Timer], Revision]:
    """Return the edit that gives a timer another schedule."""

    def revised(timer: Timer) -> Revision:
        changed = replace(timer, definition=timer.definition._replace(schedule=schedule, edited_at=NOW))
        a_plan, firings = planned(replace(changed, planned_until=NOW), 2)
        marks = replace(changed, planned_until=a_plan.planned_until, next_fire_at=a_plan.next_fire_at)
        return Revision(marks, [], firings, timer.definition.status)

    return revised


def test_each_change_of_a_timer_moves_the_totals(office: Office) -> None:
    seen: list[Total] = []
    timer = office.made("a")
    seen.append(office.total)
    office.store.enable("shop", timer.id, NOW, near())
    seen.append(office.total)
    office.store.edit("shop", timer.id, NOW, to(MINUTELY))
    seen.append(office.total)
    office.store.disable("shop", timer.id, NOW)
    seen.append(office.total)
    office.store.delete("shop", timer.id, NOW)
    assert [*seen, office.total] == [
        Total(1, 0),
        Total(1, DAY_S),
        Total(1, A_MINUTE),
        Total(1, 0),
        Total(),
    ]


def test_changes_of_many_move_the_totals_too(office: Office) -> None:
    made = office.batch("a", "b", "a", enabled=True)
    assert office.total == Total(2, 2 * A_MINUTE)
    ids = [one.id for one in made.timers if isinstance(one, Timer)]
    (first, *_) = office.batches.disable(ids, NOW)
    assert office.total == Total(2, 0)
    a_plan = plan(first, NOW + MINUTE_MS, 9)
    office.batches.enable([a_plan], firings_of_plans([a_plan]), NOW)
    assert office.total == Total(2, A_MINUTE)
    office.batches.delete(ids, NOW)
    assert office.total == Total()


def test_a_one_shot_and_one_whose_last_firing_is_planned_plan_no_firings(office: Office) -> None:
    office.enabled("once", Once(NOW + 9 * MINUTE_MS))
    assert office.total == Total(1, 0)


def test_a_finished_timer_that_is_purged_counts_no_more(office: Office) -> None:
    office.enabled("once", Once(NOW + 1))
    office.database.write(lambda sql: sql.exec_driver_sql("UPDATE firing SET status = 'succeeded'"))
    finished = FinishedTimers(office.database, office.totals)
    assert finished.delete_page(None, NOW + 9, (-1, 0), 9, NOW + 9).deleted == 1
    assert office.total == Total()


LONG_CALENDAR = Calendar("long", days=frozenset(date.fromordinal(750_000 + one) for one in range(400)))


def test_each_change_of_a_timer_moves_its_bytes_and_a_count_agrees(office: Office) -> None:
    def seen() -> int:
        moved = office.whole.bytes
        office.counts.count("shop", NOW + 1)
        assert office.whole.bytes == moved
        return moved

    timer = office.made("a", Bounded(MINUTELY, excluded=LONG_CALENDAR))
    with_days = seen()
    assert with_days > 2_500
    office.store.enable("shop", timer.id, NOW, near())
    assert seen() == with_days
    office.store.edit("shop", timer.id, NOW, to(MINUTELY))
    plain = seen()
    assert 100 < plain < 400
    office.batch("b", "c", enabled=True)
    assert seen() == 3 * plain
    office.store.disable("shop", timer.id, NOW)
    assert seen() == 3 * plain
    office.store.delete("shop", timer.id, NOW)
    assert seen() == 2 * plain
    office.batches.delete([one.id for one in office.store.page("shop", 0, 9)], NOW)
    assert seen() == 0


def test_more_bytes_than_an_app_may_have_are_refused_with_both_numbers(office: Office) -> None:
    """A thousand timers with a calendar of 4,900 days were 33 MB in SQL, for 49 KB of a request."""
    office.most = Total(UNBOUNDED, UNBOUNDED, 3_500)
    first = office.made("a", Bounded(MINUTELY, excluded=LONG_CALENDAR))
    figures = r"would take [56],\d\d\d bytes, calls and excluded days together, and may take 3,500"
    with pytest.raises(LimitReached, match=figures) as refused:
        office.made("b", Bounded(MINUTELY, excluded=LONG_CALENDAR))
    assert refused.value.of is Limited.TIMERS
    made = office.batch("b", "c", schedule=Bounded(MINUTELY, excluded=LONG_CALENDAR)).timers
    assert [type(one) for one in made] == [LimitReached, LimitReached]
    plain = office.made("d")
    with pytest.raises(LimitReached):
        office.store.edit("shop", plain.id, NOW, to(Bounded(MINUTELY, excluded=LONG_CALENDAR)))
    office.store.delete("shop", first.id, NOW)
    assert office.made("e", Bounded(MINUTELY, excluded=LONG_CALENDAR))


def test_a_timer_too_many_is_refused_with_both_numbers_and_nothing_is_stored(office: Office) -> None:
    office.most = Total(1, UNBOUNDED)
    office.made("a")
    with pytest.raises(LimitReached, match="would have 2 timers, and may have 1") as refused:
        office.enabled("b")
    assert refused.value.of is Limited.TIMERS
    assert (office.living(), office.total) == (1, Total(1, 0))
    assert office.database.read(lambda sql: sql.exec_driver_sql("SELECT 1 FROM firing").all()) == []


def test_too_many_planned_firings_are_refused_at_enable_and_edit(office: Office) -> None:
    office.most = Total(9, DAY_S + 9)
    slow, fast = office.enabled("slow", Every(DAY_S * 1_000, 0)), office.made("fast")
    assert office.store.enable("shop", fast.id, NOW, near())
    figures = r"would plan 2 firings a second, and may plan 1\.0001"
    with pytest.raises(LimitReached, match=figures) as refused:
        office.store.edit("shop", slow.id, NOW, to(SECONDLY))
    assert refused.value.of is Limited.FIRINGS
    third = office.made("third")
    with pytest.raises(LimitReached):
        office.store.enable("shop", third.id, NOW, near())
    assert office.store.get("shop", slow.id) == slow
    assert not office.store.get("shop", third.id).definition.is_enabled
    assert office.total == Total(3, DAY_S + 1)


def test_a_batch_stores_what_fits_and_says_of_each_other_why(office: Office) -> None:
    office.most = Total(3, UNBOUNDED)
    office.made("a")
    made = office.batch("a", "b", "c", "d", "e").timers
    assert [type(one).__name__ for one in made] == [
        "NameTaken",
        "Timer",
        "Timer",
        "LimitReached",
        "LimitReached",
    ]
    assert (office.living(), office.total.timers) == (3, 3)


def test_a_batch_enables_what_fits(office: Office) -> None:
    made = [one for one in office.batch("a", "b", "c").timers if isinstance(one, Timer)]
    office.most = Total(9, 2 * A_MINUTE)
    plans = [plan(one, NOW + MINUTE_MS, 9) for one in made]
    enabled = office.batches.enable(plans, firings_of_plans(plans), NOW)
    assert [one.id for one in enabled.timers] == [made[0].id, made[1].id]
    assert list(enabled.refused) == [made[2].id]
    assert {one.timer_id for one in enabled.pending} == {made[0].id, made[1].id}
    assert office.total.firings_a_day == 2 * A_MINUTE


def test_under_a_limit_that_was_lowered_all_may_shrink(office: Office) -> None:
    a, b = office.enabled("a"), office.enabled("b")
    office.most = Total(1, 1)
    office.store.disable("shop", a.id, NOW)
    office.store.edit("shop", b.id, NOW, to(MINUTELY))
    office.store.delete("shop", a.id, NOW)
    assert office.total == Total(1, A_MINUTE)


def test_timers_that_fired_for_the_last_time_are_soon_in_nobodys_way(office: Office) -> None:
    office.most = Total(9, DAY_S)
    done, new = office.enabled("done"), office.made("new")
    gone = update(timers).where(timers.c.id == done.id).values(next_fire_at=None)
    office.database.write(lambda sql: sql.execute(gone))
    with pytest.raises(LimitReached):
        office.store.enable("shop", new.id, NOW, near())
    office.store.enable("shop", new.id, NOW + COUNTED_ANEW_AFTER_MS, near())
    assert office.total == Total(2, DAY_S)


def test_what_an_app_had_before_its_first_limit_is_counted_by_the_first_create_after(office: Office) -> None:
    office.most = WITHOUT_LIMIT
    office.enabled("a"), office.made("b")
    assert office.slots == []
    office.most = Total(3, UNBOUNDED)
    office.made("c")
    assert office.total == Total(3, DAY_S)
    with pytest.raises(LimitReached):
        office.made("d")


def test_an_app_whose_first_limit_is_below_what_it_has_is_counted_once(office: Office) -> None:
    office.most = WITHOUT_LIMIT
    office.batch("a", "b")
    office.most = Total(1, UNBOUNDED)
    with pytest.raises(LimitReached, match="would have 3 timers, and may have 1"):
        office.made("c")
    assert office.total == Total(2, 0)


def test_a_count_finds_what_was_not_counted(office: Office) -> None:
    office.made("a")
    office.most, most = WITHOUT_LIMIT, office.most
    office.enabled("b")
    office.most = most
    assert office.total == Total(1, 0)
    counter = TotalCounter(office.counts, office.totals, HandClock(NOW + COUNTED_EVERY_MS + 1))
    assert counter.count_all() == 1
    assert office.total == Total(2, DAY_S)
    assert counter.count_all() == 0


def test_an_app_that_cannot_be_counted_is_not_refused(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def takes_too_long(app: str, _now: int) -> None:
        tries.append(app)
        raise StoreAway("SQL", "max_statement_time exceeded")

    office.most = Total(1, UNBOUNDED)
    with monkeypatch.context() as patched:
        patched.setattr(office.counts, "count", takes_too_long)
        office.made("a"), office.made("b"), office.batch("c", "d")
    assert (office.living(), tries) == (4, ["shop"])


def test_the_total_of_an_app_without_a_limit_is_forgotten(office: Office) -> None:
    office.made("a")
    office.most = WITHOUT_LIMIT
    counter = TotalCounter(office.counts, office.totals, HandClock(NOW + COUNTED_EVERY_MS + 1))
    assert (counter.count_all(), counter.count_all()) == (1, 0)
    assert office.slots == []


def test_a_first_limit_and_one_taken_out_make_an_app_be_counted_anew(office: Office) -> None:
    changed: list[dict[str, float | None]] = [
        {"timers": 5},
        {"timers": 6},
        {"callsPerSecond": 1},
        {"timers": None},
    ]
    counted = []
    for limits in changed:
        office.made(str(limits))
        AppStore(office.database).change("shop", NOW, limits)
        counted.append(bool(office.slots))
    assert counted == [False, True, True, False]


def test_two_counts_at_once_move_the_total_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.most = WITHOUT_LIMIT
    office.batch("a", "b")
    read = office.database.read
    others = iter([partial(office.counts.count, "shop", NOW)])

    def read_and_be_overtaken(work: Callable[[Connection], object]) -> object:
        found = read(work)
        for other in others:
            other()
        return found

    monkeypatch.setattr(office.database, "read", read_and_be_overtaken)
    office.counts.count("shop", NOW)
    assert office.total == Total(2, 0)


def test_an_app_without_a_row_has_no_limits(database: Database) -> None:
    store = plain_timers(database, totals=AppTotals(lambda _: Total(), TotalCounts(database)))
    assert store.create(NewTimer("shop", "a", SECONDLY, NOTIFY), NOW)


@pytest.mark.parametrize("most", [1, SLOTS - 1, SLOTS + 5, 3 * SLOTS])
def test_one_connection_after_another_fills_an_app_exactly(office: Office, most: int) -> None:
    office.most = Total(most, UNBOUNDED)
    made = [_is_made(office, str(number)) for number in range(most + 3)]
    assert made == [True] * most + [False] * 3
    assert office.total.timers == most


def test_a_slot_over_its_share_of_a_lowered_limit_leaves_no_room_to_others(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.most = Total(100 * SLOTS, UNBOUNDED)
    monkeypatch.setattr(app_totals_module, "_slot_of", lambda _: 0)
    # The first divides the total over the slots. Then 59 are all in one.
    office.made("first")
    office.batch(*map(str, range(59)))
    assert office.slots[0].timers == 60
    # The slots of other connections, in turn: none has used anything of its share.
    others = cycle(range(1, SLOTS))
    monkeypatch.setattr(app_totals_module, "_slot_of", lambda _: next(others))
    office.most = Total(64, UNBOUNDED)
    assert sum(_is_made(office, f"more {number}") for number in range(9)) == 4
    office.most = Total(66, UNBOUNDED)
    assert sum(_is_made(office, f"yet more {number}") for number in range(9)) == 2


@pytest.fixture
def busy(mariadb_url: str) -> Iterator[Office]:
    """An app that eight threads make timers of, on MariaDB."""
    with closing(Database(mariadb_url, pool_size=8)) as database:
        database.create_tables()
        yield Office(database, Total(50, 60 * A_MINUTE))


def test_of_concurrent_creates_exactly_as_many_as_may_are_stored(busy: Office) -> None:
    def make(number: int) -> int:
        """Make four timers, alone or together; return how many were stored."""
        names = [f"{number}-{one}" for one in range(4)]
        if number % 2:
            return sum(isinstance(one, Timer) for one in busy.batch(*names).timers)
        return sum(_is_made(busy, name) for name in names)

    with ThreadPoolExecutor(8) as pool:
        stored = sum(pool.map(make, range(24)))
    assert (stored, busy.living(), busy.total.timers) == (50, 50, 50)


def test_concurrent_creates_do_not_lock_each_other_out(busy: Office) -> None:
    busy.most = Total(300, UNBOUNDED)
    before = _deadlocks(busy.database)
    with ThreadPoolExecutor(8) as pool:
        stored = sum(pool.map(lambda number: _is_made(busy, str(number)), range(320)))
    assert (stored, _deadlocks(busy.database) - before) == (300, 0)


def test_of_concurrent_enables_and_deletes_none_is_miscounted(busy: Office) -> None:
    made = [one.id for one in busy.batch(*map(str, range(40))).timers if isinstance(one, Timer)]

    def change(timer_id: int) -> None:
        busy.store.enable("shop", timer_id, NOW, near())
        if timer_id % 2:
            busy.store.disable("shop", timer_id, NOW)
        else:
            busy.batches.delete([timer_id, made[0]], NOW)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, made[1:]))
    kept = busy.total
    busy.counts.count("shop", NOW)
    assert busy.total == kept


def test_far_from_the_limit_creates_of_an_app_do_not_wait_for_each_other(mariadb: Database) -> None:
    office = Office(mariadb, Total(100_000, UNBOUNDED))
    office.made("first")
    with ExitStack() as opened:
        by_number: dict[int, Connection] = {}
        while len(by_number) < 2:
            sql = opened.enter_context(mariadb.engine.connect())
            by_number[sql.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one() % SLOTS] = sql
        for sql in by_number.values():
            sql.exec_driver_sql("SET innodb_lock_wait_timeout = 1")
            office.totals.transact(partial(office.totals.move, sql, "shop", Total(1), NOW), NOW)
        for sql in by_number.values():
            sql.commit()
    assert office.total.timers == 3


def test_a_create_takes_one_statement_for_its_count_and_without_a_limit_none(mariadb: Database) -> None:
    office = Office(mariadb, Total(1_000, UNBOUNDED))
    office.made("first")
    sent: list[str] = []

    def note(_sql: Connection, _cursor: object, text: str, *_: object) -> None:
        sent.append(" ".join(text.split()[:2]))

    for engine in mariadb.engines:
        event.listen(engine, "before_cursor_execute", note)
    office.made("a")
    assert sent == ["UPDATE app_total", "INSERT INTO"]
    office.most = WITHOUT_LIMIT
    sent.clear()
    office.made("b")
    assert sent == ["INSERT INTO"]


def _deadlocks(database: Database) -> int:
    status = "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"
    return database.read(lambda sql: int(sql.exec_driver_sql(status).one()[1]))


def _is_made(office: Office, name: str) -> bool:
    try:
        office.made(name)
    except LimitReached:
        return False
    return True
