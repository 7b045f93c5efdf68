"""How many firings a lane may hold."""

from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.redis.lanes import BYTES_A_FIRING, LaneBudget

ALL = 1_200
LANES = [SharedLane.of_app(name) for name in "abcdefghij"]
A, B, C = LANES[:3]


def budget(least: int = 1) -> LaneBudget:
    return LaneBudget(ALL * BYTES_A_FIRING, least)


def fill(one: LaneBudget, *lanes: SharedLane) -> list[int]:
    """Let lanes take all they can, again and again by turns; return how many each has then."""
    held = dict.fromkeys(lanes, 0)
    for _ in range(100):
        for lane in lanes:
            held[lane] = max(held[lane], one.most_of(lane))
            one.note(lane, held[lane])
    return list(held.values())


def test_a_lane_alone_may_hold_half() -> None:
    assert fill(budget(), A) == [ALL // 2]


def test_a_second_finds_room_however_full_the_first_is() -> None:
    one = budget()
    fill(one, A)
    assert fill(one, B) == [ALL // 4]


def test_all_together_hold_no_more_than_all() -> None:
    one = budget()
    for lane in LANES:
        fill(one, lane)
    assert sum(one.most_of(lane) for lane in LANES) <= 2 * ALL
    assert sum(fill(one, *LANES)) <= ALL


def test_the_least_is_held_in_any_case() -> None:
    one = budget(least=100)
    one.note(A, ALL)
    assert (one.most_of(B), one.room_of(B)) == (100, 100)


def test_room_is_what_is_not_held_yet() -> None:
    one = budget()
    one.note(A, 500)
    assert one.room_of(A) == ALL // 2 - 500
    one.note(A, ALL)
    assert one.room_of(A) == 0


def test_lanes_that_are_gone_hold_nothing() -> None:
    one = budget()
    fill(one, A, B)
    one.keep([B, C])
    assert one.room_of(A) == one.most_of(A)
    one.keep([])
    assert one.most_of(C) == ALL // 2
