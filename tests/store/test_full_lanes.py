"""Full lanes: Redis holds the first due of what waits, SQL alone the rest; a feeder brings it as there is room."""

import pytest

from tests.store.members import due_at
from tests.store.worlds import LANE_FIRINGS, LEASES, HotWorld
from wangtimer.core.flow.firing import DueMember
from wangtimer.core.flow.slicing import SharedLane

LANE = SharedLane.of_way("shop", "a.example:80")
OTHER = SharedLane.of_app("shop")
MINE, THEIRS = "me/1", "them/1"
FEEDER, SECOND = "feeder", "second feeder"
FEW = 5


def due(hot: HotWorld, number: int) -> DueMember:
    """Return the one due `number` ms from the beginning on, a minute before now."""
    return due_at(hot.clock.now_ms() - 60_000 + number)


def first(hot: HotWorld, number: int) -> list[DueMember]:
    return [due(hot, index) for index in range(number)]


def add(hot: HotWorld, *dues: DueMember, feeds: bool = False) -> None:
    hot.lanes.add({LANE: dues}, is_repair=False, feeds=feeds)
    hot.lanes.enter([LANE])


def pulled(hot: HotWorld, most: int = 100) -> list[DueMember]:
    return list(hot.lanes.pull(LANE, MINE, most, keep_leases=False).dues)


@pytest.fixture
def full(hot: HotWorld) -> HotWorld:
    """A lane that is full, and of which SQL alone holds the one that came due next."""
    add(hot, *first(hot, LANE_FIRINGS + 1))
    return hot


def rest_of(hot: HotWorld) -> int | None:
    """Return how many ms after the beginning the rest begins, as a feeder is told."""
    since = hot.lanes.feed(LANE, FEEDER)
    return None if since is None else since - due(hot, 0).due_at


def test_a_lane_holds_no_more_than_it_may(full: HotWorld) -> None:
    assert pulled(full) == first(full, LANE_FIRINGS)


def test_a_lane_that_holds_all_has_no_rest(hot: HotWorld) -> None:
    add(hot, *first(hot, LANE_FIRINGS))
    assert (hot.lanes.with_rest(), rest_of(hot)) == ([], None)


def test_the_rest_begins_with_the_first_that_was_left_out(full: HotWorld) -> None:
    add(full, due(full, LANE_FIRINGS + 5), due(full, LANE_FIRINGS + 3))
    assert (full.lanes.with_rest(), rest_of(full)) == ([LANE], LANE_FIRINGS)


def test_what_stands_in_a_full_lane_is_not_left_out(hot: HotWorld) -> None:
    add(hot, *first(hot, LANE_FIRINGS))
    add(hot, *first(hot, LANE_FIRINGS))
    assert rest_of(hot) is None


def test_what_is_due_behind_the_rest_does_not_overtake_it(full: HotWorld) -> None:
    pulled(full)
    add(full, due(full, LANE_FIRINGS + 1))
    assert pulled(full) == []


def test_what_is_due_before_the_rest_takes_the_room_there_is(full: HotWorld) -> None:
    assert len(pulled(full, FEW)) == FEW
    early = due(full, -1)
    add(full, early)
    assert pulled(full, 1) == [early]


def test_what_is_due_before_the_rest_and_finds_no_room_begins_it(full: HotWorld) -> None:
    add(full, due(full, -1))
    assert rest_of(full) == -1


def test_a_feeder_brings_the_rest_and_ends_it(full: HotWorld) -> None:
    pulled(full)
    assert rest_of(full) == LANE_FIRINGS
    add(full, due(full, LANE_FIRINGS), feeds=True)
    full.lanes.fed(LANE, FEEDER, None)
    assert pulled(full) == [due(full, LANE_FIRINGS)]
    assert (full.lanes.with_rest(), rest_of(full)) == ([], None)


def test_a_feeder_that_saw_a_part_tells_how_far(full: HotWorld) -> None:
    pulled(full)
    rest_of(full)
    full.lanes.fed(LANE, FEEDER, due(full, 1_000).due_at)
    assert rest_of(full) == 1_000


def test_what_is_left_out_while_a_feeder_reads_is_not_forgotten(full: HotWorld) -> None:
    pulled(full)
    rest_of(full)
    add(full, due(full, 700), due(full, 600))
    full.lanes.fed(LANE, FEEDER, None)
    assert rest_of(full) == 600


