from collections import deque
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy.exc import DataError

from tests.stages.world import Node, World
from tests.store.members import outcome_of, row_at
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import DueMember, Firing, FiringStatus, MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.reply_control import CONTROL
from wangtimer.executor.after_settled import LetNextGo
from wangtimer.executor.claim import Claim, Held
from wangtimer.executor.settler import BATCH, Finished, Settler
from wangtimer.features.controls.firing import HaveControlsApplied
from wangtimer.features.overlaps import Overlaps
from wangtimer.store.sql.begun_firings import BegunFirings

SUCCEEDED, FAILED, PENDING = FiringStatus.SUCCEEDED, FiringStatus.FAILED, FiringStatus.PENDING
EVERY_S = 0.2
REFUSAL = DataError("INSERT ...", {}, Exception("Incorrect string value"))


class Settling:
    """A settler by itself; `steps` are the calls it made, in order."""

    def __init__(
        self, world: World, end_overlaps: Callable[[Collection[MemberKey]], None] = lambda _keys: None
    ) -> None:
        self.world = world
        self.node = Node(world, "settling")
        self.steps: list[str] = []
        for step in ("firings.settle", "outbox.park", "slices.add", "agenda.add", "slices.release"):
            self.node.taps[f"before {step}"] = lambda step=step: self.steps.append(step)
        node = self.node
        self.asked: list[int] = []
        self.settler = Settler(
            node.firings,
            node.outbox,
            node.hot,
            node.slices,
            world.time,
            EVERY_S,
            lambda: False,
            (LetNextGo(end_overlaps), HaveControlsApplied(lambda: self.asked.append(1))),
        )

    def claim(self, claim_id: str, *timer_ids: int) -> tuple[Claim, list[Firing]]:
        """Return a claim on firings due now, as an executor holds it."""
        rows = [row_at(self.world.now, timer_id) for timer_id in timer_ids]
        self.world.firings.insert(rows)
        slices = self.world.slices
        slices.arm_now(rows[0].slice, [DueMember(row.member, row.due_at) for row in rows])
        slices.claim(rows[0].slice, claim_id, [row.member for row in rows])
        members = [row.member for row in rows]
        return Claim(rows[0].slice, claim_id, members, 0.0, 1_000.0), rows

    def finish(self, claim: Claim, rows: list[Firing], status: FiringStatus = SUCCEEDED) -> None:
        for row in rows:
            outcome = outcome_of(row.member, status, self.world.now + 1_000 if status is PENDING else 0)
            self.settler.take(Finished(Held(claim, row.member), outcome))

    def status(self, row: Firing) -> FiringStatus:
        return self.world.firings.rows([row.member])[row.timer_id, row.fire_at].status


def refuse() -> None:
    raise REFUSAL


@pytest.fixture
def settling(make_world: Callable[..., World]) -> Settling:
    return Settling(make_world(executors=0))


def test_what_finished_in_many_chunks_is_settled_by_one_write(settling: Settling) -> None:
    for number in range(5):
        settling.finish(*settling.claim(str(number), 10 * number + 1, 10 * number + 2))
    assert settling.settler.settle_all()
    assert settling.steps == ["firings.settle", "slices.release"]
    assert settling.world.members_in_slices == 0


def test_nothing_finished_costs_nothing(settling: Settling) -> None:
    assert settling.settler.settle_all()
    assert settling.steps == []


def test_a_settler_rests_until_an_outcome_comes_and_waits_for_those_that_come_with_it(
    settling: Settling,
) -> None:
    settler, wakes = settling.settler, list[int]()
    settler.loop.wake = lambda: wakes.append(1)
    assert settler.settle_or_rest() is None
    settling.finish(*settling.claim("first", 1))
    assert len(wakes) == 1
    assert settler.settle_or_rest() == EVERY_S / 2
    settling.finish(*settling.claim("second", 2))
    assert (len(wakes), settling.steps) == (1, [])
    assert settler.settle_or_rest() == EVERY_S
    assert settling.steps == ["firings.settle", "slices.release"]
    assert settler.settle_or_rest() is None


def test_who_waits_for_an_outcome_that_ends_a_rest_waits_no_longer(settling: Settling) -> None:
    assert settling.settler.settle_or_rest() is None
    settling.finish(*settling.claim("one", 1))
    settling.settler.hurry()
    settling.settler.settle_or_rest()
    assert settling.steps == ["firings.settle", "slices.release"]


