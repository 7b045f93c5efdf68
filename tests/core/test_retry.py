from random import Random

from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.flow.retry import RetryPolicy


@given(st.integers(1, 4), st.integers())
def test_pauses_are_1_2_4_and_8_seconds_give_or_take_a_fifth(attempt: int, seed: int) -> None:
    pause_ms = RetryPolicy().pause_ms(attempt, Random(seed))
    assert pause_ms is not None
    middle_ms = 1_000 * 2 ** (attempt - 1)
    assert 0.8 * middle_ms - 1 <= pause_ms <= 1.2 * middle_ms


def test_pauses_differ_so_that_what_failed_together_does_not_come_back_together() -> None:
    random = Random(1)
    pauses = {RetryPolicy().pause_ms(1, random) for _ in range(100)}
    assert len(pauses) > 50
    assert None not in pauses
    assert min(filter(None, pauses)) < 900 < 1_100 < max(filter(None, pauses))


@given(st.integers(1, 20), st.integers(1, 40))
def test_after_the_last_attempt_of_a_row_there_is_no_other(most: int, attempt: int) -> None:
    pause_ms = RetryPolicy(most=most).pause_ms(attempt, Random(1))
    assert (pause_ms is None) == (attempt % most == 0)


@given(st.integers(2, 20), st.integers(1, 19), st.integers(0, 9))
def test_a_replay_begins_the_row_anew(most: int, attempt: int, replays: int) -> None:
    policy = RetryPolicy(most=most)
    number = min(attempt, most - 1)
    assert policy.pause_ms(number + replays * most, Random(1)) == policy.pause_ms(number, Random(1))


def test_five_attempts_are_made_by_default() -> None:
    assert RetryPolicy().pause_ms(4, Random(1)) is not None
    assert RetryPolicy().pause_ms(5, Random(1)) is None
