"""Arrivals are judged by the load's moments."""

from math import isnan

from benchmarks.lateness import Punctuality, drain_rate, percentile
from benchmarks.target import Arrival


def test_what_did_not_come_is_lost_and_what_came_twice_is_a_duplicate() -> None:
    arrivals = [Arrival(1_000, 1, 1_002), Arrival(1_000, 1, 1_009), Arrival(1_000, 2, 1_004)]
    judged = Punctuality.of([1, 2, 3], arrivals)
    assert (judged.count, judged.lost, judged.duplicates, judged.early) == (2, 1, 1, 0)
    assert (judged.p50_ms, judged.max_ms) == (4, 4)


def test_an_arrival_before_its_moment_is_early() -> None:
    assert Punctuality.of([1], [Arrival(1_000, 1, 999)]).early == 1


def test_calls_of_another_load_count_for_nothing() -> None:
    judged = Punctuality.of([1], [Arrival(1_000, 1, 1_000), Arrival(0, 7, 9_000), Arrival(0, 7, 9_000)])
    assert (judged.count, judged.duplicates, judged.max_ms) == (1, 0, 0)


def test_a_percentile_is_the_value_that_its_share_does_not_exceed() -> None:
    assert percentile(range(1_000), 0.99) == 990
    assert percentile([5], 0.5) == percentile([5], 1.0) == 5
    assert isnan(percentile([], 0.5))


def test_a_drain_is_counted_from_the_moment_to_the_last_arrival() -> None:
    arrivals = [Arrival(10_000, id_, 10_000 + 5 * id_) for id_ in range(101)]
    assert drain_rate(10_000, arrivals) == 101 / 0.5
