"""Adding firings to Redis: slice first, agenda second, each again on an error."""

import pytest

from tests.store.members import due_at, row_at
from tests.store.worlds import LEASES, WINDOW, HotWorld
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk, DueMember, Firing
from wangtimer.core.flow.slicing import MINUTE_MS, SharedLane, Slice
from wangtimer.core.flow.tally import Tally
from wangtimer.store.hot import ALWAYS_HELD_MS, TRIES, HotStore
from wangtimer.store.redis.lanes import LaneBudget
from wangtimer.store.redis.slices import BacklogRoom
from wangtimer.testing.doubles import (
    HandClock,
    MemoryAgenda,
    MemoryLanes,
    MemoryServer,
    MemorySlices,
    MemoryWindow,
)

LEAD = LEASES.lead_ms


@pytest.fixture
def way_in(hot: HotWorld) -> HotStore:
    return HotStore(hot.slices, hot.agenda, hot.window, hot.clock, hot.lanes, ALWAYS_HELD_MS)


def needs_by(hot: HotWorld, moment: int) -> tuple[Slice, ...]:
    return hot.agenda.needs_until(moment, limit=100, past=0, past_limit=0)


def test_an_added_firing_stands_in_its_slice_and_on_the_agenda(hot: HotWorld, way_in: HotStore) -> None:
    moment = int(hot.clock.now_ms()) + 30_000
    way_in.add([row_at(moment + 1, 2), row_at(moment, 1), row_at(moment + MINUTE_MS, 1, bucket=3)])
    first, second = Slice.at(moment, 0), Slice.at(moment + MINUTE_MS, 3)
    assert hot.slices.next_need(first) == moment - LEAD
    assert hot.slices.next_need(second) == moment + MINUTE_MS - LEAD
    assert needs_by(hot, moment - LEAD - 1) == ()
    assert needs_by(hot, moment - LEAD) == (first,)
    assert needs_by(hot, moment + MINUTE_MS - LEAD) == (first, second)


def test_a_retry_stands_in_the_slice_of_its_next_moment(hot: HotWorld, way_in: HotStore) -> None:
    moment = int(hot.clock.now_ms()) + 5_000
    retry = row_at(moment, bucket=2)._replace(due_at=moment + MINUTE_MS, attempt=3)
    way_in.add([retry])
    place = Slice.at(moment + MINUTE_MS, 2)
    assert needs_by(hot, moment + MINUTE_MS) == (place,)
    assert hot.slices.next_need(place) == retry.due_at - LEAD


def test_slices_that_hold_what_is_tallied_are_put_onto_the_agenda_and_the_others_named(
    hot: HotWorld, way_in: HotStore
) -> None:
    moment = int(hot.clock.now_ms()) + 30_000
    same, other, empty = (Slice.at(moment, bucket) for bucket in (0, 1, 2))
    hot.slices.add({same: [due_at(moment, 7)], other: [due_at(moment, 8)]}, is_repair=False)
    wanted = dict.fromkeys((same, other, empty), Tally(1, 7, moment))
    assert way_in.raise_same(wanted) == {other, empty}
    assert needs_by(hot, moment) == (same,)
    assert needs_by(hot, moment - LEAD - 1) == ()
    assert way_in.raise_same({}) == set()


def test_what_is_due_soon_is_added_whatever_is_announced(hot: HotWorld, way_in: HotStore) -> None:
    soon = int(hot.clock.now_ms()) + ALWAYS_HELD_MS
    assert way_in.in_window([row_at(soon, 1), row_at(soon + 1, 2)]) == [row_at(soon, 1)]