def test_an_outcome_that_comes_while_a_rest_begins_ends_it(settling: Settling) -> None:
    """Looked at before the rest is noted, it would wait for the next outcome."""
    settler, (claim, rows) = settling.settler, settling.claim("one", 1)
    coming = [Finished(Held(claim, rows[0].member), outcome_of(rows[0].member, SUCCEEDED, 0))]

    class Coming(deque[Finished]):
        def __len__(self) -> int:
            found = super().__len__()
            self.extend(coming.pop() for _ in list(coming))
            return found

    settler._finished = Coming()
    assert settler.settle_or_rest() == EVERY_S


def test_what_another_thread_could_not_settle_ends_a_rest_that_began_meanwhile(settling: Settling) -> None:
    settler, wakes = settling.settler, list[int]()
    settling.finish(*settling.claim("one", 1))

    def rest_and_refuse(_batch: object) -> None:
        assert settler.settle_or_rest() is None
        raise StoreAway("SQL", "gone")

    settler._settle = rest_and_refuse
    settler.loop.wake = lambda: wakes.append(1)
    assert not settler.settle_all()
    assert wakes == [1]


def test_a_great_many_outcomes_are_written_in_batches(settling: Settling) -> None:
    settling.finish(*settling.claim("one", *range(1, 2 * BATCH + 2)))
    settling.settler.settle_all()
    assert settling.steps.count("firings.settle") == 3


def test_what_fails_once_outcomes_are_settled_holds_up_nothing_behind_it(
    make_world: Callable[..., World],
) -> None:
    def fail(_keys: Collection[MemberKey]) -> None:
        raise StoreAway("SQL is away")

    settling = Settling(make_world(executors=0), fail)
    claim, rows = settling.claim("one", *range(1, BATCH + 2))
    claim.begun.update(row.member for row in rows)
    for row in rows:
        recorded = outcome_of(row.member, SUCCEEDED, 0).with_note((CONTROL, "stop"))
        settling.settler.take(Finished(Held(claim, row.member), recorded))
    assert settling.settler.settle_all()
    assert (settling.status(rows[-1]), settling.asked) == (SUCCEEDED, [1, 1])


def test_what_finishes_while_others_are_settled_waits_for_the_next_write(settling: Settling) -> None:
    first, second = settling.claim("first", 1), settling.claim("second", 2)
    settling.finish(*first)
    settling.node.taps["before slices.release"] = lambda: settling.finish(*second)
    settling.settler.settle_all()
    assert settling.steps == ["firings.settle"]
    assert settling.status(second[1][0]) is PENDING
    settling.node.taps["before slices.release"] = lambda: None
    settling.settler.settle_all()
    assert settling.status(second[1][0]) is SUCCEEDED


def test_flaw_4_a_retry_stands_in_its_slice_before_the_attempt_is_released(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1)
    settling.finish(claim, rows, PENDING)
    settling.settler.settle_all()
    assert settling.steps == ["firings.settle", "slices.add", "agenda.add", "slices.release"]
    assert settling.world.members_in_slices == 1


def test_a_claim_is_done_when_all_it_held_is_settled(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1, 2)
    settling.finish(claim, rows[:1])
    settling.settler.settle_all()
    assert not claim.is_done.is_set()
    settling.finish(claim, rows[1:])
    settling.settler.settle_all()
    assert claim.is_done.is_set()


def test_sql_away_parks_the_outcome_before_the_firing_is_released(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1)
    settling.finish(claim, rows)
    settling.world.sql.away = True
    assert settling.settler.settle_all()
    assert settling.steps == ["firings.settle", "outbox.park", "slices.release"]
    assert settling.world.outbox.holds([rows[0].member]) == {rows[0].member}
    assert claim.is_done.is_set()


@pytest.mark.parametrize("is_away", [False, True])
def test_what_waits_for_firings_is_let_go_only_where_sql_has_their_outcomes(
    make_world: Callable[..., World], is_away: bool
) -> None:
    ended: list[MemberKey] = []
    settling = Settling(make_world(executors=0), ended.extend)
    claim, (row,) = settling.claim("one", 1)
    claim.begun.add(row.member)
    settling.finish(claim, [row])
    settling.world.sql.away = is_away
    assert settling.settler.settle_all()
    assert ended == ([] if is_away else [row.member.key])


