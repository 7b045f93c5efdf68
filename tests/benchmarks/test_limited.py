import pytest

from benchmarks.hung_targets import HungCall
from benchmarks.workloads.limited import LEFT_OUT_S, of_limit

START, SECONDS, LIMIT = 1_000_000, 25, 10


def steady(per_second: int, seconds: int = SECONDS) -> list[HungCall]:
    step_ms = 1_000 // per_second
    return [HungCall(at, at - 5) for at in range(START, START + seconds * 1_000, step_ms)]


def judged(calls: list[HungCall]) -> dict[str, float]:
    return dict(of_limit(calls, START, START + SECONDS * 1_000, LIMIT))


def test_an_app_that_is_called_at_its_limit_gets_all_of_it_in_order() -> None:
    figures = judged(steady(LIMIT))
    assert figures["of_its_limit_least"] == pytest.approx(100)
    assert 95 <= figures["of_its_limit_most"] <= 100
    assert figures["out_of_order"] == 0


def test_the_first_seconds_do_not_count_for_the_least() -> None:
    first = START + LEFT_OUT_S * 1_000
    assert judged([one for one in steady(LIMIT) if one.arrived_ms >= first])["of_its_limit_least"] == 100


def test_ten_seconds_over_the_limit_are_seen() -> None:
    assert judged(steady(LIMIT) + steady(5, 11))["of_its_limit_most"] > 140


def test_a_firing_that_overtakes_by_seconds_is_seen() -> None:
    calls = steady(LIMIT)
    calls[150] = HungCall(calls[150].arrived_ms, START - 60_000)
    assert judged(calls)["out_of_order"] == pytest.approx(100 / 200)
