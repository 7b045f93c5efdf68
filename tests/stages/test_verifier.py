from collections.abc import Callable

import pytest

from tests.stages.world import ExecutorNode, World
from tests.store.members import due_at, outcome_of, row_at
from wangtimer.core.flow.firing import DueMember, Firing, FiringStatus
from wangtimer.executor.verdicts import Drop, PutBack, Send, Verdict
from wangtimer.executor.verifier import Verifier

SUCCEEDED, PENDING = FiringStatus.SUCCEEDED, FiringStatus.PENDING


@pytest.fixture
def lone(make_world: Callable[..., World]) -> World:
    return make_world(executors=1)


def verifier_of(world: World) -> Verifier:
    node: ExecutorNode = world.executor_nodes[0]
    return node.verifier


def verdict(world: World, row: Firing, due: DueMember | None = None) -> Verdict:
    """Return what is said of a member in the row's slice, by default of the row's own."""
    asked = due or DueMember(row.member, row.due_at)
    return verifier_of(world).verify(row.slice, [asked])[asked.member]


def stored(world: World, **fields: int) -> Firing:
    """Return a row that was due a moment ago, with these fields otherwise, stored."""
    row = row_at(world.now - 10)._replace(**fields)
    world.firings.insert([row])
    return row


def test_a_pending_row_at_this_attempt_in_this_slice_is_sent(lone: World) -> None:
    row = stored(lone)
    assert verdict(lone, row) == Send(row)


def test_a_row_that_has_its_outcome_is_over(lone: World) -> None:
    row = stored(lone)
    lone.firings.settle([outcome_of(row.member)])
    assert verdict(lone, row) == Drop(None)


def test_a_row_that_is_not_there_is_over(lone: World) -> None:
    assert verdict(lone, row_at(lone.now - 10)) == Drop(None)


def test_flaw_8_an_attempt_that_was_overtaken_is_over_and_the_row_is_kept_where_it_stands(
    lone: World,
) -> None:
    row = stored(lone)
    lone.firings.settle([outcome_of(row.member, PENDING, moment=lone.now + 500)])
    retry = row._replace(attempt=2, due_at=lone.now + 500)
    assert verdict(lone, row) == Drop(retry)


def test_a_row_that_stands_in_another_slice_is_kept_there(lone: World) -> None:
    row = stored(lone)
    elsewhere = row._replace(bucket=3)
    assert verifier_of(lone).verify(elsewhere.slice, [DueMember(row.member, row.due_at)]) == {
        row.member: Drop(row)
    }


def test_an_attempt_whose_predecessor_is_not_settled_yet_waits(lone: World) -> None:
    row = stored(lone)
    ahead = due_at(row.due_at, attempt=2, fire_at=row.fire_at)
    assert isinstance(verdict(lone, row, ahead), PutBack)


def test_flaw_8_an_attempt_that_is_not_due_yet_waits_until_it_is(lone: World) -> None:
    row = stored(lone, due_at=lone.now + 5_000)
    assert verdict(lone, row) == PutBack(row.due_at)


def test_an_attempt_due_within_the_lead_may_be_prepared(lone: World) -> None:
    row = stored(lone, due_at=lone.now + 900)
    assert verdict(lone, row) == Send(row)


def test_flaw_9_an_outcome_in_the_outbox_counts_though_its_row_still_pends(lone: World) -> None:
    row = stored(lone)
    lone.outbox.park([outcome_of(row.member)])
    assert verdict(lone, row) == Drop(None)


@pytest.mark.parametrize(
    "point", ["before outbox.holds", "after outbox.holds", "before firings.rows", "after firings.rows"]
)
def test_flaw_9_an_outcome_flushed_while_it_is_verified_is_seen_because_the_outbox_is_read_first(
    lone: World, point: str
) -> None:
    row = stored(lone)
    lone.outbox.park([outcome_of(row.member)])
    lone.executor_nodes[0].taps[point] = lone.beat.sweeper.flush
    assert verdict(lone, row) == Drop(None)


def test_what_cannot_be_verified_waits(lone: World) -> None:
    row = stored(lone)
    for server in (lone.sql, lone.redis):
        server.away = True
        assert isinstance(verdict(lone, row), PutBack)
        server.away = False


@pytest.mark.parametrize(
    ("late_s", "wait_s"), [(0, 3), (1, 3), (6, 3), (10, 5), (20, 10), (60, 30), (3_600, 30)]
)
def test_the_wait_doubles_from_three_seconds_to_thirty(lone: World, late_s: int, wait_s: int) -> None:
    late = due_at(lone.now - late_s * 1_000)
    assert verifier_of(lone).wait(late) == PutBack(lone.now + wait_s * 1_000)


def test_a_chunk_is_verified_by_one_look_at_each_store(lone: World) -> None:
    rows = [row_at(lone.now - 10, timer_id) for timer_id in range(1, 51)]
    lone.firings.insert(rows)
    looks: list[str] = []
    node = lone.executor_nodes[0]
    node.taps["before firings.rows"] = lambda: looks.append("sql")
    node.taps["before outbox.holds"] = lambda: looks.append("outbox")
    dues = [DueMember(row.member, row.due_at) for row in rows]
    assert len(verifier_of(lone).verify(rows[0].slice, dues)) == 50
    assert looks == ["outbox", "sql"]