def test_what_is_announced_is_added_and_the_rest_left_to_the_feeder(hot: HotWorld, way_in: HotStore) -> None:
    now = int(hot.clock.now_ms())
    for _ in range(10):
        hot.window.done(hot.window.next(now, from_present=False).minute, 0)
    ends_at = (now // MINUTE_MS + 10) * MINUTE_MS
    way_in.add([row_at(ends_at - 1, 1), row_at(ends_at, 2)])
    assert hot.slices.next_need(Slice.at(ends_at - 1, 0)) == ends_at - 1 - LEAD
    assert hot.slices.next_need(Slice.at(ends_at, 0)) is None
    way_in.add_all([row_at(ends_at, 2)])
    assert hot.slices.next_need(Slice.at(ends_at, 0)) == ends_at - LEAD


def test_a_lost_mark_announces_nothing(hot: HotWorld, way_in: HotStore) -> None:
    now = int(hot.clock.now_ms())
    hot.window.next(now, from_present=False)
    hot.lose_all()
    assert way_in.in_window([row_at(now + ALWAYS_HELD_MS + 1, 1)]) == []


def test_adding_no_firings_does_nothing(hot: HotWorld, way_in: HotStore) -> None:
    way_in.add([])
    assert way_in.arm_now([]) == []
    assert needs_by(hot, int(hot.clock.now_ms()) + MINUTE_MS) == ()


def test_a_firing_added_while_its_slice_is_closing_is_found(hot: HotWorld, way_in: HotStore) -> None:
    moment = int(hot.clock.now_ms()) + 30_000
    here = Slice.at(moment, 0)
    hot.agenda.add([(here, moment)])
    hot.agenda.begin_closing(here, "t", moment + 10_000)
    seen = hot.slices.next_need(here)
    way_in.add([row_at(moment)])
    hot.agenda.finish_closing(here, "t", seen)
    assert needs_by(hot, moment - LEAD) == (here,)


def test_a_repair_of_what_stands_in_its_slice_only_asserts_the_agenda(
    hot: HotWorld, way_in: HotStore
) -> None:
    moment = int(hot.clock.now_ms()) + 30_000
    here = Slice.at(moment, 0)
    hot.slices.add({here: [due_at(moment)]}, is_repair=False)
    way_in.add([row_at(moment)], is_repair=True)
    assert needs_by(hot, moment - LEAD) == (here,)
    assert hot.slices.next_need(here) == moment - LEAD


def test_a_repair_of_what_runs_leaves_its_slice_alone_until_the_lease_ends(
    hot: HotWorld, way_in: HotStore
) -> None:
    moment = int(hot.clock.now_ms()) + 500
    here, running = Slice.at(moment, 0), due_at(moment)
    hot.slices.add({here: [running]}, is_repair=False)
    hot.slices.turn(here, "t", 10, keep_leases=False, backlog=BacklogRoom())
    hot.slices.claim(here, "c", [running.member])
    hot.clock.sleep(3)
    hot.slices.renew({(here, "c"): [running.member]})
    lease_end = int(hot.clock.now_ms()) + LEASES.running_ms
    way_in.add([row_at(moment)], is_repair=True)
    assert needs_by(hot, lease_end - 1) == ()
    assert needs_by(hot, lease_end) == (here,)


def test_a_repaired_firing_that_is_overdue_waits_for_a_living_holder(hot: HotWorld, way_in: HotStore) -> None:
    moment = int(hot.clock.now_ms()) - 5_000
    way_in.add([row_at(moment)], is_repair=True)
    assert hot.slices.next_need(Slice.at(moment, 0)) == moment + LEASES.running_ms - LEAD


def test_firings_that_cannot_wait_are_armed_and_their_slice_needs_a_trigger_now(
    hot: HotWorld, way_in: HotStore
) -> None:
    now = int(hot.clock.now_ms())
    firings = [row_at(now + 200, 1), row_at(now + 300, 2), row_at(now + 300, 3, bucket=1)]
    assert way_in.arm_now(firings) == [
        Chunk(Slice.at(now, 0), (due_at(now + 200, 1), due_at(now + 300, 2))),
        Chunk(Slice.at(now, 1), (due_at(now + 300, 3),)),
    ]
    assert needs_by(hot, now) == (Slice.at(now, 0), Slice.at(now, 1))


def test_a_firing_that_stands_in_its_slice_is_not_armed_and_sent_twice(
    hot: HotWorld, way_in: HotStore
) -> None:
    firings = [row_at(int(hot.clock.now_ms()) + 200)]
    assert len(way_in.arm_now(firings)) == 1
    assert way_in.arm_now(firings) == []


# errors: on a server that is away, and back after a few pauses


class HealingClock(HandClock):
    """Each pause heals the server a little: at the last one it is back."""

    server: MemoryServer
    pauses_to_heal = 1

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.pauses_to_heal -= 1
        if self.pauses_to_heal == 0:
            self.server.away = self.server.loses_answers = False


class Ill:
    """A hot store whose server heals after some pauses."""

    def __init__(self, pauses_to_heal: int) -> None:
        self.clock = HealingClock()
        self.server = self.clock.server = MemoryServer("Redis", self.clock)
        self.clock.pauses_to_heal = pauses_to_heal
        self.slices = MemorySlices(self.server, self.clock, LEASES)
        self.agenda = MemoryAgenda(self.server)
        window = MemoryWindow(self.server, WINDOW)
        self.hot = HotStore(
            self.slices,
            self.agenda,
            window,
            self.clock,
            MemoryLanes(self.slices, LaneBudget(0)),
            ALWAYS_HELD_MS,
        )
        self.firing = row_at(int(self.clock.now_ms()) + 30_000)

    def is_added(self, firing: Firing) -> bool:
        on_agenda = self.agenda.needs_until(firing.due_at, 9, 0, 0) == (firing.slice,)
        return on_agenda and self.slices.next_need(firing.slice) == firing.due_at - LEAD


def test_an_add_is_patient_with_a_redis_that_comes_back() -> None:
    ill = Ill(pauses_to_heal=TRIES - 1)
    ill.server.away = True
    ill.hot.add([ill.firing])
    assert ill.is_added(ill.firing)


def test_an_add_whose_answer_was_lost_is_repeated_harmlessly() -> None:
    ill = Ill(pauses_to_heal=1)
    ill.server.loses_answers = True
    ill.hot.add([ill.firing])
    assert ill.is_added(ill.firing)


def test_an_add_to_a_redis_that_stays_away_says_so() -> None:
    ill = Ill(pauses_to_heal=TRIES)
    ill.server.away = True
    with pytest.raises(StoreAway):
        ill.hot.add([ill.firing])


def test_no_slice_is_put_on_the_agenda_before_its_members_stand_in_it() -> None:
    ill = Ill(pauses_to_heal=TRIES)
    ill.slices.add = lambda *_: (_ for _ in ()).throw(StoreAway("Redis", "the slice's shard is away"))
    with pytest.raises(StoreAway):
        ill.hot.add([ill.firing])
    assert ill.agenda.needs_until(ill.firing.due_at, 9, 0, 0) == ()


def test_a_firing_that_waits_in_a_lane_stands_there_and_in_the_index_and_in_no_slice(
    hot: HotWorld, way_in: HotStore
) -> None:
    moment = int(hot.clock.now_ms()) - 1_000
    lane = SharedLane.of_way("shop", "a.example:80")
    firing = row_at(moment)._replace(lane=lane.key)
    way_in.add([firing])
    assert list(hot.lanes.index()) == [lane]
    assert hot.lanes.pull(lane, "me/1", 9, keep_leases=False).dues == (DueMember(firing.member, moment),)
    assert hot.slices.next_need(firing.slice) is None
    assert needs_by(hot, moment + MINUTE_MS) == ()
