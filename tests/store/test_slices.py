"""Slices: what add, arm_now, lock, turn, claim, renew, release and put_back may do, and must not."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from tests.store.members import due_at, many_due_at
from tests.store.worlds import HELD_UP_MS, LEASES, HotWorld, redis_hot
from wangtimer.core.flow.backlog import LATE_MS
from wangtimer.core.flow.firing import DueMember, Member
from wangtimer.core.flow.slicing import MINUTE_MS, Slice
from wangtimer.store.redis import connection
from wangtimer.store.redis.connection import ScriptCall
from wangtimer.store.redis.slices import BacklogRoom, Taken, Turn
from wangtimer.testing.doubles.memory_slices import tally_of

DAY_S = 86_400
PLENTY = 100_000
ANY_OF_A_BACKLOG = BacklogRoom()


class Desk:
    """One slice on the bench: the clock's minute, with the clock at its start."""

    def __init__(self, hot: HotWorld) -> None:
        self.hot = hot
        self.slices = hot.slices
        self.slices_held_up = hot.slices_held_up
        self.clock = hot.clock
        self.now = int(hot.clock.now_ms())
        self.slice = Slice.at(self.now, 0)

    def add(self, *members: DueMember, is_repair: bool = False) -> None:
        self.slices.add({self.slice: members}, is_repair)

    def turn(
        self,
        credit: int = PLENTY,
        token: str = "mine",
        keep_leases: bool = False,
        backlog: BacklogRoom = ANY_OF_A_BACKLOG,
        tell_all_armed: bool = False,
    ) -> Turn:
        turn = self.slices.turn(self.slice, token, credit, keep_leases, backlog, tell_all_armed)
        assert turn is not None
        return turn

    def look(self) -> Turn:
        """Return where things stand; moves nothing."""
        return self.turn(credit=0, keep_leases=True)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many are due, armed and running."""
        turn = self.look()
        return turn.due, turn.armed, turn.running

    def arm(self, *members: DueMember) -> None:
        self.add(*members)
        armed = self.turn().now_armed
        assert {due.member for due in armed} == {due.member for due in members}

    def claim(self, *members: DueMember, claim_id: str = "c1") -> list[Taken]:
        return self.slices.claim(self.slice, claim_id, [due.member for due in members])

    def run(self, *members: DueMember, claim_id: str = "c1") -> None:
        self.arm(*members)
        assert len(self.claim(*members, claim_id=claim_id)) == len(members)

    def renew(self, *members: DueMember, claim_id: str = "c1") -> set[Member]:
        held = self.slices.renew({(self.slice, claim_id): [due.member for due in members]})
        return held[self.slice, claim_id]

    def release(self, *members: DueMember, claim_id: str = "c1") -> None:
        self.slices.release({(self.slice, claim_id): [due.member for due in members]})

    def put_back(self, *members: DueMember, claim_id: str = "c1") -> None:
        self.slices.put_back(self.slice, claim_id, members)

    def try_apart(self, *members: DueMember, claim_id: str = "apart", deaths: int = 5) -> set[Member]:
        held = {(self.slice, claim_id): [due.member for due in members]}
        return self.slices.try_apart(held, deaths)[self.slice, claim_id]

    def is_suspect(self, due: DueMember) -> bool:
        """Tell whether a claim of it now says so; it must be due within the lead."""
        self.turn()
        (taken,) = self.claim(due, claim_id="asks")
        return taken.is_suspect

    def wait(self, milliseconds: float) -> None:
        self.clock.sleep(milliseconds / 1_000)


@pytest.fixture
def desk(hot: HotWorld) -> Desk:
    return Desk(hot)


# add


def test_an_added_member_is_due_at_its_moment(desk: Desk) -> None:
    desk.add(due_at(desk.now + 30_000))
    assert desk.counts == (1, 0, 0)
    assert desk.look().next_due_at == desk.now + 30_000


def test_a_member_that_is_due_keeps_its_moment_when_it_is_added_again(desk: Desk) -> None:
    member = due_at(desk.now + 30_000)
    desk.add(member)
    desk.add(member._replace(due_at=desk.now + 20_000))
    desk.add(member._replace(due_at=desk.now - 5_000), is_repair=True)
    assert desk.counts == (1, 0, 0)
    assert desk.look().next_due_at == desk.now + 30_000


def test_a_member_that_is_armed_is_not_added_again(desk: Desk) -> None:
    member = due_at(desk.now + 500)
    desk.arm(member)
    desk.add(member)
    desk.add(member._replace(due_at=desk.now + 30_000), is_repair=True)
    assert desk.counts == (0, 1, 0)


def test_a_member_that_runs_is_not_added_again(desk: Desk) -> None:
    member = due_at(desk.now + 500)
    desk.run(member)
    desk.add(member)
    desk.add(member._replace(due_at=desk.now + 30_000), is_repair=True)
    assert desk.counts == (0, 0, 1)


def test_a_member_added_before_its_lead_is_trusted(desk: Desk) -> None:
    member = due_at(desk.now + LEASES.lead_ms + 1)
    desk.add(member)
    desk.wait(500)
    assert not desk.is_suspect(member)


@pytest.mark.parametrize("from_now_ms", [LEASES.lead_ms, 0, -1, -60_000])
def test_a_member_added_within_its_lead_or_late_is_suspect(desk: Desk, from_now_ms: int) -> None:
    member = due_at(desk.now + from_now_ms)
    desk.add(member)
    assert desk.is_suspect(member)


def test_a_member_whose_moment_passed_while_its_adder_was_held_up_is_suspect(desk: Desk) -> None:
    member = due_at(desk.now - HELD_UP_MS + 90_000)
    desk.slices_held_up.add({desk.slice: [member]}, False)
    assert desk.is_suspect(member)


def test_a_released_member_that_is_added_once_more_is_suspect(desk: Desk) -> None:
    member = due_at(desk.now + LEASES.lead_ms + 1)
    desk.add(member)
    desk.wait(LEASES.lead_ms + 1)
    desk.turn()
    desk.claim(member)
    desk.release(member)
    desk.add(member)
    assert desk.is_suspect(member)


def test_a_repaired_member_that_is_due_waits_one_running_lease_more(desk: Desk) -> None:
    desk.add(due_at(desk.now - 500), is_repair=True)
    assert desk.look().next_due_at == desk.now - 500 + LEASES.running_ms


def test_a_repaired_member_that_is_not_due_yet_waits_no_longer(desk: Desk) -> None:
    desk.add(due_at(desk.now + 30_000), is_repair=True)
    assert desk.look().next_due_at == desk.now + 30_000


def test_what_was_due_before_a_clock_was_put_back_is_verified(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk.clock, "latest_ms", lambda: desk.clock.now_ms() + 40_000)
    sent, coming = due_at(desk.now + 30_000, 1), due_at(desk.now + 50_000, 2)
    desk.add(sent, coming, is_repair=True)
    desk.wait(49_500)
    desk.turn()
    assert desk.claim(sent, coming) == [Taken(sent.member, True), Taken(coming.member, False)]


def test_two_attempts_of_a_firing_are_two_members(desk: Desk) -> None:
    first = due_at(desk.now + 500)
    desk.run(first)
    desk.add(due_at(desk.now + 20_000, attempt=2, fire_at=desk.now + 500))
    assert desk.counts == (1, 0, 1)
    desk.release(first)
    assert desk.counts == (1, 0, 0)


@pytest.mark.parametrize("from_now_ms", [30_000, -1])
def test_more_members_than_a_script_takes_are_all_added(desk: Desk, from_now_ms: int) -> None:
    desk.add(*many_due_at(desk.now + from_now_ms, 4_001))
    assert desk.counts == (4_001, 0, 0)


def test_members_of_several_slices_are_added_together(desk: Desk) -> None:
    others = [Slice(desk.slice.minute + 1, bucket) for bucket in range(60)]
    desk.slices.add({slice_: [due_at(slice_.starts_at)] for slice_ in others}, is_repair=False)
    needs = {desk.slices.next_need(slice_) for slice_ in others}
    assert needs == {others[0].starts_at - LEASES.lead_ms}


def test_an_add_tells_when_each_slice_next_needs_a_trigger(desk: Desk) -> None:
    first, other = due_at(desk.now + 30_000, 1), Slice(desk.slice.minute + 1, 3)
    desk.add(first)
    added = {desk.slice: [due_at(desk.now + 40_000, 2)], other: [due_at(other.starts_at)]}
    needs = desk.slices.add(added, is_repair=False)
    assert needs == {desk.slice: first.due_at - LEASES.lead_ms, other: other.starts_at - LEASES.lead_ms}


def test_an_add_of_what_runs_tells_the_end_of_its_lease(desk: Desk) -> None:
    running, armed = due_at(desk.now + 500, 1), due_at(desk.now + 600, 2)
    desk.run(running)
    assert desk.slices.add({desk.slice: [running]}, True) == {desk.slice: desk.now + LEASES.running_ms}
    desk.wait(3_000)
    desk.arm(armed)
    desk.release(running)
    assert desk.slices.add({desk.slice: [armed]}, True) == {desk.slice: desk.now + 3_000 + LEASES.armed_ms}


def test_an_add_of_several_scripts_tells_the_soonest_need(desk: Desk) -> None:
    members = many_due_at(desk.now + 40_000, 4_001)
    soonest = members[0]._replace(due_at=desk.now + 30_000)
    needs = desk.slices.add({desk.slice: [soonest, *members[1:]]}, is_repair=False)
    assert needs == {desk.slice: soonest.due_at - LEASES.lead_ms}


def test_adding_nothing_does_nothing(desk: Desk) -> None:
    desk.slices.add({}, is_repair=False)
    desk.slices.add({desk.slice: []}, is_repair=True)
    assert desk.look().is_empty


# arm_now


def test_members_that_cannot_wait_are_armed_at_once(desk: Desk) -> None:
    soon, late = due_at(desk.now + 300, 1), due_at(desk.now, 2)
    assert desk.slices.arm_now(desk.slice, [soon, late]) == [soon, late]
    assert desk.counts == (0, 2, 0)
    assert desk.slices.next_need(desk.slice) == desk.now + LEASES.armed_ms
    assert desk.claim(soon, late) == [Taken(soon.member, False), Taken(late.member, True)]


def test_a_member_armed_at_once_by_one_who_was_held_up_is_suspect(desk: Desk) -> None:
    member = due_at(desk.now - HELD_UP_MS + 90_000)
    desk.slices_held_up.arm_now(desk.slice, [member])
    assert desk.claim(member) == [Taken(member.member, True)]


def test_a_member_that_is_armed_or_runs_is_not_armed_at_once(desk: Desk) -> None:
    armed, running = (due_at(desk.now + moment, moment) for moment in (1, 2))
    desk.run(running)
    desk.arm(armed)
    assert desk.slices.arm_now(desk.slice, [armed, running]) == []
    assert desk.counts == (0, 1, 1)


def test_a_member_that_a_repair_lets_wait_is_armed_at_once_and_verified(desk: Desk) -> None:
    """A repair may come between the commit of what is due soon and its arming."""
    member = due_at(desk.now + 300)
    desk.add(member, is_repair=True)
    assert desk.slices.arm_now(desk.slice, [member]) == [member]
    assert desk.counts == (0, 1, 0)
    assert desk.claim(member) == [Taken(member.member, True)]


# lock and unlock


def test_only_free_slices_are_locked(desk: Desk) -> None:
    other = replace(desk.slice, bucket=1)
    assert desk.slices.lock({desk.slice: "a"}) == {desk.slice: "a"}
    assert desk.slices.lock({desk.slice: "b", other: "b"}) == {other: "b"}
    assert desk.slices.lock({}) == {}


def test_a_lock_runs_out(desk: Desk) -> None:
    desk.slices.lock({desk.slice: "a"})
    desk.hot.let_lock_run_out(desk.slice)
    assert desk.slices.lock({desk.slice: "b"}) == {desk.slice: "b"}


def test_a_lock_is_given_back_only_by_its_owner(desk: Desk) -> None:
    desk.slices.lock({desk.slice: "a"})
    desk.slices.unlock(desk.slice, "b")
    assert desk.slices.lock({desk.slice: "b"}) == {}
    desk.slices.unlock(desk.slice, "a")
    assert desk.slices.lock({desk.slice: "b"}) == {desk.slice: "b"}


# turn: the lock


def test_a_turn_takes_a_free_lock_and_says_so(desk: Desk) -> None:
    assert desk.turn(token="a").took_lock
    assert desk.slices.lock({desk.slice: "b"}) == {}


def test_a_turn_with_its_own_lock_took_none(desk: Desk) -> None:
    desk.slices.lock({desk.slice: "a"})
    assert not desk.turn(token="a").took_lock


def test_a_turn_on_anothers_slice_changes_nothing(desk: Desk) -> None:
    member = due_at(desk.now + 500)
    desk.add(member)
    desk.slices.lock({desk.slice: "a"})
    assert desk.slices.turn(desk.slice, "b", PLENTY, False, ANY_OF_A_BACKLOG) is None
    turn = desk.turn(credit=0, token="a")
    assert (turn.took_lock, turn.due, turn.armed) == (False, 1, 0)


def test_a_turn_renews_its_lock(desk: Desk) -> None:
    desk.turn(token="a")
    desk.hot.let_lock_run_out(desk.slice)
    assert desk.turn(token="a").took_lock
    assert not desk.turn(token="a").took_lock


# turn: leases


def test_an_armed_member_nobody_claims_goes_back_to_its_moment_and_is_suspect(desk: Desk) -> None:
    member = due_at(desk.now + LEASES.lead_ms + 1)
    desk.add(member)
    desk.wait(1)
    desk.turn()
    desk.wait(LEASES.armed_ms - 1)
    assert desk.turn(credit=0).armed == 1
    desk.wait(1)
    turn = desk.turn(credit=0)
    assert (turn.due, turn.armed, turn.next_due_at) == (1, 0, member.due_at)
    assert desk.is_suspect(member)


def test_a_running_member_nobody_renews_goes_back_suspect_and_ownerless(desk: Desk) -> None:
    member = due_at(desk.now + LEASES.lead_ms + 1)
    desk.add(member)
    desk.wait(1)
    desk.turn()
    assert desk.claim(member) == [Taken(member.member, False)]
    desk.wait(LEASES.running_ms - 1)
    assert desk.turn(credit=0).running == 1
    desk.wait(1)
    turn = desk.turn(credit=0)
    assert (turn.due, turn.running, turn.next_due_at) == (1, 0, member.due_at)
    assert desk.renew(member) == set()
    assert desk.claim(member) == []
    assert desk.is_suspect(member)


def test_a_turn_tells_all_that_stands_armed_when_it_is_asked_to(desk: Desk) -> None:
    first, retry = due_at(desk.now, 1), due_at(desk.now, 2, attempt=2, fire_at=desk.now - 60_000)
    later, last = due_at(desk.now + 1_200, 3), due_at(desk.now + 1_400, 4)
    desk.arm(first, retry)
    desk.add(later, last)
    desk.wait(300)
    assert desk.turn().now_armed == (later,)
    desk.wait(200)
    turn = desk.turn(tell_all_armed=True)
    # A retry's own moment is not known any more: SQL knows it, and all of these are verified there.
    assert set(turn.now_armed) == {first, retry._replace(due_at=desk.now + 500), later, last}
    assert (turn.due, turn.armed, turn.running) == (0, 4, 0)
    taken = {one.member: one.is_suspect for one in desk.claim(*turn.now_armed)}
    assert taken == {first.member: True, retry.member: True, later.member: True, last.member: False}
    assert desk.turn(tell_all_armed=True).now_armed == ()


def test_leases_that_ran_out_stay_when_they_are_to_be_kept(desk: Desk) -> None:
    running, armed = due_at(desk.now, 1), due_at(desk.now, 2)
    desk.run(running)
    desk.arm(armed)
    desk.wait(60_000)
    turn = desk.turn(keep_leases=True)
    assert (turn.due, turn.armed, turn.running) == (0, 1, 1)
    assert desk.renew(running) == {running.member}


def test_a_first_attempt_goes_back_at_its_own_moment_though_it_was_put_off(desk: Desk) -> None:
    desk.add(due_at(desk.now - 6_000), is_repair=True)
    desk.turn()
    desk.wait(LEASES.armed_ms)
    assert desk.turn(credit=0).next_due_at == desk.now - 6_000


def test_a_later_attempt_goes_back_at_the_present(desk: Desk) -> None:
    retry = due_at(desk.now + 500, attempt=2, fire_at=desk.now - 20_000)
    desk.run(retry)
    desk.wait(LEASES.running_ms)
    assert desk.turn(credit=0).next_due_at == desk.now + LEASES.running_ms


def test_a_clock_put_ahead_ends_no_lease_of_the_living(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    armed, running = due_at(desk.now + 500), due_at(desk.now)
    desk.run(running)
    desk.arm(armed)
    desk.wait(20_000)
    monkeypatch.setattr(desk.clock, "earliest_ms", lambda: desk.clock.now_ms() - 20_000)
    assert desk.turn().now_armed == ()
    assert desk.counts == (0, 1, 1)


def test_a_lease_is_written_by_the_later_clock_while_the_earlier_may_be_unknown_to_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    armed, running, renewed = due_at(desk.now + 500), due_at(desk.now), due_at(desk.now, 2)
    desk.run(renewed)
    monkeypatch.setattr(desk.clock, "latest_ms", lambda: desk.clock.now_ms() + 10_000)
    desk.renew(renewed)
    desk.run(running)
    desk.arm(armed)
    desk.wait(10_000)
    assert desk.turn().now_armed == ()
    assert desk.counts == (0, 1, 2)


def test_leases_are_taken_back_in_bounded_pages(desk: Desk) -> None:
    desk.arm(*many_due_at(desk.now, 2_001))
    desk.wait(LEASES.armed_ms)
    assert desk.turn(credit=0).armed == 1
    assert desk.turn(credit=0).armed == 0


# turn: arming


def test_a_turn_arms_what_is_due_within_the_lead(desk: Desk) -> None:
    within, beyond = due_at(desk.now + LEASES.lead_ms, 1), due_at(desk.now + LEASES.lead_ms + 1, 2)
    desk.add(within, beyond)
    turn = desk.turn()
    assert turn.now_armed == (within,)
    assert (turn.due, turn.armed, turn.running, turn.next_due_at) == (1, 1, 0, beyond.due_at)
    assert not turn.is_empty


def test_a_turn_of_an_empty_slice_is_empty(desk: Desk) -> None:
    turn = desk.turn()
    assert turn.is_empty
    assert turn.next_due_at is None


@pytest.mark.parametrize("state", ["due", "armed", "running"])
def test_a_slice_that_holds_anything_is_not_empty(desk: Desk, state: str) -> None:
    desk.add(due_at(desk.now + 500))
    if state != "due":
        desk.turn()
    if state == "running":
        desk.claim(due_at(desk.now + 500))
    assert not desk.look().is_empty


def test_the_nearest_are_armed_first(desk: Desk) -> None:
    members = [due_at(desk.now + moment, moment) for moment in (300, 100, 200)]
    desk.add(*members)
    assert desk.turn(credit=2).now_armed == (members[1], members[2])
    assert desk.turn(credit=3).now_armed == (members[0],)


def test_what_is_yet_to_come_is_armed_before_a_backlog(desk: Desk) -> None:
    backlog = [due_at(desk.now - LATE_MS - number, number) for number in range(1, 9)]
    coming = [due_at(desk.now + moment, 100 + moment) for moment in (-LATE_MS + 50, 0, 900)]
    desk.add(*backlog, *coming)
    assert desk.turn(credit=4).now_armed == (*coming, backlog[-1])
    assert desk.turn(credit=5).now_armed == (backlog[-2],)


def test_a_backlog_has_its_share_where_on_time_work_never_ends(desk: Desk) -> None:
    backlog = [due_at(desk.now - LATE_MS - number, number) for number in range(1, 9)]
    coming = [due_at(desk.now + 100, 100 + number) for number in range(40)]
    desk.add(*backlog, *coming)
    armed = desk.turn(credit=8).now_armed
    assert [due.due_at < desk.now for due in armed] == [False] * 6 + [True] * 2


def test_what_runs_takes_credit_from_a_backlog_so_that_executors_have_room_for_what_comes(desk: Desk) -> None:
    backlog = [due_at(desk.now - LATE_MS - number, number) for number in range(1, 9)]
    desk.add(*backlog)
    desk.claim(*desk.turn(credit=6).now_armed)
    coming = due_at(desk.now + 100, 100)
    desk.add(coming)
    assert desk.turn(credit=6).now_armed == (coming,)
    assert desk.turn(credit=9).now_armed == (backlog[1], backlog[0])


def test_a_crowd_leaves_places_to_what_comes_due_after_it(desk: Desk) -> None:
    crowd = [due_at(desk.now + 100, number) for number in range(1, 21)]
    later = [due_at(desk.now + 200 + number, number) for number in range(30, 33)]
    desk.add(*crowd, *later)
    assert {due.due_at for due in desk.turn(credit=16).now_armed} == {
        desk.now + 100,
        *(due.due_at for due in later[:2]),
    }
    assert desk.turn(credit=16).now_armed == ()
    assert len(desk.turn(credit=24).now_armed) == 7


def test_a_crowd_alone_leaves_its_places_empty(desk: Desk) -> None:
    crowd = [due_at(desk.now + 100, number) for number in range(1, 21)]
    desk.add(*crowd)
    assert len(desk.turn(credit=16).now_armed) == 14
    assert desk.turn(credit=16).now_armed == ()
    later = due_at(desk.now + 150, 40)
    desk.add(later)
    assert desk.turn(credit=16).now_armed == (later,)


def test_a_part_of_a_backlog_is_armed_whatever_runs(desk: Desk) -> None:
    backlog = [due_at(desk.now - LATE_MS - number, number) for number in range(1, 5)]
    desk.add(*backlog)
    desk.claim(*desk.turn(credit=1).now_armed)
    assert desk.turn(credit=1).now_armed == ()
    assert desk.turn(credit=3, backlog=BacklogRoom(anyway=2)).now_armed == (backlog[2], backlog[1])
    assert desk.turn(credit=3, backlog=BacklogRoom(anyway=2)).now_armed == (backlog[0],)


def test_a_backlog_is_armed_in_full_chunks_but_for_its_end(desk: Desk) -> None:
    backlog = [due_at(desk.now - LATE_MS - number, number) for number in range(1, 11)]
    desk.add(*backlog)
    room = BacklogRoom(full=3)
    counts = []
    for credit in (5, 5, 7, 9, 10, 9):
        armed = desk.turn(credit=credit, backlog=room).now_armed
        desk.claim(*armed)
        counts.append(len(armed))
    assert counts == [3, 0, 3, 3, 1, 0]


def test_credit_bounds_what_stands_armed(desk: Desk) -> None:
    desk.add(*many_due_at(desk.now, 10))
    assert len(desk.turn(credit=4).now_armed) == 4
    assert len(desk.turn(credit=4).now_armed) == 0
    assert len(desk.turn(credit=2).now_armed) == 0
    assert len(desk.turn(credit=5).now_armed) == 1


def test_what_runs_costs_no_credit(desk: Desk) -> None:
    members = many_due_at(desk.now, 8)
    desk.add(*members)
    armed = desk.turn(credit=4).now_armed
    desk.claim(*armed)
    turn = desk.turn(credit=4)
    assert (len(turn.now_armed), turn.armed, turn.running) == (4, 4, 4)


def test_one_turn_arms_5000_at_most(desk: Desk) -> None:
    desk.add(*many_due_at(desk.now, 5_500))
    assert len(desk.turn().now_armed) == 5_000
    turn = desk.turn()
    assert (len(turn.now_armed), turn.due, turn.armed) == (500, 0, 5_500)


# next need


def test_a_slice_needs_a_trigger_one_lead_before_its_first_moment(desk: Desk) -> None:
    desk.add(due_at(desk.now + 30_000, 1), due_at(desk.now + 20_000, 2))
    assert desk.slices.next_need(desk.slice) == desk.now + 20_000 - LEASES.lead_ms


def test_a_slice_needs_a_trigger_when_an_armed_lease_ends(desk: Desk) -> None:
    desk.arm(due_at(desk.now))
    desk.add(due_at(desk.now + 30_000, 2))
    assert desk.slices.next_need(desk.slice) == desk.now + LEASES.armed_ms


def test_a_slice_needs_a_trigger_when_a_running_lease_ends(desk: Desk) -> None:
    desk.run(due_at(desk.now))
    desk.add(due_at(desk.now + 30_000, 2))
    assert desk.slices.next_need(desk.slice) == desk.now + LEASES.running_ms


def test_an_empty_slice_needs_no_trigger(desk: Desk) -> None:
    assert desk.slices.next_need(desk.slice) is None
    desk.turn()
    assert desk.slices.next_need(desk.slice) is None


# claim


def test_a_claim_drops_what_is_no_longer_armed(desk: Desk) -> None:
    armed, still_due = due_at(desk.now, 1), due_at(desk.now + 30_000, 2)
    desk.arm(armed)
    desk.add(still_due)
    assert desk.claim(still_due, due_at(desk.now, 3), armed) == [Taken(armed.member, True)]
    assert desk.counts == (1, 0, 1)


def test_a_claim_is_repeatable_by_its_id(desk: Desk) -> None:
    members = many_due_at(desk.now + 500, 3)
    desk.arm(*members)
    once = desk.claim(*members)
    assert desk.claim(*members) == once
    assert desk.counts == (0, 0, 3)


def test_a_second_delivery_claims_nothing(desk: Desk) -> None:
    member = due_at(desk.now + 500)
    desk.run(member, claim_id="c1")
    assert desk.claim(member, claim_id="c2") == []
    assert desk.renew(member, claim_id="c1") == {member.member}


def test_an_old_message_claims_nothing_after_a_re_arm_was_claimed(desk: Desk) -> None:
    member = due_at(desk.now + 500)
    desk.arm(member)
    desk.wait(LEASES.armed_ms)
    desk.turn()
    assert len(desk.claim(member, claim_id="new")) == 1
    assert desk.claim(member, claim_id="old") == []


def test_an_old_message_of_attempt_1_cannot_claim_attempt_2(desk: Desk) -> None:
    first = due_at(desk.now + 500)
    second = due_at(desk.now + 600, attempt=2, fire_at=first.due_at)
    desk.run(first)
    desk.add(second)
    desk.release(first)
    assert [due.member for due in desk.turn().now_armed] == [second.member]
    assert desk.claim(first, claim_id="late") == []
    assert desk.counts == (0, 1, 0)


def test_a_claim_holds_for_a_running_lease(desk: Desk) -> None:
    member = due_at(desk.now)
    desk.arm(member)
    desk.wait(3_000)
    desk.claim(member)
    assert desk.slices.next_need(desk.slice) == desk.now + 3_000 + LEASES.running_ms


def test_a_claim_of_nothing_takes_nothing(desk: Desk) -> None:
    assert desk.claim() == []


# renew, release, put back


def test_renewing_touches_only_what_is_mine(desk: Desk) -> None:
    mine, theirs, gone = due_at(desk.now, 1), due_at(desk.now, 2), due_at(desk.now, 3)
    desk.run(mine, gone, claim_id="me")
    desk.run(theirs, claim_id="they")
    desk.release(gone, claim_id="me")
    desk.wait(2_000)
    assert desk.renew(mine, theirs, gone, claim_id="me") == {mine.member}
    assert desk.counts == (0, 0, 2)
    desk.wait(LEASES.running_ms - 2_000)
    assert desk.turn(credit=0).running == 1
    assert desk.renew(theirs, claim_id="they") == set()


def test_a_renewed_lease_lasts_as_long_as_a_new_one(desk: Desk) -> None:
    member = due_at(desk.now)
    desk.run(member)
    desk.wait(2_000)
    desk.renew(member)
    assert desk.slices.next_need(desk.slice) == desk.now + 2_000 + LEASES.running_ms


def test_a_renewal_that_comes_late_does_not_shorten_a_lease(desk: Desk) -> None:
    member = due_at(desk.now)
    desk.run(member)
    late = desk.slices_held_up.renew({(desk.slice, "c1"): [member.member]})
    assert late == {(desk.slice, "c1"): {member.member}}
    assert desk.slices.next_need(desk.slice) == desk.now + LEASES.running_ms


def test_claims_are_renewed_together(desk: Desk) -> None:
    members = many_due_at(desk.now, 2)
    desk.arm(*members)
    desk.claim(members[0], claim_id="a")
    desk.claim(members[1], claim_id="b")
    both = [due.member for due in members]
    mine = desk.slices.renew({(desk.slice, "a"): both, (desk.slice, "b"): both, (desk.slice, "c"): []})
    assert list(mine.values()) == [{both[0]}, {both[1]}, set()]
    assert desk.slices.renew({}) == {}


def test_releasing_touches_only_what_is_mine(desk: Desk) -> None:
    mine, theirs = due_at(desk.now, 1), due_at(desk.now, 2)
    desk.run(mine, claim_id="me")
    desk.run(theirs, claim_id="they")
    desk.release(mine, theirs, due_at(desk.now, 3), claim_id="me")
    assert desk.counts == (0, 0, 1)
    assert desk.renew(theirs, claim_id="they") == {theirs.member}


def test_a_released_member_is_no_longer_suspected(desk: Desk) -> None:
    member = due_at(desk.now)
    desk.run(member)
    desk.release(member)
    later = member._replace(due_at=desk.now + 5_000)
    desk.add(later)
    desk.wait(4_500)
    assert not desk.is_suspect(later)


def test_a_released_member_cannot_be_claimed_by_its_old_id(desk: Desk) -> None:
    member = due_at(desk.now)
    desk.run(member)
    desk.release(member)
    assert desk.claim(member) == []


def test_many_are_released_together(desk: Desk) -> None:
    members = many_due_at(desk.now, 2_500)
    desk.run(*members)
    desk.release(*members)
    assert desk.look().is_empty
    desk.slices.release({})


def test_putting_back_touches_only_what_is_mine(desk: Desk) -> None:
    mine, theirs = due_at(desk.now, 1), due_at(desk.now, 2)
    desk.run(mine, claim_id="me")
    desk.run(theirs, claim_id="they")
    later = [due._replace(due_at=desk.now + 3_000) for due in (mine, theirs, due_at(desk.now, 3))]
    desk.put_back(*later, claim_id="me")
    turn = desk.look()
    assert (turn.due, turn.running, turn.next_due_at) == (1, 1, desk.now + 3_000)
    assert desk.renew(mine, claim_id="me") == set()


def test_a_member_that_was_put_back_is_suspect(desk: Desk) -> None:
    member = due_at(desk.now + LEASES.lead_ms + 1)
    desk.add(member)
    desk.wait(1)
    desk.turn()
    assert desk.claim(member) == [Taken(member.member, False)]
    desk.put_back(member)
    assert desk.is_suspect(member)


# deaths


def run_out(desk: Desk, due: DueMember, times: int = 1) -> None:
    """Let it be claimed and never renewed, that many times."""
    desk.add(due)
    for number in range(times):
        desk.turn()
        assert len(desk.claim(due, claim_id=f"dies{number}")) == 1
        desk.wait(LEASES.running_ms)
    desk.turn()


def deaths(desk: Desk, due: DueMember) -> int:
    (taken,) = desk.claim(due, claim_id="asks")
    return taken.deaths


@pytest.mark.parametrize(("times", "counted"), [(0, 0), (1, 1), (2, 2), (3, 2), (5, 2)])
def test_deaths_are_counted_up_to_two(desk: Desk, times: int, counted: int) -> None:
    member = due_at(desk.now)
    run_out(desk, member, times)
    assert deaths(desk, member) == counted


def test_a_message_that_got_lost_is_no_death(desk: Desk) -> None:
    member = due_at(desk.now)
    desk.arm(member)
    desk.wait(LEASES.armed_ms)
    desk.turn()
    assert deaths(desk, member) == 0


def test_a_member_tried_apart_has_as_many_deaths_after_the_next_as_was_noted(desk: Desk) -> None:
    member = due_at(desk.now)
    run_out(desk, member, 2)
    assert desk.claim(member, claim_id="apart") == [Taken(member.member, True, 2)]
    assert desk.try_apart(member, deaths=5) == {member.member}
    desk.wait(LEASES.running_ms)
    desk.turn()
    assert deaths(desk, member) == 5
    desk.wait(LEASES.running_ms)
    desk.turn()
    assert deaths(desk, member) == 5, "a death not apart says nothing new"


@pytest.mark.parametrize("lets_go", ["put_back", "release"])
def test_one_tried_apart_that_was_put_back_or_is_over_was_not_died_on(desk: Desk, lets_go: str) -> None:
    member = due_at(desk.now)
    run_out(desk, member, 2)
    desk.claim(member, claim_id="apart")
    desk.try_apart(member)
    getattr(desk, lets_go)(member, claim_id="apart")
    run_out(desk, member)
    assert deaths(desk, member) == (2 if lets_go == "put_back" else 1)


def test_only_its_holder_tries_a_member_apart(desk: Desk) -> None:
    member, its = due_at(desk.now, 1), due_at(desk.now, 2)
    run_out(desk, member, 2)
    desk.run(its, claim_id="apart")
    assert desk.try_apart(member, its) == {its.member}
    desk.wait(LEASES.running_ms)
    desk.turn()
    assert (deaths(desk, member), deaths(desk, its)) == (2, 5)


def test_a_claim_tells_the_deaths_of_each_of_its_members(desk: Desk) -> None:
    twice, never = due_at(desk.now, 1), due_at(desk.now + 30_000, 2)
    desk.add(never)
    run_out(desk, twice, 2)
    desk.clock.move_to(never.due_at)
    desk.turn()
    assert desk.claim(never, twice) == [Taken(never.member, False, 0), Taken(twice.member, True, 2)]


def test_releasing_forgets_deaths_and_putting_back_does_not(desk: Desk) -> None:
    member = due_at(desk.now)
    run_out(desk, member)
    assert deaths(desk, member) == 1
    desk.put_back(member, claim_id="asks")
    desk.turn()
    assert deaths(desk, member) == 1
    desk.release(member, claim_id="asks")
    desk.arm(member)
    assert deaths(desk, member) == 0


# expiry


def _add(desk: Desk, members: Sequence[DueMember]) -> None:
    desk.add(*members)


def _arm_now(desk: Desk, members: Sequence[DueMember]) -> None:
    desk.slices.arm_now(desk.slice, members)


def _arm(desk: Desk, members: Sequence[DueMember]) -> None:
    desk.arm(*members)


def _run(desk: Desk, members: Sequence[DueMember]) -> None:
    desk.run(*members)


def _put_back(desk: Desk, members: Sequence[DueMember]) -> None:
    desk.run(*members)
    desk.put_back(*members)


def _take_back(desk: Desk, members: Sequence[DueMember]) -> None:
    desk.run(*members)
    desk.wait(LEASES.running_ms)
    desk.turn(credit=0)


def _try_apart(desk: Desk, members: Sequence[DueMember]) -> None:
    desk.run(*members)
    assert desk.try_apart(*members, claim_id="c1")


STEPS = [_add, _arm_now, _arm, _run, _put_back, _take_back, _try_apart]


@pytest.mark.parametrize("step", STEPS)
def test_a_slice_is_forgotten_a_day_after_its_minute(desk: Desk, step: object) -> None:
    step(desk, [due_at(desk.now)])
    end = desk.slice.ends_at / 1_000
    assert desk.hot.lives_s(desk.slice) == end + DAY_S - desk.clock.now_ms() / 1_000


@pytest.mark.parametrize("step", STEPS)
def test_a_slice_of_a_long_past_minute_does_not_vanish_at_once(desk: Desk, step: object) -> None:
    desk.slice = Slice.at(desk.now - 3 * DAY_S * 1_000, 0)
    step(desk, [due_at(desk.slice.starts_at)])
    assert not desk.look().is_empty
    assert desk.hot.lives_s(desk.slice) == DAY_S


def test_a_slice_ahead_lives_until_a_day_after_it(desk: Desk) -> None:
    desk.slice = Slice(desk.slice.minute + 120, 0)
    desk.add(due_at(desk.slice.starts_at))
    assert desk.hot.lives_s(desk.slice) == 121 * MINUTE_MS / 1_000 + DAY_S


def needs_of_same(desk: Desk, *expected: DueMember) -> dict[Slice, int]:
    tally = tally_of([(one.member.timer_id, one.due_at) for one in expected])
    return desk.slices.needs_of_same({desk.slice: tally})


def test_a_slice_that_holds_what_is_tallied_tells_when_it_needs_a_trigger(desk: Desk) -> None:
    held = [due_at(desk.now + 20_000 + number, number) for number in range(1, 4)]
    desk.add(*held)
    assert needs_of_same(desk, *held) == {desk.slice: desk.now + 20_001 - LEASES.lead_ms}


def test_a_slice_whose_trigger_is_needed_earlier_for_what_runs_tells_that(desk: Desk) -> None:
    desk.run(due_at(desk.now, 9))
    later = due_at(desk.now + 20_000)
    desk.add(later)
    assert needs_of_same(desk, later) == {desk.slice: desk.now + LEASES.running_ms}


@pytest.mark.parametrize(
    "expected",
    [
        [(20_000, 1), (20_000, 2), (20_000, 3)],
        [(20_000, 1), (20_000, 3)],
        [(20_000, 1), (20_001, 2)],
    ],
    ids=["one is missing", "another timer's", "another moment"],
)
def test_a_slice_that_holds_others_than_are_tallied_is_left_out(
    desk: Desk, expected: list[tuple[int, int]]
) -> None:
    desk.add(due_at(desk.now + 20_000, 1), due_at(desk.now + 20_000, 2))
    assert needs_of_same(desk, *(due_at(desk.now + after, one) for after, one in expected)) == {}


def test_what_is_armed_is_not_tallied(desk: Desk) -> None:
    desk.arm(due_at(desk.now))
    assert needs_of_same(desk, due_at(desk.now)) == {}


def test_a_tally_goes_on_over_pages(hot: HotWorld, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wangtimer.store.redis.slices.MEMBERS_A_SCRIPT", 2)
    held = [due_at(desk.now + 20_000 + number, number) for number in range(1, 6)]
    desk.add(*held[:4])
    assert needs_of_same(desk, *held) == {}
    desk.add(*held)
    assert needs_of_same(desk, *held) == {desk.slice: desk.now + 20_001 - LEASES.lead_ms}


def test_others_commands_wait_for_one_page_of_a_tally(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis runs the scripts of one trip in a row: fifty pages of a full minute once held up all claims for 60 ms."""
    monkeypatch.setattr("wangtimer.store.redis.slices.MEMBERS_A_SCRIPT", 2)
    trips: list[int] = []

    def counted(
        client: "Redis", calls: Sequence[ScriptCall], then: Callable[[Any], None] | None
    ) -> list[Any]:
        trips.append(sum(call.script.name == "tally" for call in calls))
        return pipeline(client, calls, then)

    pipeline = connection._pipeline
    monkeypatch.setattr(connection, "_pipeline", counted)
    with (
        closing(connection.RedisConnection(redis_url)) as connected,
        closing(Redis.from_url(redis_url)) as raw,
    ):
        desk = Desk(redis_hot(connected, raw))
        held = [due_at(desk.now + 20_000 + number, number) for number in range(1, 6)]
        desk.add(*held)
        assert needs_of_same(desk, *held)
    assert max(trips) <= 1


def test_ids_of_53_bits_are_tallied_exactly(desk: Desk) -> None:
    """Redis counts in numbers that hold no sum of two of them."""
    largest = 2**53 - 1
    held = [due_at(desk.now + 20_000, largest - number) for number in range(2_000)]
    desk.add(*held)
    assert needs_of_same(desk, *held) == {desk.slice: desk.now + 20_000 - LEASES.lead_ms}
    assert needs_of_same(desk, *held[:-1], due_at(desk.now + 20_000, largest - 2_000)) == {}


def test_nothing_tallied_asks_nothing(desk: Desk) -> None:
    assert desk.slices.needs_of_same({}) == {}
