"""Firings that targets have accepted, as SQL has them: what is said of them, and what comes at the same time."""

from typing import Any

import pytest

from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.store.sql.accepted_firings import (
    TIME_OVER_ERROR,
    AcceptedFirings,
    AckState,
)
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import FiringStore, insert_missing

NOW = 1_800_000_000_000
AT = NOW - 60_000
ONE = Member(7, AT, 1)
ACK_BY = NOW + 600_000
ACCEPTED = Outcome(
    ONE, 0, FiringStatus.ACCEPTED, ACK_BY, AT + 3, 3, 40, 202, "taken", connect_ms=1, first_byte_ms=39
)


class Held:
    """One firing of a timer, pending at its first attempt."""

    def __init__(self, database: Database) -> None:
        self.firings, self.accepted = FiringStore(database), AcceptedFirings(database)
        database.write(lambda sql: insert_missing(sql, [Firing.planned(ONE.timer_id, AT, 0)]))

    def settle(self, *outcomes: Outcome) -> None:
        self.firings.settle(outcomes)

    @property
    def row(self) -> Firing:
        return self.firings.rows([ONE])[ONE.key]

    @property
    def record(self) -> Any:
        (found,) = self.firings.records(ONE.timer_id, 2)
        return found

    def accepted_one(self) -> Outcome:
        state, found = self.accepted.find(ONE)
        assert state is AckState.COUNTS
        assert found is not None
        return found


@pytest.fixture
def held(database: Database) -> Held:
    return Held(database)


def test_an_accepted_firing_is_neither_pending_nor_over_and_keeps_what_its_call_measured(held: Held) -> None:
    held.settle(ACCEPTED)
    assert (held.row.status, held.row.attempt, held.row.due_at) == (FiringStatus.ACCEPTED, 1, ACK_BY)
    assert held.firings.pending_between(0, ACK_BY, 10) == []
    found = held.accepted_one()
    assert (found.member, found.due_at, found.first_sent_at, found.cost_ms, found.output) == (
        ONE,
        ACK_BY,
        AT + 3,
        40,
        "taken",
    )
    assert (held.record.accepted_at, held.record.done_at) == (AT + 43, None)


def test_a_late_outcome_of_the_same_call_changes_nothing_once_it_is_done(held: Held) -> None:
    held.settle(ACCEPTED)
    assert held.accepted.acknowledge(ONE, NOW)[0] is AckState.COUNTS
    held.settle(ACCEPTED)
    assert (held.record.firing.status, held.record.done_at) == (FiringStatus.SUCCEEDED, NOW)
    assert held.accepted.acknowledge(ONE, NOW + 1)[0] is AckState.SUCCEEDED
    assert held.record.done_at == NOW


def test_before_its_answer_is_on_record_nothing_can_be_said(held: Held) -> None:
    assert held.accepted.acknowledge(ONE, NOW)[0] is AckState.NOT_YET
    assert held.accepted.prolong(ONE, NOW) is AckState.NOT_YET
    assert held.accepted.find(ONE) == (AckState.NOT_YET, None)
    assert held.row.status is FiringStatus.PENDING


def test_what_is_overdue_is_found_the_longest_overdue_first(held: Held, database: Database) -> None:
    held.settle(ACCEPTED)
    other = Firing.planned(8, AT, 0)
    database.write(lambda sql: insert_missing(sql, [other]))
    held.settle(ACCEPTED._replace(member=other.member, due_at=ACK_BY - 5))
    assert held.accepted.overdue(ACK_BY - 6, 10) == ([], None)
    found, next_key = held.accepted.overdue(ACK_BY, 10)
    assert ([one.member for one in found], next_key) == ([other.member, ONE], None)
    first, next_key = held.accepted.overdue(ACK_BY, 1)
    assert (first, next_key) == (found[:1], (ACK_BY - 5, AT, 8))
    assert held.accepted.overdue(ACK_BY, 10, next_key) == (found[1:], None)


