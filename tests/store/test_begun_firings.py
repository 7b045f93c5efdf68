"""Firings of timers whose firings are not to overlap, as SQL has them: who goes, who waits, who is over."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import delete, event, insert, select, text, update

from tests.store.definitions import EVERY_MINUTE, NOTIFY
from tests.store.worlds import real_sql
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.reply_control import CONTROL
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.timers.overlap import Course, Overlap, cancelled_by
from wangtimer.core.timers.timer import NewTimer
from wangtimer.store.sql.accepted_firings import AcceptedFirings, AckState
from wangtimer.store.sql.begun_firings import LOOK_AGAIN_MS, BegunFirings
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.demands import Replay
from wangtimer.store.sql.firings_to_cancel import MOST_AT_ONCE, FiringsToCancel
from wangtimer.store.sql.on_settled import FIRST_KEY, ReplyControlStore
from wangtimer.store.sql.tables import begun_firings, firings, timers

FIRST = 1_800_000_000_000
SECOND, THIRD = FIRST + MINUTE_MS, FIRST + 2 * MINUTE_MS
LATE = THIRD + MINUTE_MS
GO, WAIT, SKIP = Course.GO, Course.WAIT, Course.SKIP
PENDING, SUCCEEDED, SKIPPED, ACCEPTED = (
    FiringStatus.PENDING,
    FiringStatus.SUCCEEDED,
    FiringStatus.SKIPPED,
    FiringStatus.ACCEPTED,
)


class Held:
    """One timer with three firings that are due."""

    def __init__(self, database: Database, overlap: Overlap, name: str = "report") -> None:
        self.database, self.sql = database, real_sql(database)
        self.begun, self.accepted = BegunFirings(database), AcceptedFirings(database)
        self.to_cancel = FiringsToCancel(database)
        new = NewTimer("shop", name, EVERY_MINUTE, NOTIFY, overlap=overlap)
        self.id = self.sql.timers.create(new, FIRST - MINUTE_MS).id
        self.sql.insert([Firing.planned(self.id, at, 0) for at in (FIRST, SECOND, THIRD)])

    def member(self, fire_at: int, attempt: int = 1) -> Member:
        return Member(self.id, fire_at, attempt)

    def judge(self, fire_at: int, attempt: int = 1, now: int = LATE) -> Course | None:
        member = self.member(fire_at, attempt)
        return self.begun.judge([member], now)[member].course

    def cancel_rest(self, noted: Callable[[Outcome], Outcome] = lambda one: one) -> int:
        number, after = 0, (0, 0)
        while page := self.to_cancel.page(after):
            assert len(page) <= MOST_AT_ONCE
            number += self.to_cancel.cancel(page, noted)
            after = page[-1].key
        return number

    def settle(self, fire_at: int, status: FiringStatus, attempt: int = 1, **more: Any) -> None:
        due_at = more.pop("due_at", fire_at)
        self.sql.firings.settle([Outcome(self.member(fire_at, attempt), 0, status, due_at, **more)])

    def row(self, fire_at: int) -> Firing:
        return self.sql.firings.rows([self.member(fire_at)])[self.id, fire_at]

    @property
    def on_record(self) -> dict[int, int]:
        query = select(begun_firings.c.fire_at, begun_firings.c.is_waiting)
        return {
            one.fire_at: one.is_waiting for one in self.database.read(lambda sql: sql.execute(query).all())
        }


Make = Callable[[Overlap], Held]


@pytest.fixture
def make(database: Database) -> Make:
    return lambda overlap: Held(database, overlap)


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE_ONE, Overlap.CANCEL_OLDER])
def test_a_firing_whose_executor_died_goes_again(make: Make, overlap: Overlap) -> None:
    held = make(overlap)
    assert [held.judge(FIRST), held.judge(FIRST)] == [GO, GO]
    assert held.on_record == {FIRST: 0}


@pytest.mark.parametrize(
    ("overlap", "courses"),
    [
        (Overlap.ALLOW, [GO, GO, GO]),
        (Overlap.SKIP, [GO, SKIP, SKIP]),
        (Overlap.QUEUE_ONE, [GO, WAIT, SKIP]),
        (Overlap.CANCEL_OLDER, [None, None, GO]),
    ],
)
def test_those_judged_together_are_judged_in_the_order_of_their_moments(
    make: Make, overlap: Overlap, courses: list[Course | None]
) -> None:
    held = make(overlap)
    members = [held.member(at) for at in (THIRD, FIRST, SECOND)]
    judged = held.begun.judge(members, LATE)
    assert [judged[one].course for one in sorted(members)] == courses


def test_of_those_judged_together_the_cancelled_ones_are_over_and_not_on_record(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    held.begun.judge([held.member(at) for at in (FIRST, SECOND, THIRD)], LATE)
    assert [held.row(at).status for at in (FIRST, SECOND, THIRD)] == [SKIPPED, SKIPPED, PENDING]
    assert held.on_record == {THIRD: 0}


def test_one_that_waits_is_due_again_later_and_goes_when_nothing_is_ahead(make: Make) -> None:
    held = make(Overlap.QUEUE_ONE)
    held.judge(FIRST)
    assert held.judge(SECOND) is WAIT
    assert (held.row(SECOND).due_at, held.row(SECOND).attempt) == (LATE + LOOK_AGAIN_MS, 1)
    assert held.begun.end([(held.id, FIRST)], LATE) == []
    held.settle(FIRST, SUCCEEDED)
    (woken,) = held.begun.end([(held.id, FIRST)], LATE + 5)
    assert (woken.fire_at, woken.due_at, held.row(SECOND).due_at) == (SECOND, LATE + 5, LATE + 5)
    assert held.judge(THIRD) is WAIT  # the woken one is ahead of it
    assert held.judge(SECOND) is GO
    assert held.on_record == {SECOND: 0, THIRD: 1}


def test_a_firing_that_is_over_is_in_nobody_s_way_though_its_row_was_left(make: Make) -> None:
    held = make(Overlap.SKIP)
    held.judge(FIRST)
    held.settle(FIRST, SUCCEEDED)
    assert held.on_record == {FIRST: 0}
    assert held.judge(SECOND) is GO
    assert held.begun.end([(held.id, FIRST), (held.id, SECOND)], LATE) == []
    assert held.on_record == {SECOND: 0}


@pytest.mark.parametrize("status", [PENDING, ACCEPTED])
def test_one_that_waits_for_a_retry_or_a_word_is_not_over(make: Make, status: FiringStatus) -> None:
    held = make(Overlap.SKIP)
    held.judge(FIRST)
    held.settle(FIRST, status, due_at=LATE + 99, first_sent_at=FIRST)
    assert held.judge(SECOND) is SKIP


def test_an_older_one_that_is_cancelled_keeps_what_was_measured_and_ignores_what_comes(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    held.judge(FIRST)
    held.settle(FIRST, ACCEPTED, due_at=LATE + 99, first_sent_at=FIRST + 3, http_status=202, output="taken")
    assert held.judge(SECOND) is GO
    held.settle(FIRST, SUCCEEDED, first_sent_at=FIRST + 3, http_status=200)
    (record,) = held.sql.firings.records(held.id, 1, before=SECOND)
    assert (record.firing.status, record.http_status, record.output) == (SKIPPED, 202, "taken")
    assert record.error.startswith("overlap: cancelled, since the firing of 2027-01-15T08:01")
    assert held.accepted.acknowledge(held.member(FIRST), LATE)[0].name == "OVER"
    assert held.on_record == {SECOND: 0}
    assert held.judge(FIRST) is None


def test_what_the_answer_to_a_cancelled_one_makes_of_its_timer_is_not_kept(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    held.judge(FIRST)
    held.judge(SECOND)
    for at in (FIRST, SECOND):
        held.settle(at, SUCCEEDED, first_sent_at=at, http_status=200, notes=((CONTROL, "1 stop 0"),))
    assert ReplyControlStore(held.database).behind(FIRST_KEY, 9) == {(held.id, SECOND): "1 stop 0"}


def test_an_older_one_that_comes_late_does_not_cancel_a_newer_one(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    held.judge(SECOND)
    assert held.judge(FIRST) is SKIP
    assert held.row(SECOND).status is PENDING


def test_one_that_is_to_be_retried_is_cancelled_too(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    held.judge(FIRST)
    held.settle(FIRST, PENDING, due_at=LATE + 99, first_sent_at=FIRST, http_status=500)
    assert held.judge(SECOND) is GO
    assert held.judge(FIRST, attempt=2) is None
    assert held.row(FIRST).status is SKIPPED


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE_ONE, Overlap.CANCEL_OLDER])
def test_nothing_is_refused_and_nothing_written_before_its_moment(make: Make, overlap: Overlap) -> None:
    held = make(overlap)
    held.judge(FIRST)
    member = held.member(SECOND)
    assert held.begun.judge([member], SECOND - 1)[member].is_undecided
    assert held.on_record == {FIRST: 0}
    assert held.row(FIRST).status is PENDING


def test_one_asked_for_by_hand_goes_and_counts(make: Make) -> None:
    held = make(Overlap.SKIP)
    held.judge(FIRST)
    _, asked = held.sql.demands.fire_now("shop", held.id, LATE, 0)
    assert (asked.kind, held.judge(asked.fire_at)) == (FiringKind.MANUAL, GO)
    held.settle(FIRST, SUCCEEDED)
    assert held.judge(SECOND) is SKIP


def test_two_executors_that_judge_at_once_let_one_go(make: Make) -> None:
    held = make(Overlap.SKIP)
    for attempt in range(12):
        moments = [LATE + (2 * attempt + one) * MINUTE_MS for one in range(2)]
        held.sql.insert([Firing.planned(held.id, at, 0) for at in moments])
        both = Barrier(2)

        def judged(at: int, both: Barrier = both) -> Course | None:
            both.wait()
            return held.judge(at, now=LATE + 99 * MINUTE_MS)

        with ThreadPoolExecutor(2) as pool:
            courses = list(pool.map(judged, moments))
        assert sorted(one.name for one in courses if one) == ["GO", "SKIP"]
        (gone,) = held.on_record
        held.settle(gone, SUCCEEDED)
        held.begun.end([(held.id, gone)], LATE)


def test_settling_and_judging_at_once_wait_for_each_other_and_lose_no_one_that_waits(make: Make) -> None:
    """Whichever comes first, the second is woken, or finds nothing ahead."""
    held = make(Overlap.QUEUE_ONE)
    before = FIRST
    held.judge(before)
    for number in range(12):
        at = LATE + number * MINUTE_MS
        held.sql.insert([Firing.planned(held.id, at, 0)])
        both = Barrier(2)

        def end(done: int = before, both: Barrier = both) -> list[Firing]:
            both.wait()
            held.settle(done, SUCCEEDED)
            return held.begun.end([(held.id, done)], LATE + 99 * MINUTE_MS)

        def judge(at: int = at, both: Barrier = both) -> Course | None:
            both.wait()
            return held.judge(at, now=LATE + 99 * MINUTE_MS)

        with ThreadPoolExecutor(2) as pool:
            woken, course = pool.submit(end), pool.submit(judge)
        assert course.result() is GO or [one.fire_at for one in woken.result()] == [at]
        assert held.judge(at, now=LATE + 99 * MINUTE_MS) is GO
        before = at


def test_each_write_may_be_repeated(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    write = database.write

    def write_twice(*arguments: Any, **named: Any) -> Any:
        write(*arguments, **named)
        return write(*arguments, **named)

    monkeypatch.setattr(database, "write", write_twice)
    held = Held(database, Overlap.QUEUE_ONE)
    assert [held.judge(at) for at in (FIRST, SECOND, THIRD)] == [GO, WAIT, SKIP]
    held.settle(FIRST, SUCCEEDED)
    assert [one.fire_at for one in held.begun.end([(held.id, FIRST)], LATE)] == [SECOND]
    assert held.on_record == {SECOND: 1}


MANY = 1_000


def _with_many(held: Held) -> list[int]:
    """Put firings on record that somebody asked for and that have begun; return their moments, all before FIRST."""
    moments = [FIRST - (1 + number) * MINUTE_MS for number in range(MANY)]
    held.sql.insert([Firing.planned(held.id, at, 0)._replace(kind=FiringKind.BACKFILL) for at in moments])
    rows = [{"timer_id": held.id, "fire_at": at, "is_waiting": 0} for at in moments]
    held.database.write(lambda sql: sql.execute(insert(begun_firings), rows))
    return moments


@pytest.mark.parametrize(("overlap", "course"), [(Overlap.SKIP, SKIP), (Overlap.QUEUE_ONE, WAIT)])
def test_what_is_judged_and_ends_reads_few_rows_however_many_are_on_record(
    database: Database, overlap: Overlap, course: Course
) -> None:
    alone = Database(database.engine.url.render_as_string(hide_password=False), pool_size=1)
    held = Held(alone, overlap)
    moments = _with_many(held)
    statements: list[str] = []
    for engine in alone.engines:
        event.listen(engine, "before_cursor_execute", lambda *passed: statements.append(passed[2]))
    before = rows_read(alone)
    statements.clear()
    assert held.judge(FIRST) is course
    assert len(statements) <= 9
    assert rows_read(alone) - before < 40
    held.settle(moments[0], SUCCEEDED)
    before = rows_read(alone)
    statements.clear()
    assert held.begun.end([(held.id, moments[0])], LATE) == []
    assert len(statements) <= 7
    assert rows_read(alone) - before < 40
    alone.close()


def rows_read(database: Database) -> int:
    """Return how many rows the one connection has read so far; always 0 on SQLite, which does not tell."""
    if database.is_sqlite:
        return 0
    counts = text("SHOW SESSION STATUS LIKE 'Handler_read%'")
    return sum(int(number) for _, number in database.read(lambda sql: sql.execute(counts).all()))


def _with_many_accepted(held: Held) -> list[int]:
    moments = _with_many(held)
    accepting = (
        update(firings).where(firings.c.fire_at < FIRST).values(status=ACCEPTED.value, first_sent_at=7)
    )
    held.database.write(lambda sql: sql.execute(accepting.values(sent_at=7, http_status=202, due_at=LATE)))
    return moments


@pytest.mark.parametrize("fill", [_with_many, _with_many_accepted])
def test_of_many_older_ones_the_last_are_cancelled_at_once_and_the_rest_a_few_at_a_time(
    make: Make, fill: Callable[[Held], list[int]]
) -> None:
    held = make(Overlap.CANCEL_OLDER)
    moments = fill(held)
    statements: list[str] = []
    for engine in held.database.engines:
        event.listen(engine, "before_cursor_execute", lambda *passed: statements.append(passed[2]))
    assert held.judge(FIRST) is GO
    assert len(statements) <= 20
    assert held.on_record == {FIRST: 0}
    assert {held.row(at).status for at in moments[:3]} == {SKIPPED}
    assert held.row(moments[-1]).status in (PENDING, ACCEPTED)
    assert held.cancel_rest() == MANY - MOST_AT_ONCE
    assert {record.firing.status for record in held.sql.firings.records(held.id, MANY, before=FIRST)} == {
        SKIPPED
    }
    assert held.to_cancel.page((0, 0)) == []


def test_more_older_ones_than_one_transaction_may_move_hold_up_no_firing_of_another_timer(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their timer's newest firing waits until they are noted, a part each time that it is judged."""
    most = MANY // 4
    monkeypatch.setattr("wangtimer.store.sql.firings_to_cancel.MOST_NOTED", most)
    held = make(Overlap.CANCEL_OLDER)
    other = Held(held.database, Overlap.CANCEL_OLDER, "other")
    moments = _with_many(held)
    member, beside = held.member(FIRST), other.member(FIRST)
    judged = held.begun.judge([member, beside], FIRST)
    assert (judged[member].course, judged[beside].course) == (WAIT, GO)
    # What waited for another firing was not missed, however late it is by then.
    assert (held.row(FIRST).has_queued, held.row(FIRST).due_at) == (True, FIRST + 1)
    assert len(held.on_record) == MANY - most + 1
    assert [held.judge(FIRST) for _ in range(3)] == [WAIT, WAIT, GO]
    assert held.row(FIRST).due_at == LATE
    assert held.on_record == {FIRST: 0}
    assert held.cancel_rest() == MANY - most
    records = held.sql.firings.records(held.id, MANY, before=FIRST)
    assert {(one.firing.status, one.error) for one in records} == {(SKIPPED, cancelled_by(FIRST))}
    assert len(records) == len(moments)