def test_what_was_left_out_before_a_feeder_began_is_its_to_bring(full: HotWorld) -> None:
    add(full, due(full, 600))
    pulled(full)
    rest_of(full)
    full.lanes.fed(LANE, FEEDER, due(full, 1_000).due_at)
    assert rest_of(full) == 1_000


def test_of_two_feeders_the_end_of_the_second_counts(full: HotWorld) -> None:
    rest_of(full)
    assert full.lanes.feed(LANE, SECOND) == due(full, LANE_FIRINGS).due_at
    full.lanes.fed(LANE, FEEDER, None)
    assert full.lanes.with_rest() == [LANE]
    full.lanes.fed(LANE, SECOND, None)
    assert full.lanes.with_rest() == []


def test_a_repair_that_finds_no_room_leaves_the_moment_it_was_due(full: HotWorld) -> None:
    full.lanes.add({LANE: [due(full, -1)]}, is_repair=True)
    assert rest_of(full) == -1


def test_an_empty_lane_with_a_rest_is_not_empty(full: HotWorld) -> None:
    taken = [one.member for one in pulled(full)]
    full.slices.release({(LANE, MINE): taken})
    found = full.lanes.pull(LANE, THEIRS, 1, keep_leases=False)
    assert (found.waiting, found.running, found.has_rest, found.is_empty) == (0, 0, True, False)


def test_lanes_share_nothing_but_the_budget(full: HotWorld) -> None:
    full.lanes.add({OTHER: [due(full, LANE_FIRINGS + 1)]}, is_repair=False)
    full.lanes.enter([OTHER])
    assert full.lanes.with_rest() == [LANE]
    assert len(full.lanes.pull(OTHER, MINE, 1, keep_leases=False).dues) == 1


def test_a_lost_rest_is_lost_with_its_lane(full: HotWorld) -> None:
    full.lose_all()
    assert (full.lanes.with_rest(), rest_of(full), pulled(full)) == ([], None, [])


def test_the_rest_lives_as_long_as_its_lane(full: HotWorld) -> None:
    full.clock.sleep(LEASES.running_ms / 1_000)
    rest_of(full)
    assert full.lives_s(LANE) > 3_600


def add_as_repair(hot: HotWorld, one: DueMember, feeds: bool = False) -> None:
    hot.lanes.add({LANE: [one]}, is_repair=True, feeds=feeds)


def make_room(hot: HotWorld) -> None:
    hot.slices.release({(LANE, MINE): [one.member for one in pulled(hot)]})


def wait_a_lease(hot: HotWorld) -> None:
    hot.clock.sleep(LEASES.running_ms / 1_000 + 0.1)


def test_what_a_feeder_brings_stands_at_its_moment(full: HotWorld) -> None:
    left = due(full, LANE_FIRINGS)
    make_room(full)
    wait_a_lease(full)
    add_as_repair(full, left, feeds=True)
    assert pulled(full) == [left]


def test_what_a_repair_left_out_waits_until_its_holders_could_renew(hot: HotWorld) -> None:
    left = due(hot, LANE_FIRINGS)
    add(hot, *first(hot, LANE_FIRINGS))
    add_as_repair(hot, left)
    make_room(hot)
    add_as_repair(hot, left, feeds=True)
    assert pulled(hot) == []
    wait_a_lease(hot)
    assert [one.member for one in pulled(hot)] == [left.member]


def test_so_does_what_a_repair_leaves_out_before_an_older_rest(full: HotWorld) -> None:
    early = due(full, -1)
    wait_a_lease(full)
    add_as_repair(full, early)
    make_room(full)
    add_as_repair(full, early, feeds=True)
    assert pulled(full) == []


def is_to_be_fed(hot: HotWorld, most: int = 100) -> bool:
    return hot.lanes.pull(LANE, MINE, most, keep_leases=False).is_to_be_fed


def test_who_empties_a_lane_that_has_a_rest_is_told_once_a_second_to_have_it_fed(full: HotWorld) -> None:
    assert [is_to_be_fed(full, 0), is_to_be_fed(full), is_to_be_fed(full)] == [False, True, False]
    full.clock.sleep(1.1)
    assert [is_to_be_fed(full), is_to_be_fed(full)] == [True, False]


def test_a_lane_that_holds_all_is_not_to_be_fed(hot: HotWorld) -> None:
    add(hot, *first(hot, 1))
    assert not is_to_be_fed(hot)
