"""Dead letters: one of each firing that has failed for good, until it is replayed, discarded or past its time."""

from dataclasses import replace

import pytest
from sqlalchemy import delete, insert

from tests.store.definitions import NOTIFY
from tests.store.members import failed_of, outcome_of, row_at
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.apps.caller import Caller, calling
from wangtimer.core.apps.scopes import ALL_SCOPES
from wangtimer.core.errors import InvalidInput
from wangtimer.core.flow.dead_letter import NOT_MADE, TIMED_OUT, DeadLetter
from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.audit import AuditFilter
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.dead_letters import (
    MOST_COUNTED,
    CalledTarget,
    DeadLetterCounts,
    DeadLetterFilter,
    DeadLetterStore,
)
from wangtimer.store.sql.demands import Replay
from wangtimer.store.sql.parts import LONGEST_S
from wangtimer.store.sql.tables import apps, firings
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.testing.doubles import HandClock
from wangtimer.timers.on_demand import Firing

AT = 1_800_000_000_000
FAILED, PENDING, SUCCEEDED = FiringStatus.FAILED, FiringStatus.PENDING, FiringStatus.SUCCEEDED
SHOP = DeadLetterFilter("shop")
HOST = "shop.test:443"


@pytest.fixture
def sql(database: Database) -> SqlWorld:
    return real_sql(database)


def timer(sql: SqlWorld, name: str = "a", app: str = "shop") -> Timer:
    return sql.timers.create(NewTimer(app, name, Once(AT), NOTIFY), AT - DAY_MS)


def failed(one: Firing, **fields: object) -> Outcome:
    """Return the outcome of a call that failed 1.5 s after its moment."""
    said = {"failed_at": one.fire_at + 1_500, "http_status": 503, "error": "HTTP 503"}
    return failed_of(one.member, **(said | {"host": HOST, "reason": "http_503"} | fields))


def fail(sql: SqlWorld, timer_id: int, *moments: int, **fields: object) -> None:
    """Plan firings at these moments, and let them fail for good."""
    rows = [row_at(moment, timer_id) for moment in moments]
    sql.insert(rows)
    sql.firings.settle([failed(row, **fields) for row in rows])


def moments(sql: SqlWorld, wanted: DeadLetterFilter = SHOP) -> list[int]:
    return [one.fire_at for one in sql.dead_letters.page(wanted, 99)]


def test_what_has_failed_for_good_is_kept_with_what_is_known_of_it(sql: SqlWorld) -> None:
    made = timer(sql)
    fail(sql, made.id, AT)
    assert sql.dead_letters.page(SHOP, 9) == [
        DeadLetter(
            "shop",
            AT + 1_500,
            made.id,
            AT,
            "a",
            FiringKind.SCHEDULED,
            "http_503",
            HOST,
            None,
            1,
            503,
            "HTTP 503",
        )
    ]


def test_what_could_not_be_called_is_kept_too(sql: SqlWorld) -> None:
    made = timer(sql)
    row = row_at(AT, made.id)
    sql.insert([row])
    sql.firings.settle([outcome_of(row.member, FAILED, error="no request can be made")])
    (kept,) = sql.dead_letters.page(SHOP, 9)
    assert (kept.failed_at, kept.reason, kept.host, kept.http_status) == (AT, NOT_MADE, "", None)


@pytest.mark.parametrize("status", [SUCCEEDED, PENDING, FiringStatus.SKIPPED])
def test_nothing_is_kept_of_what_has_not_failed_for_good(sql: SqlWorld, status: FiringStatus) -> None:
    row = row_at(AT, timer(sql).id)
    sql.insert([row])
    sql.firings.settle([outcome_of(row.member, status, AT + 60_000)])
    assert moments(sql) == []