def test_a_fault_in_letting_others_go_stops_nothing_else(make_world: Callable[..., World]) -> None:
    """They are left to the sweep."""

    def stumble(*_: object) -> None:
        raise ValueError("a row that this version cannot read")

    world = make_world(executors=0)
    begun, nothing = cast("BegunFirings", SimpleNamespace(end=stumble)), cast("Any", None)
    overlaps = Overlaps(begun, world.firings, nothing, nothing, world.time, *[nothing] * 3)
    settling = Settling(world, overlaps.end)
    claim, (row,) = settling.claim("one", 1)
    claim.begun.add(row.member)
    outcome = outcome_of(row.member).with_note((CONTROL, "1 stop 0"))
    settling.settler.take(Finished(Held(claim, row.member), outcome))
    assert settling.settler.settle_all()
    assert settling.asked == [1]


def test_a_retry_parked_in_the_outbox_stands_in_its_slice_too(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1)
    settling.finish(claim, rows, PENDING)
    settling.world.sql.away = True
    settling.settler.settle_all()
    assert settling.steps == ["firings.settle", "outbox.park", "slices.add", "agenda.add", "slices.release"]


def test_an_sql_that_is_away_is_left_alone_for_two_seconds(settling: Settling) -> None:
    for number in range(1, 31):
        settling.world.sql.away = False
        settling.finish(*settling.claim(str(number), number))
        settling.world.sql.away = True
        settling.settler.settle_all()
        settling.world.run_for(0.2)
    assert settling.steps.count("outbox.park") == 30
    assert settling.steps.count("firings.settle") == 3


def test_after_its_rest_sql_is_written_to_again(settling: Settling) -> None:
    settling.finish(*settling.claim("one", 1))
    settling.world.sql.away = True
    settling.settler.settle_all()
    settling.world.sql.away = False
    settling.world.run_for(2)
    _, rows = finished = settling.claim("two", 2)
    settling.finish(*finished)
    settling.settler.settle_all()
    assert settling.status(rows[0]) is SUCCEEDED


def test_with_both_away_outcomes_are_kept_and_written_once_one_is_back(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1, 2, 3)
    settling.finish(claim, rows)
    settling.world.sql.away = settling.world.redis.away = True
    assert not settling.settler.settle_all()
    assert not settling.settler.settle_all()
    assert not claim.is_done.is_set()
    assert claim.open_members()
    settling.world.sql.away = settling.world.redis.away = False
    settling.world.run_for(2)
    assert settling.settler.settle_all()
    assert {settling.status(row) for row in rows} == {SUCCEEDED}


def test_redis_away_leaves_the_release_to_the_lease_and_the_outcome_stands(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1)
    settling.finish(claim, rows)
    settling.world.redis.away = True
    assert settling.settler.settle_all()
    assert settling.status(rows[0]) is SUCCEEDED
    assert claim.is_done.is_set()


def test_of_an_outcome_whose_row_somebody_holds_the_outbox_takes_care_and_the_others_are_written(
    make_world: Callable[..., World],
) -> None:
    ended: list[MemberKey] = []
    settling = Settling(make_world(executors=0), ended.extend)
    claim, rows = settling.claim("one", 1, 2, 3)
    claim.begun.update(row.member for row in rows)
    settling.world.sql.table("held")[rows[1].member.key] = True
    settling.finish(claim, rows)
    assert settling.settler.settle_all()
    assert [settling.status(row) for row in rows] == [SUCCEEDED, PENDING, SUCCEEDED]
    assert settling.world.outbox.holds([row.member for row in rows]) == {rows[1].member}
    assert sorted(ended) == [rows[0].member.key, rows[2].member.key]
    assert claim.is_done.is_set()
    settling.finish(*settling.claim("two", 4))
    settling.settler.settle_all()
    assert settling.steps.count("firings.settle") == 2, "SQL is not away"


def test_what_sql_refuses_for_whatever_reason_goes_to_the_outbox(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1)
    settling.finish(claim, rows)
    settling.node.taps["before firings.settle"] = refuse
    assert settling.settler.settle_all()
    assert settling.steps == ["outbox.park", "slices.release"]
    assert settling.world.outbox.holds([rows[0].member]) == {rows[0].member}
    assert claim.is_done.is_set()


