from threading import Event, Thread

from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.slicing import Slice
from wangtimer.executor.claim import Claim, Claims


def members(number: int) -> list[Member]:
    return [Member(timer_id, 60_000, 1) for timer_id in range(number)]


def claim_of(claims: Claims, number: int, is_late: bool = True) -> Claim:
    assert claims.take_room(number, lambda: is_late, timeout_s=60)
    return Claim(Slice(1, 0), claims.new_id(), members(number), 0.0, 0.0, claims.give_room)


def claim_soon(claims: Claims, number: int, has_claimed: Event) -> None:
    """Claim in a thread of its own, which may have to wait for room."""

    def claim() -> None:
        claim_of(claims, number)
        has_claimed.set()

    Thread(target=claim, daemon=True).start()


def test_a_process_that_holds_enough_waits_until_some_is_let_go_of() -> None:
    claims = Claims("test", 3)
    first = claim_of(claims, 3)
    has_claimed = Event()
    claim_soon(claims, 2, has_claimed)
    assert not has_claimed.wait(0.05)
    first.let_go(members(1))
    assert has_claimed.wait(5)


def test_what_is_let_go_of_twice_makes_room_once() -> None:
    claims = Claims("test", 2)
    first = claim_of(claims, 2)
    first.let_go(members(2))
    first.let_go(members(2))
    claim_of(claims, 2)
    assert not claims.take_room(1, lambda: True, timeout_s=0.01)


def test_what_is_not_late_yet_does_not_wait_behind_a_backlog() -> None:
    claims = Claims("test", 3)
    claim_of(claims, 4)
    assert len(claim_of(claims, 1, is_late=False).open_members()) == 1


def test_who_finds_no_room_in_time_holds_nothing() -> None:
    claims = Claims("test", 3)
    claim_of(claims, 3)
    assert not claims.take_room(1, lambda: True, timeout_s=0.01)
    assert claims.held == 3


def test_a_chunk_is_claimed_whole_though_it_is_more_than_there_is_room_for() -> None:
    claims = Claims("test", 3)
    claim_of(claims, 2)
    assert len(claim_of(claims, 250).open_members()) == 250


def test_a_crowd_leaves_room_to_few_that_come_due_after_it() -> None:
    claims = Claims("test", 1_000)
    assert claims.take_room(1_700, lambda: False, timeout_s=0.01)
    claim_of(claims, 100, is_late=False)
    assert not claims.take_room(100, lambda: False, timeout_s=0.01)
    assert claims.take_room(20, lambda: False, timeout_s=0.01)