def test_those_of_all_apps_come_in_one_order(sql: SqlWorld) -> None:
    ours, theirs = timer(sql), timer(sql, app="billing")
    for number in range(6):
        fail(sql, (ours, theirs)[number % 2].id, AT + number * 60_000)
    of_all = replace(SHOP, app=None)
    assert moments(sql, of_all) == [AT + number * 60_000 for number in range(5, -1, -1)]
    found: list[DeadLetter] = []
    while page := sql.dead_letters.page(of_all, 2, (found[-1].failed_at, *found[-1].key) if found else None):
        found += page
    assert [one.app for one in found] == ["billing", "shop"] * 3
    assert sql.dead_letters.count(of_all).total == 6
    assert moments(sql, replace(of_all, timer_id=ours.id)) == moments(sql)
    assert moments(sql, replace(of_all, last=AT + 61_000)) == [AT]


def test_a_repeated_outcome_keeps_one(sql: SqlWorld) -> None:
    made = timer(sql)
    fail(sql, made.id, AT)
    sql.firings.settle([failed(row_at(AT, made.id)), failed(row_at(AT, made.id))])
    assert moments(sql) == [AT]


def test_an_outcome_that_was_overtaken_keeps_none(sql: SqlWorld) -> None:
    row = row_at(AT, timer(sql).id)
    sql.insert([row])
    sql.firings.settle([outcome_of(row.member)])
    sql.firings.settle([failed(row)])
    assert moments(sql) == []


def test_an_outcome_of_an_attempt_before_a_replay_keeps_none(sql: SqlWorld) -> None:
    made = timer(sql)
    fail(sql, made.id, AT)
    (letter,) = sql.dead_letters.page(SHOP, 9)
    (again,) = replayed(sql, letter)
    sql.firings.settle([failed(again, failed_at=AT + 91_500)])
    assert sql.dead_letters.discard(sql.dead_letters.page(SHOP, 9), AT + 95_000) == 1
    sql.firings.settle([failed(row_at(AT, made.id))])
    assert moments(sql) == []


def test_of_a_batch_with_retries_those_that_failed_are_kept(sql: SqlWorld) -> None:
    made = timer(sql)
    rows = [row_at(AT + index, made.id) for index in range(4)]
    sql.insert(rows)
    retried = outcome_of(rows[1].member, PENDING, AT + 60_000)
    sql.firings.settle([failed(rows[0]), retried, failed(rows[2]), outcome_of(rows[3].member)])
    assert moments(sql) == [AT + 2, AT]


def replayed(sql: SqlWorld, one: DeadLetter, *, is_purged: bool = False) -> list[Firing]:
    was = Firing(one.timer_id, one.fire_at, 0, one.kind, FAILED, one.fire_at, one.attempt)
    if not is_purged:
        was = sql.firings.rows([was.member])[one.key]
    return sql.demands.replay("shop", [Replay(was, AT + 90_000, AT + 80_000, is_purged=is_purged)])


def test_it_is_gone_once_its_firing_is_replayed_and_comes_back_if_that_fails(sql: SqlWorld) -> None:
    made = timer(sql)
    fail(sql, made.id, AT, AT + 1)
    oldest = sql.dead_letters.oldest(SHOP, 1)[0]
    (again,) = replayed(sql, oldest)
    assert moments(sql) == [AT + 1]
    sql.firings.settle([failed(again, failed_at=AT + 91_500, reason=TIMED_OUT)])
    anew = sql.dead_letters.page(SHOP, 1)[0]
    assert (anew.fire_at, anew.failed_at, anew.reason, anew.attempt) == (AT, AT + 91_500, TIMED_OUT, 101)


def test_a_firing_whose_row_is_purged_is_replayed_all_the_same(sql: SqlWorld) -> None:
    made = timer(sql)
    fail(sql, made.id, AT)
    assert sql.firings.purge(AT + 1, 9).rows == 1
    (letter,) = sql.dead_letters.page(SHOP, 9)
    first = replayed(sql, letter, is_purged=True)
    assert replayed(sql, letter, is_purged=True) == first, "a repeat whose answer was lost"
    (row,) = sql.firings.rows([first[0].member]).values()
    assert (row.status, row.attempt, row.kind) == (PENDING, 101, FiringKind.MANUAL)
    assert moments(sql) == []


