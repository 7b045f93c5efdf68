"""Lanes: what waits for room, and who may take it."""

import pytest

from tests.store.members import due_at, many_due_at
from tests.store.worlds import LEASES, HotWorld
from wangtimer.core.flow.firing import DueMember
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.redis.lanes import PullOrder

LANE = SharedLane.of_way("shop", "a.example:80")
MINE, THEIRS = "me/1", "them/1"


def add(hot: HotWorld, *dues: DueMember, is_repair: bool = False) -> None:
    hot.lanes.add({LANE: dues}, is_repair)


def pulled(hot: HotWorld, most: int = 10, claim_id: str = MINE, **asked: bool) -> list[DueMember]:
    return list(hot.lanes.pull(LANE, claim_id, most, **({"keep_leases": False} | asked)).dues)


def at(hot: HotWorld, from_now_ms: int, timer_id: int = 1) -> DueMember:
    return due_at(hot.clock.now_ms() + from_now_ms, timer_id)


def test_a_lane_hands_out_what_was_due_first(hot: HotWorld) -> None:
    late, later, latest = at(hot, -30, 3), at(hot, -20, 1), at(hot, -10, 2)
    add(hot, latest, late, later)
    assert pulled(hot, 2) == [late, later]
    assert pulled(hot, 2) == [latest]


def test_what_is_not_due_yet_waits_for_its_moment(hot: HotWorld) -> None:
    coming = at(hot, 500)
    add(hot, coming)
    assert pulled(hot) == []
    hot.clock.sleep(0.5)
    assert pulled(hot) == [coming]


def test_all_that_waited_is_to_be_verified(hot: HotWorld) -> None:
    add(hot, at(hot, 500))
    hot.clock.sleep(1)
    assert [one.is_suspect for one in hot.lanes.pull(LANE, MINE, 10, keep_leases=False).taken] == [True]


def test_what_waits_or_runs_is_not_added_again(hot: HotWorld) -> None:
    waiting, running = at(hot, -10, 1), at(hot, -20, 2)
    add(hot, waiting, running)
    assert pulled(hot, 1) == [running]
    add(hot, waiting, running)
    assert pulled(hot) == [waiting]


def test_a_repair_lets_what_is_late_wait_one_running_lease_from_now(hot: HotWorld) -> None:
    add(hot, at(hot, -600_000), is_repair=True)
    hot.clock.sleep((LEASES.running_ms - 1) / 1_000)
    assert pulled(hot) == []
    hot.clock.sleep(0.001)
    assert len(pulled(hot)) == 1


def test_a_pull_tells_what_is_left(hot: HotWorld) -> None:
    first, second = at(hot, -20, 1), at(hot, -10, 2)
    add(hot, first, second)
    found = hot.lanes.pull(LANE, MINE, 1, keep_leases=False)
    assert (found.next_at, found.waiting, found.running, found.is_empty) == (second.due_at, 1, 1, False)


def test_an_empty_lane_is_empty(hot: HotWorld) -> None:
    assert hot.lanes.pull(LANE, MINE, 1, keep_leases=False).is_empty


def test_a_pull_whose_answer_was_lost_is_told_again(hot: HotWorld) -> None:
    add(hot, *many_due_at(hot.clock.now_ms(), 3))
    first = pulled(hot, 2)
    again = pulled(hot, 2, is_again=True)
    assert {due.member for due in again} == {due.member for due in first}
    assert len(pulled(hot, 2, THEIRS, is_again=True)) == 1


def test_a_dead_pullers_members_come_back_with_its_death_counted(hot: HotWorld) -> None:
    one = at(hot, -10)
    add(hot, one)
    pulled(hot)
    hot.clock.sleep(LEASES.running_ms / 1_000)
    found = hot.lanes.pull(LANE, THEIRS, 1, keep_leases=False)
    assert [(taken.member, taken.deaths) for taken in found.taken] == [(one.member, 1)]


