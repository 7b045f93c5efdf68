"""The demo's verdict: what it calls lost, doubled, early or astray."""

from dataclasses import replace
from pathlib import Path

import pytest

from wangtimer.stack.arrivals import Arrival, EverySecond, Journal, Once, Summary, summarise

CRON = EverySecond("1", enabled_at=10_400.0)
ONCE = Once("2", create_began_at=10_100.0, create_ended_at=10_110.0, delay_ms=3_000)


def arrival(timer: str, fire_at: int, late: float = 2.0) -> Arrival:
    return Arrival(timer, fire_at, "1", f"{timer}:{fire_at}", fire_at + late)


CLEAN = [arrival("1", moment) for moment in (11_000, 12_000, 13_000, 14_000)] + [
    arrival("2", 13_105, late=4.0)
]


def verdict(arrivals: list[Arrival]) -> Summary:
    return summarise(arrivals, CRON, ONCE)


def test_each_expected_moment_once_is_clean() -> None:
    summary = verdict(CLEAN)
    assert summary.is_clean
    assert (summary.count, summary.lateness_p50, summary.lateness_max) == (5, 2.0, 4.0)


@pytest.mark.parametrize("missing", range(5))
def test_a_moment_that_did_not_come_is_lost_unless_it_may_still_come(missing: int) -> None:
    summary = verdict(CLEAN[:missing] + CLEAN[missing + 1 :])
    still_to_come = missing == 3
    assert summary.lost == (0 if still_to_come else 1)
    assert summary.is_clean == still_to_come


def test_a_moment_before_the_enabling_was_answered_may_come_and_may_not() -> None:
    assert verdict([arrival("1", 10_000), *CLEAN]).is_clean


def test_a_second_delivery_is_a_duplicate_also_as_a_further_attempt() -> None:
    assert verdict([*CLEAN, replace(CLEAN[0], attempt="2", arrived_at=12_500.0)]).duplicates == 1


def test_one_id_on_two_moments_is_a_duplicate() -> None:
    assert verdict([CLEAN[0], replace(CLEAN[1], firing=CLEAN[0].firing), *CLEAN[2:]]).duplicates == 1


def test_a_callback_before_its_moment_is_early() -> None:
    summary = verdict([arrival("1", 11_000, late=-0.5), *CLEAN[1:]])
    assert summary.early == 1
    assert not summary.is_clean


@pytest.mark.parametrize("stray", [arrival("1", 11_500), arrival("2", 19_000), arrival("3", 11_000)])
def test_a_moment_no_schedule_names_is_astray(stray: Arrival) -> None:
    assert not verdict([*CLEAN, stray]).is_clean


def test_nothing_at_all_is_not_clean() -> None:
    assert not verdict([]).is_clean


def test_a_line_still_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    headers = (
        '"x-wangtimer-timer":"1","x-wangtimer-fire-at":"11000","x-wangtimer-attempt":"1","webhook-id":"a"'
    )
    line = f'{{"arrivedAt":11002.5,"method":"POST","path":"/","headers":{{{headers}}},"body":""}}\n'
    path = tmp_path / "requests.jsonl"
    journal = Journal(path)
    assert list(journal.new_arrivals()) == []
    path.write_text(line + line[:50])
    assert [seen.lateness_ms for seen in journal.new_arrivals()] == [2.5]
    with path.open("a") as file:
        file.write(line[50:])
    assert len(list(journal.new_arrivals())) == 1
    assert list(journal.new_arrivals()) == []