def test_each_condition_narrows(sql: SqlWorld) -> None:
    a, b = timer(sql, "a"), timer(sql, "b")
    fail(sql, a.id, AT)
    fail(sql, b.id, AT + 10, reason=TIMED_OUT, host="other.test:80")
    fail(sql, timer(sql, "a", "other").id, AT + 20)
    for wanted, found in (
        ({}, [AT + 10, AT]),
        ({"timer_id": a.id}, [AT]),
        ({"reason": TIMED_OUT}, [AT + 10]),
        ({"host": HOST}, [AT]),
        ({"target": "orders"}, []),
        ({"first": AT + 1_510}, [AT + 10]),
        ({"last": AT + 1_509}, [AT]),
        ({"first": AT + 1_501, "last": AT + 1_509}, []),
    ):
        assert moments(sql, replace(SHOP, **wanted)) == found, wanted
    assert moments(sql, DeadLetterFilter("nobody")) == []


def test_one_of_a_named_target_has_each_text_in_its_place(sql: SqlWorld, database: Database) -> None:
    call = Notify("http://shop.test/expire")
    TargetStore(database, NO_KEYS).change(
        "shop", "orders", lambda _was: NamedTarget("shop", "orders", 0, call), AT
    )
    through = Notify("/expire", "", target="orders")
    one = sql.timers.create(NewTimer("shop", "named", Once(AT), through), AT - DAY_MS)
    fail(sql, one.id, AT, error="HTTP 503: away")
    (letter,) = sql.dead_letters.page(SHOP, 9)
    assert (letter.app, letter.name, letter.reason) == ("shop", "named", "http_503")
    assert (letter.host, letter.target, letter.error) == (HOST, "orders", "HTTP 503: away")


def test_pages_go_on_behind_the_last_one_latest_first(sql: SqlWorld) -> None:
    a, b = timer(sql, "a"), timer(sql, "b")
    for moment in range(AT, AT + 9 * DAY_MS, DAY_MS):
        fail(sql, a.id, moment)
        fail(sql, b.id, moment)
    seen: list[DeadLetter] = []
    while page := sql.dead_letters.page(
        SHOP, 4, (seen[-1].failed_at, seen[-1].timer_id, seen[-1].fire_at) if seen else None
    ):
        seen += page
    keys = [(one.failed_at, one.timer_id) for one in seen]
    assert keys == sorted(set(keys), reverse=True)
    assert len(keys) == 18
    oldest = sql.dead_letters.oldest(SHOP, 5)
    assert [(one.failed_at, one.timer_id) for one in oldest] == keys[::-1][:5]


def test_they_are_counted_by_reason_and_by_what_was_called(sql: SqlWorld) -> None:
    made = timer(sql)
    fail(sql, made.id, AT, AT + 1, AT + 3 * DAY_MS)
    fail(sql, made.id, AT + 2, reason=TIMED_OUT)
    assert sql.dead_letters.count(SHOP) == DeadLetterCounts(
        4, {"http_503": 3, TIMED_OUT: 1}, {CalledTarget(None, HOST): 4}
    )
    assert sql.dead_letters.count(DeadLetterFilter("other")) == DeadLetterCounts(0, {}, {})


def test_a_count_names_the_most_frequent(sql: SqlWorld) -> None:
    made = timer(sql)
    for index in range(MOST_COUNTED + 5):
        fail(sql, made.id, AT + index, host=f"h{index}.test:80")
    fail(sql, made.id, AT - 5, host=f"h{MOST_COUNTED + 4}.test:80")
    counts = sql.dead_letters.count(SHOP)
    assert counts.total == MOST_COUNTED + 6
    assert len(counts.by_target) == MOST_COUNTED
    assert next(iter(counts.by_target.items())) == (CalledTarget(None, f"h{MOST_COUNTED + 4}.test:80"), 2)