def test_leases_stay_when_they_are_to_be_kept(hot: HotWorld) -> None:
    add(hot, at(hot, -10))
    pulled(hot)
    hot.clock.sleep(LEASES.running_ms / 1_000)
    assert pulled(hot, 1, THEIRS, keep_leases=True) == []


def test_what_was_pulled_is_renewed_as_what_was_claimed(hot: HotWorld) -> None:
    one = at(hot, -10)
    add(hot, one)
    pulled(hot)
    hot.clock.sleep((LEASES.running_ms - 1) / 1_000)
    assert hot.slices.renew({(LANE, MINE): [one.member]}) == {(LANE, MINE): {one.member}}
    hot.clock.sleep((LEASES.running_ms - 1) / 1_000)
    assert pulled(hot, 1, THEIRS) == []


def test_what_was_released_is_gone(hot: HotWorld) -> None:
    one = at(hot, -10)
    add(hot, one)
    pulled(hot)
    hot.slices.release({(LANE, MINE): [one.member]})
    assert hot.lanes.pull(LANE, THEIRS, 1, keep_leases=False).is_empty


def test_what_was_put_back_waits_again_at_its_moment(hot: HotWorld) -> None:
    one, other = at(hot, -20, 1), at(hot, -10, 2)
    add(hot, one, other)
    pulled(hot, 1)
    hot.slices.put_back(LANE, MINE, [one])
    assert pulled(hot, 2, THEIRS) == [one, other]


def test_a_lane_is_in_the_index_until_it_is_struck_out(hot: HotWorld) -> None:
    hot.lanes.enter([LANE])
    (token,) = hot.lanes.index().values()
    hot.lanes.forget({LANE: token})
    assert hot.lanes.index() == {}


def test_a_lane_that_was_added_to_since_is_not_struck_out(hot: HotWorld) -> None:
    hot.lanes.enter([LANE])
    (token,) = hot.lanes.index().values()
    hot.lanes.enter([LANE])
    hot.lanes.forget({LANE: token})
    assert list(hot.lanes.index()) == [LANE]


def test_what_waits_for_limits_for_targets_and_for_pauses_is_counted_apart(hot: HotWorld) -> None:
    lanes = [
        SharedLane.of_limit("a"),
        SharedLane.of_limit("b"),
        SharedLane.of_app("a"),
        LANE,
        SharedLane.of_pause("app:a"),
    ]
    for number, lane in enumerate(lanes, 1):
        hot.lanes.add({lane: many_due_at(hot.clock.now_ms(), number)}, is_repair=False)
    hot.lanes.enter(lanes)
    assert (hot.lanes.throttled(), hot.lanes.waiting_for_targets(), hot.lanes.paused()) == (1 + 2, 3 + 4, 5)


@pytest.mark.parametrize("name", ["a.example:80", "x" * 900])
def test_a_lanes_name_fits_its_column(name: str) -> None:
    assert len(SharedLane.of_way("shop", name).key) <= 300


def test_several_lanes_are_pulled_in_one_trip(hot: HotWorld) -> None:
    other = SharedLane.of_limit("app")
    first, second, third = at(hot, -30, 1), at(hot, -20, 2), at(hot, -10, 3)
    hot.lanes.add({LANE: [first, second], other: [third]}, False)
    orders = [PullOrder(LANE, MINE, 1), PullOrder(other, THEIRS, 5)]
    mine, theirs = hot.lanes.pull_all(orders, keep_leases=False)
    assert (mine.dues, mine.waiting, mine.next_at) == ((first,), 1, second.due_at)
    assert (theirs.dues, theirs.waiting, theirs.next_at) == ((third,), 0, None)
    # Repeated under the same claims it tells what they took.
    again = hot.lanes.pull_all([PullOrder(LANE, MINE, 1), PullOrder(other, THEIRS, 5)], False, is_again=True)
    assert [[due.member for due in one.dues] for one in again] == [[first.member], [third.member]]