def test_what_newer_ones_that_wait_cancel_is_judged_with_them_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.store.sql.firings_to_cancel.MOST_NOTED", MANY // 4)
    held = make(Overlap.CANCEL_OLDER)
    _with_many(held)
    members = [held.member(at) for at in (FIRST, SECOND)]
    judged = held.begun.judge(members, LATE)
    assert [(judged[one].course, judged[one].is_undecided) for one in members] == [
        (None, True),
        (WAIT, False),
    ]
    assert held.row(FIRST).status is PENDING
    for _ in range(3):
        judged = held.begun.judge(members, LATE)
    assert [judged[one].course for one in members] == [None, GO]
    assert (held.row(FIRST).status, held.row(SECOND).status) == (SKIPPED, PENDING)


def test_older_ones_of_several_timers_are_few_enough_for_one_transaction_together(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.store.sql.firings_to_cancel.MOST_NOTED", MANY + 1)
    held = make(Overlap.CANCEL_OLDER)
    ones = [held, *(Held(held.database, Overlap.CANCEL_OLDER, f"other-{number}") for number in range(2))]
    for one in ones:
        _with_many(one)
    courses = []
    for _ in range(3):
        judged = held.begun.judge([one.member(FIRST) for one in ones], LATE)
        courses.append([judged[one.member(FIRST)].course for one in ones])
    assert sorted(map(str, courses[0])) == sorted(map(str, (GO, WAIT, WAIT)))
    assert courses[-1] == [GO] * 3


def test_each_of_many_older_ones_is_noted_and_names_the_newer_one(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    moments = _with_many_accepted(held)
    seen: list[Outcome] = []

    def noted(outcome: Outcome) -> Outcome:
        seen.append(outcome)
        return outcome

    held.begun.judge([held.member(FIRST)], LATE, noted)
    held.cancel_rest(noted)
    assert sorted(one.member.fire_at for one in seen) == sorted(moments)
    assert {(one.status, one.error, one.http_status) for one in seen} == {(SKIPPED, cancelled_by(FIRST), 202)}


def test_one_that_is_still_to_be_cancelled_is_not_called_again(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    oldest = _with_many(held)[-1]
    held.settle(oldest, PENDING, due_at=LATE, first_sent_at=oldest, http_status=500)
    held.judge(FIRST)
    assert held.judge(oldest, attempt=2) is None
    assert held.row(oldest).status is SKIPPED
    assert oldest not in {one.key[1] for one in held.to_cancel.page((0, 0))}


def test_the_token_of_one_that_is_still_to_be_cancelled_is_dead(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    member = held.member(_with_many_accepted(held)[-1])
    held.judge(FIRST)
    assert held.accepted.acknowledge(member, LATE)[0] is AckState.OVER
    assert held.accepted.prolong(member, LATE + 9) is AckState.OVER
    assert held.accepted.find(member) == (AckState.OVER, None)


def test_one_that_is_still_to_be_cancelled_does_not_fail_for_its_time_being_over(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    _with_many_accepted(held)
    held.judge(FIRST)
    left = {one.key for one in held.to_cancel.page((0, 0))}
    assert left
    overdue = held.accepted.overdue(LATE + MINUTE_MS, 10_000)
    assert not left & {one.member.key for one in overdue.firings}
    # However many they are, a page of them is read, and those behind it have their turn.
    assert held.accepted.overdue(LATE + MINUTE_MS, 10).next_key is not None


def test_one_that_had_its_outcome_before_it_could_be_cancelled_keeps_it(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    oldest = _with_many(held)[-1]
    held.judge(FIRST)
    held.settle(oldest, SUCCEEDED, first_sent_at=oldest, http_status=200)
    held.cancel_rest()
    assert held.row(oldest).status is SUCCEEDED


def test_one_that_is_replayed_before_it_could_be_cancelled_is_made(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    oldest = _with_many(held)[-1]
    held.judge(FIRST)
    page = held.to_cancel.page((0, 0))
    held.settle(oldest, FiringStatus.FAILED, first_sent_at=oldest, http_status=500)
    held.sql.demands.replay("shop", [Replay(held.row(oldest), LATE, 0)])
    assert held.row(oldest).status is PENDING
    held.to_cancel.cancel(page, lambda one: one)
    assert held.row(oldest).status is PENDING
    assert held.judge(oldest, attempt=held.row(oldest).attempt) is GO


def test_an_older_one_that_somebody_else_holds_does_not_hold_up_the_newer_one(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    if held.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    held.judge(FIRST)
    with held.database.engine.connect() as sql, sql.begin():
        sql.execute(select(firings).where(firings.c.fire_at == FIRST).with_for_update())
        began_at = time.monotonic()
        assert held.judge(SECOND) is GO
        assert held.cancel_rest() == 0
        assert time.monotonic() - began_at < 2
    assert held.row(FIRST).status is PENDING
    assert held.cancel_rest() == 1
    assert held.row(FIRST).status is SKIPPED


def test_a_timer_that_somebody_else_holds_holds_up_no_other(make: Make) -> None:
    held = make(Overlap.QUEUE_ONE)
    other = Held(held.database, Overlap.QUEUE_ONE, "another")
    if held.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    held.judge(FIRST)
    members = [held.member(SECOND), other.member(FIRST)]
    locking = select(timers.c.id).where(timers.c.id == held.id).with_for_update()
    with held.database.engine.connect() as sql, sql.begin():
        sql.execute(locking)
        began_at = time.monotonic()
        judged = held.begun.judge(members, LATE)
        assert held.begun.end([(held.id, FIRST), (other.id, FIRST)], LATE) == []
        assert time.monotonic() - began_at < 3
    assert {one: found.course for one, found in judged.items()} == {members[1]: GO}
    assert held.judge(SECOND) is WAIT


def test_what_is_on_record_is_read_page_by_page(make: Make) -> None:
    held = make(Overlap.QUEUE_ONE)
    held.judge(FIRST)
    held.judge(SECOND)
    assert held.begun.page((0, 0), 1) == [(held.id, FIRST)]
    assert held.begun.page((held.id, FIRST), 9) == [(held.id, SECOND)]


def test_the_outcomes_of_cancelled_firings_are_noted(make: Make) -> None:
    held = make(Overlap.CANCEL_OLDER)
    held.judge(FIRST)
    seen: list[Outcome] = []

    def noted(outcome: Outcome) -> Outcome:
        seen.append(outcome)
        return outcome

    held.begun.judge([held.member(SECOND)], LATE, noted)
    assert [(one.member, one.status) for one in seen] == [(held.member(FIRST), SKIPPED)]


def stumble(monkeypatch: pytest.MonkeyPatch, database: Database, good: int) -> None:
    """Let the database take so many writes, and no more."""
    write, taken = database.write, iter(range(good))

    def stumbling(*arguments: Any, **named: Any) -> Any:
        if next(taken, None) is None:
            raise StoreAway("SQL", "it stumbled")
        return write(*arguments, **named)

    monkeypatch.setattr(database, "write", stumbling)


def test_what_was_judged_or_woken_stands_though_sql_stumbles_over_what_others_hold(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = make(Overlap.QUEUE_ONE)
    other = Held(held.database, Overlap.QUEUE_ONE, "another")
    if held.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    for one in (held, other):
        one.judge(FIRST)
        one.judge(SECOND)
        one.settle(FIRST, SUCCEEDED)
    locking = select(timers.c.id).where(timers.c.id == held.id).with_for_update()
    with held.database.engine.connect() as sql, sql.begin():
        sql.execute(locking)
        with monkeypatch.context() as patching:
            stumble(patching, held.database, 1)
            woken = held.begun.end([(held.id, FIRST), (other.id, FIRST)], LATE)
        assert [(one.timer_id, one.fire_at) for one in woken] == [(other.id, SECOND)]
        with monkeypatch.context() as patching:
            stumble(patching, held.database, 1)
            judged = held.begun.judge([held.member(SECOND), other.member(SECOND)], LATE)
        assert {one: found.course for one, found in judged.items()} == {other.member(SECOND): GO}
        stumble(monkeypatch, held.database, 0)
        with pytest.raises(StoreAway):
            held.begun.judge([held.member(SECOND)], LATE)


def test_a_firing_that_somebody_else_holds_holds_up_no_other_timer(make: Make) -> None:
    held = make(Overlap.QUEUE_ONE)
    other = Held(held.database, Overlap.QUEUE_ONE, "another")
    if held.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    for one in (held, other):
        one.judge(FIRST)
    judging = {one.member(at) for one in (held, other) for at in (SECOND, THIRD)}
    locking = (
        select(firings).where(firings.c.timer_id == held.id, firings.c.fire_at == SECOND).with_for_update()
    )
    with held.database.engine.connect() as sql, sql.begin():
        sql.execute(locking)
        began_at = time.monotonic()
        judged = held.begun.judge(sorted(judging), LATE)
        assert time.monotonic() - began_at < 0.9  # or the process would rest from SQL
    assert {one: found.course for one, found in judged.items()} == {
        other.member(SECOND): WAIT,
        other.member(THIRD): SKIP,
    }
    assert held.judge(SECOND) is WAIT
    for one in (held, other):
        one.settle(FIRST, SUCCEEDED)
    with held.database.engine.connect() as sql, sql.begin():
        sql.execute(locking)
        began_at = time.monotonic()
        woken = held.begun.end([(held.id, FIRST), (other.id, FIRST)], LATE)
        assert time.monotonic() - began_at < 0.9
    assert [(one.timer_id, one.fire_at) for one in woken] == [(other.id, SECOND)]
    assert [one.timer_id for one in held.begun.end([(held.id, FIRST)], LATE)] == [held.id]


def test_a_firing_whose_row_is_gone_is_over(make: Make) -> None:
    held = make(Overlap.SKIP)
    held.database.write(lambda sql: sql.execute(delete(firings).where(firings.c.fire_at == FIRST)))
    assert held.judge(FIRST) is None
