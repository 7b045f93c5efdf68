"""Ticks that come in a bunch are one tick, and a long one keeps others out."""

import pytest

from wangtimer.core.flow.pace import Pace
from wangtimer.testing.doubles.hand_clock import HandClock


def test_a_bunch_is_one_and_the_next_comes_after_the_least_time() -> None:
    clock = HandClock()
    pace = Pace(clock, 0.3)
    assert [pace.is_due() for _ in range(5)] == [True, False, False, False, False]
    clock.sleep(0.3)
    assert [pace.is_due(), pace.is_due()] == [True, False]


def test_while_one_is_under_way_there_is_no_other() -> None:
    clock = HandClock()
    pace = Pace(clock, 0.3)
    with pace.alone() as first:
        clock.sleep(9)
        with pace.alone() as second:
            assert (first, second) == (True, False)
    with pace.alone() as third:
        assert third


def test_one_that_failed_keeps_no_other_out() -> None:
    clock = HandClock()
    pace = Pace(clock, 0.3)
    with pytest.raises(LookupError), pace.alone():
        raise LookupError
    clock.sleep(0.3)
    with pace.alone() as second:
        assert second