def test_the_end_is_the_failure_of_its_attempt_with_all_that_was_measured(held: Held) -> None:
    held.settle(ACCEPTED)
    was = held.accepted_one()
    ended = held.accepted.end(
        [(was, was._replace(status=FiringStatus.PENDING, due_at=NOW + 9, error="no word"))]
    )
    assert ended.number == 1
    (again,) = ended.again
    assert (again.member, again.due_at) == (Member(7, AT, 2), NOW + 9)
    assert (held.row.status, held.row.attempt, held.row.due_at) == (FiringStatus.PENDING, 2, NOW + 9)
    record = held.record
    assert (record.first_sent_at, record.lateness_ms, record.cost_ms, record.error) == (
        AT + 3,
        3,
        40,
        "no word",
    )
    assert (
        held.accepted.end(
            [(was, was._replace(status=FiringStatus.PENDING, due_at=NOW + 9, error="no word"))]
        ).number
        == 0
    )


@pytest.mark.parametrize("meanwhile", ["acknowledged", "prolonged"])
def test_the_end_leaves_alone_what_was_said_of_meanwhile(held: Held, meanwhile: str) -> None:
    held.settle(ACCEPTED)
    was = held.accepted_one()
    if meanwhile == "acknowledged":
        held.accepted.acknowledge(ONE, NOW)
    else:
        held.accepted.prolong(ONE, ACK_BY + 1)
    before = held.record
    assert held.accepted.end(
        [(was, was._replace(status=FiringStatus.FAILED, due_at=AT, error="no word"))]
    ) == (0, [])
    assert held.record == before


@pytest.mark.parametrize(("error", "counts"), [(TIME_OVER_ERROR, True), ("HTTP 500", False)])
def test_done_after_others_follow_counts_only_for_an_attempt_whose_time_was_over(
    held: Held, error: str, counts: bool
) -> None:
    held.settle(ACCEPTED)
    was = held.accepted_one()
    held.accepted.end([(was, was._replace(status=FiringStatus.PENDING, due_at=NOW, error=error))])
    assert held.accepted.prolong(ONE, NOW) is AckState.OVERTAKEN
    assert held.accepted.acknowledge(ONE, NOW)[0] is (AckState.COUNTS if counts else AckState.OVERTAKEN)
    held.settle(ACCEPTED._replace(member=Member(7, AT, 2), status=FiringStatus.FAILED))
    assert held.row.status is (FiringStatus.SUCCEEDED if counts else FiringStatus.FAILED)


@pytest.mark.parametrize(("error", "counts"), [(TIME_OVER_ERROR, True), ("HTTP 500", False)])
@pytest.mark.parametrize("attempts", [1, 2])
def test_done_after_the_firing_has_failed_counts_only_for_an_attempt_whose_time_was_over(
    held: Held, attempts: int, error: str, counts: bool
) -> None:
    held.settle(ACCEPTED)
    was = held.accepted_one()
    status = FiringStatus.FAILED if attempts == 1 else FiringStatus.PENDING
    held.accepted.end([(was, was._replace(status=status, due_at=NOW, error=error))])
    if attempts == 2:
        held.settle(ACCEPTED._replace(member=Member(7, AT, 2), status=FiringStatus.FAILED))
    assert held.row.status is FiringStatus.FAILED
    assert held.accepted.prolong(ONE, NOW) is not AckState.COUNTS
    assert (held.accepted.acknowledge(ONE, NOW)[0] is AckState.COUNTS) is counts
    assert (held.row.status is FiringStatus.SUCCEEDED, held.record.error == "") == (
        counts,
        counts or attempts == 2,
    )


def test_a_heartbeat_never_shortens_the_time(held: Held) -> None:
    held.settle(ACCEPTED)
    assert held.accepted.prolong(ONE, ACK_BY - 1) is AckState.COUNTS
    assert held.row.due_at == ACK_BY
    held.accepted.prolong(ONE, ACK_BY + 1)
    assert held.row.due_at == ACK_BY + 1


def test_no_attempt_before_the_first_can_be_said_to_be_done(held: Held) -> None:
    assert held.accepted.acknowledge(Member(7, AT, 0), NOW)[0] is AckState.OVERTAKEN
    assert held.row.status is FiringStatus.PENDING


def test_of_what_failed_nothing_more_is_said(held: Held) -> None:
    held.settle(ACCEPTED._replace(status=FiringStatus.FAILED))
    assert held.accepted.acknowledge(ONE, NOW)[0] is AckState.OVER
    assert held.accepted.acknowledge(Member(7, AT + 1, 1), NOW)[0] is AckState.OVER
    assert held.row.status is FiringStatus.FAILED
