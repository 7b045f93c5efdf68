"""How many firings each minute has: what decides their buckets."""

from tests.store.worlds import HotWorld
from wangtimer.core.flow.slicing import MINUTE_MS


def this_minute(hot: HotWorld) -> int:
    return int(hot.clock.now_ms()) // MINUTE_MS


def test_a_minute_starts_at_nothing(hot: HotWorld) -> None:
    minute = this_minute(hot)
    assert hot.load.reserve({minute: 5, minute + 1: 7}) == {minute: 0, minute + 1: 0}


def test_each_planner_is_told_what_was_there_before(hot: HotWorld) -> None:
    minute = this_minute(hot)
    hot.load.reserve({minute: 5})
    assert hot.load.reserve({minute: 3}) == {minute: 5}
    assert hot.load.reserve({minute + 1: 1, minute: 1}) == {minute + 1: 0, minute: 8}


def test_reserving_nothing_does_nothing(hot: HotWorld) -> None:
    assert hot.load.reserve({}) == {}


def test_a_lost_count_starts_anew(hot: HotWorld) -> None:
    minute = this_minute(hot)
    hot.load.reserve({minute: 5})
    hot.lose_all()
    assert hot.load.reserve({minute: 1}) == {minute: 0}
