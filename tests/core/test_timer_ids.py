"""Ids of timers ascend, fit into a number of JSON, and two processes hardly ever draw the same."""

from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.timers.timer import EPOCH_MS, TimerIds

NOW = 1_800_000_000_000
YEAR_2089 = 3_760_000_000_000
MOMENTS = st.integers(0, YEAR_2089)


@given(st.lists(MOMENTS, min_size=2, max_size=20))
def test_ids_of_one_process_ascend_whatever_its_clock_does(moments: list[int]) -> None:
    ids = TimerIds()
    given_out = [ids.next(now) for now in moments]
    assert given_out == sorted(set(given_out))
    assert given_out[0] > 0


@given(MOMENTS)
def test_an_id_is_a_whole_number_to_every_reader_of_json(now: int) -> None:
    assert TimerIds().next(now) < 2**53


@given(st.integers(EPOCH_MS + 1_000, YEAR_2089), st.integers(1, 10_000_000))
def test_a_later_timer_has_a_larger_id_whoever_makes_it(now: int, after_ms: int) -> None:
    assert TimerIds().next(now) < TimerIds().next(now + after_ms)


def test_ids_of_today_are_larger_than_any_a_database_counted() -> None:
    assert TimerIds().next(NOW) > 10**12


def test_processes_that_make_a_timer_in_one_ms_hardly_ever_draw_the_same() -> None:
    """Of 4,096 numbers; what the primary key refuses is tried again."""
    drawn = {TimerIds().next(NOW) for _ in range(200)}
    assert len(drawn) > 150