def test_a_search_that_takes_too_long_is_refused(sql: SqlWorld, database: Database) -> None:
    fail(sql, timer(sql).id, AT, AT + 900 * DAY_MS)

    class Slow(HandClock):
        def monotonic(self) -> float:
            self.sleep(LONGEST_S / 3)
            return super().monotonic()

    with pytest.raises(InvalidInput):
        DeadLetterStore(database, Slow()).page(replace(SHOP, reason="none"), 9)


def test_what_is_discarded_is_gone_and_on_record_and_the_firing_stays(sql: SqlWorld) -> None:
    made = timer(sql)
    fail(sql, made.id, AT, AT + 1)
    first, second = sql.dead_letters.oldest(SHOP, 9)
    with calling(Caller("k", "key", "shop", ALL_SCOPES, "127.0.0.1")):
        assert sql.dead_letters.discard([first], AT + 60_000) == 1
        assert sql.dead_letters.discard([first], AT + 60_000) == 0
    assert moments(sql) == [second.fire_at]
    (entry,) = sql.audit.page(AuditFilter(app="shop"), 9)
    assert (entry.action, entry.kind, entry.fire_at) == ("discard", "firing", AT)
    assert len(sql.firings.records(made.id, 9)) == 2


def test_what_failed_anew_since_it_was_read_is_not_discarded(sql: SqlWorld) -> None:
    made = timer(sql)
    fail(sql, made.id, AT)
    (read,) = sql.dead_letters.page(SHOP, 9)
    (again,) = replayed(sql, read)
    sql.firings.settle([failed(again, failed_at=AT + 91_500)])
    assert sql.dead_letters.discard([read], AT + 95_000) == 0
    assert moments(sql) == [AT]


def test_they_go_after_their_apps_days_each_app_by_itself(sql: SqlWorld, database: Database) -> None:
    for app, days in (("brief", 1), ("shop", None), ("long", 90)):
        row = {"name": app, "created_at": AT, "updated_at": AT, "dead_letter_days": days}
        database.write(lambda at, row=row: at.execute(insert(apps).values(row)))
        fail(sql, timer(sql, "a", app).id, *(AT + index for index in range(5)))

    def left(days: int) -> dict[str, int]:
        now = AT + 1_500 + days * DAY_MS + 5
        while sql.dead_letters.purge(now, 30 * DAY_MS, 2):
            pass
        return {app: len(moments(sql, DeadLetterFilter(app))) for app in ("brief", "shop", "long")}

    assert left(0) == {"brief": 5, "shop": 5, "long": 5}
    assert left(1) == {"brief": 0, "shop": 5, "long": 5}
    assert left(30) == {"brief": 0, "shop": 0, "long": 5}
    assert left(90) == {"brief": 0, "shop": 0, "long": 0}


def test_a_page_of_a_purge_is_no_more_than_asked_for(sql: SqlWorld) -> None:
    fail(sql, timer(sql).id, *(AT + index for index in range(5)))
    now = AT + 40 * DAY_MS
    assert [sql.dead_letters.purge(now, DAY_MS, 2) for _ in range(4)] == [2, 2, 1, 0]


def test_those_of_named_firings_are_found_in_their_app_alone(sql: SqlWorld) -> None:
    mine, theirs = timer(sql), timer(sql, "a", "other")
    fail(sql, mine.id, AT)
    fail(sql, theirs.id, AT)
    found = sql.dead_letters.of("shop", [(mine.id, AT), (theirs.id, AT), (mine.id, AT + 1)])
    assert found.keys() == {(mine.id, AT)}


def test_one_of_a_timer_whose_row_is_gone_is_not_kept(sql: SqlWorld, database: Database) -> None:
    fail(sql, 7, AT)
    assert moments(sql) == []
    assert database.read(lambda at: at.execute(delete(firings)).rowcount) == 1
