"""Firings asked for, in SQL: one now, one once more, one not at all, those of a range that is past."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.store.definitions import EVERY_MINUTE, NOTIFY, ONCE
from tests.store.members import outcome_of, row_at
from tests.store.plain_stores import plain_batches
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.errors import Conflict, UnknownTimer
from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member
from wangtimer.core.flow.planning import plan
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.schedules.schedule import Bounded, Schedule
from wangtimer.core.timers.schedule_edits import without
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.demands import Replay
from wangtimer.store.sql.firing_lists import FiringFilter
from wangtimer.store.sql.firings import FiringRecord

NOW = 1_799_999_990_000  # 50 s into a minute
FIRST = 1_800_000_000_000
SECOND = FIRST + MINUTE_MS
SOON_MS = 1_500
PENDING, SUCCEEDED, FAILED, SKIPPED = (
    FiringStatus.PENDING,
    FiringStatus.SUCCEEDED,
    FiringStatus.FAILED,
    FiringStatus.SKIPPED,
)


@pytest.fixture
def forgetful(database: Database, monkeypatch: pytest.MonkeyPatch) -> SqlWorld:
    """Stores that apply each write, lose the answer and so repeat it."""
    write = database.write

    def write_twice(*arguments: Any, **options: Any) -> Any:
        write(*arguments, **options)
        return write(*arguments, **options)

    monkeypatch.setattr(database, "write", write_twice)
    return real_sql(database)


def made(sql: SqlWorld, schedule: Schedule = EVERY_MINUTE, app: str = "shop") -> Timer:
    return sql.timers.create(NewTimer(app, "bill", schedule, NOTIFY), NOW)


def records(sql: SqlWorld, timer_id: int = 1) -> dict[int, FiringRecord]:
    return {one.firing.fire_at: one for one in sql.firings.records(timer_id, 99)}


def settled(sql: SqlWorld, row: Firing, status: FiringStatus, **fields: Any) -> Firing:
    """Insert a firing with its outcome; return it as it then stands."""
    sql.insert([row])
    sql.firings.settle([outcome_of(row.member, status, **fields)])
    return records(sql, row.timer_id)[row.fire_at].firing


def cancel(sql: SqlWorld, timer: Timer, moment: int) -> tuple[Timer, FiringRecord]:
    return sql.demands.cancel("shop", timer.id, moment, NOW, lambda read: without(read, moment, NOW, SOON_MS))


# now


def test_a_firing_asked_for_waits_at_the_present_moment(sql: SqlWorld) -> None:
    timer = made(sql)
    read, firing = sql.demands.fire_now("shop", timer.id, NOW, 3)
    assert read == timer
    assert firing == Firing(timer.id, NOW, 3, FiringKind.MANUAL, PENDING, NOW, 1, NOW)
    assert sql.firings.pending_between(NOW, NOW, 9) == [firing]


def test_moments_that_are_taken_or_the_schedules_own_are_left_alone(sql: SqlWorld) -> None:
    timer = made(sql)
    sql.insert([row_at(FIRST + 1, timer.id), row_at(FIRST + 3, timer.id)])
    asked = [sql.demands.fire_now("shop", timer.id, FIRST, 0)[1].fire_at - FIRST for _ in range(2)]
    assert asked == [2, 4]


def test_only_an_apps_own_living_timer_is_fired(sql: SqlWorld) -> None:
    timer = made(sql)
    with pytest.raises(UnknownTimer):
        sql.demands.fire_now("bank", timer.id, NOW, 0)
    sql.timers.delete("shop", timer.id, NOW)
    with pytest.raises(UnknownTimer):
        sql.demands.fire_now("shop", timer.id, NOW, 0)
    assert records(sql, timer.id) == {}


def test_a_timer_fired_without_end_is_refused(sql: SqlWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.store.sql.demands.TRIED_MS", 2)
    timer = made(sql)
    for _ in range(2):
        sql.demands.fire_now("shop", timer.id, NOW, 0)
    with pytest.raises(Conflict):
        sql.demands.fire_now("shop", timer.id, NOW, 0)


def test_a_firing_asked_for_whose_answer_was_lost_is_made_once(forgetful: SqlWorld) -> None:
    timer = made(forgetful)
    _, firing = forgetful.demands.fire_now("shop", timer.id, NOW, 0)
    _, other = forgetful.demands.fire_now("shop", timer.id, NOW, 0)
    assert [one.firing for one in records(forgetful, timer.id).values()] == [other, firing]


def test_asked_by_many_at_once_each_is_made(database: Database) -> None:
    sql = real_sql(database)
    timer = made(sql)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(sql.demands.fire_now, "shop", timer.id, NOW, 0) for _ in range(24)]
        moments = [one.result()[1].fire_at for one in asked]
    assert sorted(moments) == sorted(records(sql, timer.id)) == list(range(NOW, NOW + 24))


def test_when_it_was_asked_for_stays_through_its_attempts(sql: SqlWorld) -> None:
    _, firing = sql.demands.fire_now("shop", made(sql).id, NOW, 3)
    sql.firings.settle([outcome_of(firing.member, PENDING, SECOND, first_sent_at=NOW)])
    (row,) = sql.firings.rows([firing.member]).values()
    assert (row.attempt, row.kind, row.asked_at) == (2, FiringKind.MANUAL, NOW)


def test_disabling_is_kept_with_its_moment_alone_and_together(database: Database) -> None:
    """Only where it was enabled: disabling twice, and editing, change nothing of it."""
    sql, batches = real_sql(database), plain_batches(database)
    timer = made(sql)
    assert timer.definition.disabled_at == 0
    sql.timers.enable("shop", timer.id, NOW, lambda read: (plan(read, NOW, 1), []))
    assert sql.timers.disable("shop", timer.id, NOW + 1).definition.disabled_at == NOW + 1
    sql.timers.disable("shop", timer.id, NOW + 2)
    assert sql.timers.get("shop", timer.id).definition.disabled_at == NOW + 1
    sql.timers.enable("shop", timer.id, NOW + 3, lambda read: (plan(read, NOW + 3, 1), []))
    (together,) = batches.disable([timer.id], NOW + 4)
    assert together == sql.timers.get("shop", timer.id)
    assert sql.timers.definitions({timer.id})[timer.id].disabled_at == NOW + 4


def test_deleting_is_the_last_disabling_of_what_was_enabled_alone_and_together(database: Database) -> None:
    sql, batches = real_sql(database), plain_batches(database)
    on, off, on_too, off_too = (
        sql.timers.create(NewTimer("shop", name, EVERY_MINUTE, NOTIFY), NOW) for name in "abcd"
    )
    for timer in (on, on_too):
        sql.timers.enable("shop", timer.id, NOW, lambda read: (plan(read, NOW, 1), []))
    assert sql.timers.delete("shop", on.id, NOW + 1).definition.disabled_at == NOW + 1
    assert sql.timers.delete("shop", off.id, NOW + 1).definition.disabled_at == 0
    gone = batches.delete([on_too.id, off_too.id], NOW + 2)
    assert {one.id: one.definition.disabled_at for one in gone} == {on_too.id: NOW + 2, off_too.id: 0}
    stored = sql.timers.definitions({timer.id for timer in (on, off, on_too, off_too)})
    assert {timer_id: one.disabled_at for timer_id, one in stored.items()} == {
        on.id: NOW + 1,
        off.id: 0,
        on_too.id: NOW + 2,
        off_too.id: 0,
    }


# once more


def test_a_replayed_firing_waits_for_the_next_attempt_and_keeps_what_was_sent(sql: SqlWorld) -> None:
    row = settled(
        sql, row_at(FIRST, bucket=2), FAILED, first_sent_at=FIRST + 3, lateness_ms=3, error="HTTP 500"
    )
    (firing,) = sql.demands.replay("shop", [Replay(row, SECOND, NOW)])
    assert firing == Firing(1, FIRST, 2, FiringKind.MANUAL, PENDING, SECOND, 101, NOW)
    record = records(sql)[FIRST]
    assert record.firing == firing
    assert (record.first_sent_at, record.lateness_ms, record.error) == (FIRST + 3, 3, "HTTP 500")
    sql.firings.settle([outcome_of(firing.member, first_sent_at=SECOND, lateness_ms=SECOND - FIRST)])
    assert records(sql)[FIRST].firing.status is SUCCEEDED
    assert records(sql)[FIRST].first_sent_at == FIRST + 3


def test_a_replayed_firing_that_was_skipped_has_no_error_any_more(sql: SqlWorld) -> None:
    row = settled(sql, row_at(FIRST), SKIPPED, error="disabled")
    sql.demands.replay("shop", [Replay(row, SECOND, NOW)])
    assert records(sql)[FIRST].error == ""


def test_a_late_outcome_of_the_attempt_before_changes_nothing(sql: SqlWorld) -> None:
    row = settled(sql, row_at(FIRST), FAILED)
    (firing,) = sql.demands.replay("shop", [Replay(row, SECOND, NOW)])
    sql.firings.settle([outcome_of(row.member, FAILED, error="late")])
    assert records(sql)[FIRST].firing == firing


def test_a_backfilled_firing_stays_one(sql: SqlWorld) -> None:
    asked = row_at(FIRST)._replace(kind=FiringKind.BACKFILL)
    (firing,) = sql.demands.replay("shop", [Replay(settled(sql, asked, FAILED), SECOND, NOW)])
    assert firing.kind is FiringKind.BACKFILL


def test_what_no_longer_stands_as_it_was_read_is_left_out(sql: SqlWorld) -> None:
    rows = [settled(sql, row_at(FIRST, timer_id), FAILED) for timer_id in (1, 2)]
    sql.demands.replay("shop", [Replay(rows[0], SECOND, NOW)])
    unknown = rows[0]._replace(timer_id=3)
    again = [Replay(row, SECOND + 1, NOW) for row in (*rows, unknown)]
    assert [firing.timer_id for firing in sql.demands.replay("shop", again)] == [2]
    assert records(sql)[FIRST].firing.due_at == SECOND
    assert sql.demands.replay("shop", []) == []
    assert records(sql, 3) == {}


def test_a_replay_whose_answer_was_lost_is_one(forgetful: SqlWorld) -> None:
    rows = [settled(forgetful, row_at(FIRST + number, 1), FAILED) for number in range(3)]
    replays = [Replay(row, SECOND, NOW) for row in rows]
    assert forgetful.demands.replay("shop", replays) == [one.firing for one in replays]
    assert {one.firing.attempt for one in records(forgetful).values()} == {101}


def test_what_can_be_replayed_is_listed_earliest_first(sql: SqlWorld) -> None:
    mine, others, gone = made(sql), made(sql, app="bank"), None
    gone = sql.timers.create(NewTimer("shop", "gone", EVERY_MINUTE, NOTIFY), NOW)
    for timer in (mine, others, gone):
        settled(sql, row_at(SECOND, timer.id), FAILED)
        settled(sql, row_at(FIRST, timer.id), FAILED)
        settled(sql, row_at(FIRST + 1, timer.id), SUCCEEDED)
    sql.timers.delete("shop", gone.id, NOW)
    wanted = FiringFilter("shop", None, (FAILED,), FIRST, SECOND, is_living=True)
    found, matched = sql.lists.oldest(wanted, 9)
    assert ([one.member.key for one in found], matched) == ([(mine.id, FIRST), (mine.id, SECOND)], 2)
    found, matched = sql.lists.oldest(wanted, 1)
    assert ([one.member.key for one in found], matched) == ([(mine.id, FIRST)], 2)
    assert sql.lists.count(wanted) == 2
    assert sql.lists.count(replace(wanted, last=FIRST)) == 1
    assert sql.lists.count(replace(wanted, is_living=False)) == 4
    assert sql.lists.living("shop", [mine.id, others.id, gone.id, 99]) == {mine.id}
    assert sql.lists.living("shop", []) == set()


# not at all


def test_a_cancelled_firing_is_skipped_and_its_timer_leaves_it_out(sql: SqlWorld) -> None:
    timer = made(sql)
    sql.insert([row_at(FIRST, timer.id, 4)])
    changed, record = cancel(sql, timer, FIRST)
    assert (record.firing.status, record.error, record.is_cancelled) == (SKIPPED, "cancelled", True)
    assert (record.firing.bucket, record.firing.attempt) == (4, 0)
    assert records(sql, timer.id) == {FIRST: record}
    assert sql.timers.get("shop", timer.id) == changed
    assert changed.definition.version == timer.definition.version + 1
    assert changed.definition.schedule == Bounded(EVERY_MINUTE, cancelled=frozenset({FIRST}))
    assert changed.next_fire_at == SECOND
    assert sql.timers.changed_behind((NOW - 1, 0), 9)[-1][1:] == (timer.id, changed.definition.version)


def test_one_that_is_not_planned_yet_is_skipped_and_planning_leaves_it_so(sql: SqlWorld) -> None:
    timer = made(sql)
    _, record = cancel(sql, timer, SECOND)
    assert (record.firing.status, record.firing.kind) == (SKIPPED, FiringKind.SCHEDULED)
    assert sql.insert([row_at(SECOND, timer.id)]) == []
    assert records(sql, timer.id) == {SECOND: record}


def test_cancelled_twice_is_once(sql: SqlWorld) -> None:
    timer = made(sql)
    assert cancel(sql, timer, FIRST) == cancel(sql, timer, FIRST)


def test_a_cancellation_whose_answer_was_lost_is_one(forgetful: SqlWorld) -> None:
    timer = made(forgetful)
    changed, record = cancel(forgetful, timer, FIRST)
    assert record.is_cancelled
    assert changed.definition.version == timer.definition.version + 1


@pytest.mark.parametrize("status", [SUCCEEDED, FAILED, SKIPPED])
def test_one_with_an_outcome_is_refused_and_nothing_changes(sql: SqlWorld, status: FiringStatus) -> None:
    timer = made(sql)
    row = settled(sql, row_at(FIRST, timer.id), status)
    with pytest.raises(Conflict, match=status.value):
        cancel(sql, timer, FIRST)
    assert records(sql, timer.id)[FIRST].firing == row
    assert sql.timers.get("shop", timer.id) == timer


def test_one_that_waits_for_a_retry_is_refused(sql: SqlWorld) -> None:
    timer = made(sql)
    settled(sql, row_at(FIRST, timer.id), PENDING, moment=SECOND)
    with pytest.raises(Conflict, match="another attempt"):
        cancel(sql, timer, FIRST)


def test_what_refuses_to_be_left_out_is_not_skipped(sql: SqlWorld) -> None:
    timer = made(sql, ONCE)
    moment = ONCE.at_ms
    sql.insert([row_at(moment, timer.id)])
    with pytest.raises(Conflict):
        cancel(sql, timer, moment)
    assert records(sql, timer.id)[moment].firing.status is PENDING


SENT = {"first_sent_at": FIRST + 1, "lateness_ms": 1, "cost_ms": 5, "http_status": 200}


@pytest.mark.parametrize("status", [SUCCEEDED, FAILED, PENDING])
def test_one_that_was_sent_all_the_same_has_the_outcome_of_that(sql: SqlWorld, status: FiringStatus) -> None:
    timer = made(sql)
    cancel(sql, timer, FIRST)
    outcome = outcome_of(Member(timer.id, FIRST, 1), status, SECOND, error="", **SENT)
    for _ in range(2):
        sql.firings.settle([outcome])
        record = records(sql, timer.id)[FIRST]
        assert (record.firing.status, record.firing.attempt) == (status, outcome.next_attempt)
        assert (record.firing.due_at, record.first_sent_at, record.error) == (SECOND, FIRST + 1, "")


@pytest.mark.parametrize("status", [FAILED, SKIPPED, PENDING])
def test_one_that_was_not_sent_stays_cancelled(sql: SqlWorld, status: FiringStatus) -> None:
    timer = made(sql)
    _, record = cancel(sql, timer, FIRST)
    sql.firings.settle([outcome_of(Member(timer.id, FIRST, 1), status, SECOND, error="other")])
    assert records(sql, timer.id) == {FIRST: record}


def test_a_cancelled_firing_can_be_replayed(sql: SqlWorld) -> None:
    timer = made(sql)
    _, record = cancel(sql, timer, FIRST)
    (firing,) = sql.demands.replay("shop", [Replay(record.firing, FIRST, NOW)])
    assert firing == Firing(timer.id, FIRST, 0, FiringKind.MANUAL, PENDING, FIRST, 1, NOW)


# of a range


def arranged(timer: Timer, moments: list[int]) -> list[Firing]:
    return [
        Firing(timer.id, moment, 1, FiringKind.BACKFILL, due_at=SECOND + number)
        for number, moment in enumerate(moments)
    ]


def test_moments_without_a_row_get_one(sql: SqlWorld) -> None:
    timer = made(sql)
    old = settled(sql, row_at(FIRST, timer.id), SUCCEEDED)
    waiting = row_at(FIRST + 3, timer.id)
    sql.insert([waiting])
    firings, pending = sql.demands.backfill(
        "shop", timer.id, [FIRST, FIRST + 1, FIRST + 2, FIRST + 3], NOW, lambda left: arranged(timer, left)
    )
    assert firings == pending == arranged(timer, [FIRST + 1, FIRST + 2])
    held = {moment: record.firing for moment, record in records(sql, timer.id).items()}
    assert held == {one.fire_at: one for one in (old, *firings, waiting)}


def test_nothing_to_backfill_is_no_transaction(sql: SqlWorld) -> None:
    assert sql.demands.backfill("shop", 99, [], NOW, lambda left: []) == ([], [])


def test_a_backfill_whose_answer_was_lost_is_one(forgetful: SqlWorld) -> None:
    timer = made(forgetful)
    firings, pending = forgetful.demands.backfill(
        "shop", timer.id, [FIRST, SECOND], NOW, lambda left: arranged(timer, left)
    )
    assert firings == pending == arranged(timer, [FIRST, SECOND])
    assert len(records(forgetful, timer.id)) == 2


def test_a_backfill_of_another_apps_timer_is_refused(sql: SqlWorld) -> None:
    timer = made(sql)
    with pytest.raises(UnknownTimer):
        sql.demands.backfill("bank", timer.id, [FIRST], NOW, lambda left: arranged(timer, left))
