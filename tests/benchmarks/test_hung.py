from math import isnan, nan

import pytest

from benchmarks.hung_targets import HungCall
from benchmarks.workloads.hung import recovery

BACK_AT = 1_000.0


def calls(second: float, number: int, late_s: float = 60.0) -> list[HungCall]:
    """Return so many calls that came so long after the targets were back, each so late."""
    arrived_ms = (BACK_AT + second) * 1_000 + 1
    return [HungCall(arrived_ms, int(arrived_ms - late_s * 1_000))] * number


def test_the_first_second_with_half_of_the_best_rate_counts() -> None:
    came = calls(-1, 900) + calls(0, 10) + calls(3, 49) + calls(4, 50) + calls(7, 100) + calls(20, 30)
    figures = recovery(came, BACK_AT, 30.0)
    assert figures["half_rate_after_s"] == 4
    assert figures["best_calls_per_s"] == 100
    assert figures["first_seconds_calls_per_s"] == pytest.approx(20.9)


def test_new_firings_are_late_until_the_last_late_one_of_those_due_after_the_return() -> None:
    came = calls(5, 1, late_s=7) + calls(40, 1, late_s=5) + calls(50, 1, late_s=0.5)
    assert recovery(came, BACK_AT, 20.0)["on_time_after_drain_s"] == pytest.approx(15, abs=0.1)
    assert recovery(came, BACK_AT, 36.0)["on_time_after_drain_s"] == 0


def test_where_nothing_came_or_the_backlog_stayed_there_is_no_figure() -> None:
    assert isnan(recovery([], BACK_AT, 1.0)["half_rate_after_s"])
    assert isnan(recovery(calls(1, 1), BACK_AT, nan)["on_time_after_drain_s"])
