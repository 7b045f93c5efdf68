"""Ticks that come in a bunch are one tick."""

from tests.fakes.hand_clock import HandClock
from wangtimer.core.pace import Pace


def test_a_bunch_is_one_and_the_next_comes_after_the_least_time() -> None:
    clock = HandClock()
    pace = Pace(clock, 0.3)
    assert [pace.is_due() for _ in range(5)] == [True, False, False, False, False]
    clock.sleep(0.3)
    assert [pace.is_due(), pace.is_due()] == [True, False]