@pytest.mark.parametrize("refusal", [REFUSAL, StoreAway("SQL", "read-only")])
def test_while_sql_takes_no_writes_nothing_is_sent_twice(world: World, refusal: Exception) -> None:
    def refuse_write() -> None:
        raise refusal

    timer = world.timer("*/10 * * * * *")
    nodes = [world.beat, *world.executor_nodes]
    for node in nodes:
        node.taps["before firings.settle"] = refuse_write
    world.run_for(200)
    assert world.settled(timer) == []
    assert world.outbox.count() >= 19
    for node in nodes:
        del node.taps["before firings.settle"]
    world.run_for(18)
    moments = world.target.moments(timer.id)
    assert len(moments) == len(set(moments)) >= 20
    assert {record.firing.fire_at for record in world.settled(timer)} == set(moments)
    assert world.outbox.count() == 0


def test_a_settle_that_raises_unexpectedly_loses_nothing_and_keeps_the_order(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1, 2, 3)
    settling.finish(claim, rows)
    note = settling.node.taps["before firings.settle"]

    def stumble() -> None:
        raise ZeroDivisionError

    settling.node.taps["before firings.settle"] = settling.node.taps["before outbox.park"] = stumble
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            settling.settler.settle_all()
    assert sorted(claim.open_members()) == [row.member for row in rows]
    settling.node.taps["before firings.settle"] = note
    settling.world.run_for(2)
    assert settling.settler.settle_all()
    assert {settling.status(row) for row in rows} == {SUCCEEDED}
    assert claim.is_done.is_set()


@pytest.mark.parametrize("step", ["slices.add", "slices.release"])
def test_a_step_after_the_write_that_raises_unexpectedly_is_made_again(settling: Settling, step: str) -> None:
    claim, rows = settling.claim("one", 1)
    settling.finish(claim, rows, PENDING)

    def stumble() -> None:
        raise ZeroDivisionError

    settling.node.taps[f"before {step}"] = stumble
    with pytest.raises(ZeroDivisionError):
        settling.settler.settle_all()
    del settling.node.taps[f"before {step}"]
    settling.settler.settle_all()
    row = settling.world.firings.rows([rows[0].member])[1, rows[0].fire_at]
    assert (row.status, row.attempt) == (PENDING, 2)
    assert settling.world.members_in_slices == 1
    assert claim.is_done.is_set()


def test_flaw_7_an_outcome_that_comes_late_does_not_overwrite_the_one_on_record(settling: Settling) -> None:
    frozen, rows = settling.claim("frozen", 1)
    settling.world.firings.settle([outcome_of(rows[0].member, SUCCEEDED)])
    for status in (FAILED, PENDING):
        settling.finish(frozen, rows, status)
        settling.settler.settle_all()
        assert settling.status(rows[0]) is SUCCEEDED


def test_flaw_7_a_late_success_counts_though_a_retry_is_planned(settling: Settling) -> None:
    frozen, rows = settling.claim("frozen", 1)
    settling.world.firings.settle([outcome_of(rows[0].member, PENDING, settling.world.now + 1_000)])
    settling.finish(frozen, rows, SUCCEEDED)
    settling.settler.settle_all()
    assert settling.status(rows[0]) is SUCCEEDED


def test_an_outcome_settled_twice_counts_once(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1)
    first = Outcome(rows[0].member, 0, SUCCEEDED, rows[0].due_at, output="first")
    settling.settler.take(Finished(Held(claim, rows[0].member), first))
    settling.settler.settle_all()
    settling.finish(claim, rows, FAILED)
    settling.settler.settle_all()
    (record,) = settling.world.firings.records(1, 10)
    assert (record.firing.status, record.output) == (SUCCEEDED, "first")


def test_what_answers_make_of_timers_is_asked_for_once_sql_has_it(settling: Settling) -> None:
    claim, rows = settling.claim("one", 1, 2)
    outcomes = [outcome_of(rows[0].member, SUCCEEDED), outcome_of(rows[1].member, SUCCEEDED)]
    outcomes[1] = outcomes[1].with_note((CONTROL, "1 stop 0"))
    for row, outcome in zip(rows, outcomes, strict=True):
        settling.settler.take(Finished(Held(claim, row.member), outcome))
        assert settling.asked == []
        settling.settler.settle_all()
    assert settling.asked == [1]
