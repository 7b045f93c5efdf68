"""Retry policies: how long a failed firing waits, and how many attempts it has."""

from random import Random
from typing import Any

import pytest

from wangtimer.core.errors import InvalidInput
from wangtimer.core.retry import (
    HOUR_MS,
    MOST_RETRY_AFTER_MS,
    Backoff,
    RetryPolicy,
    changed_policy,
    first_of_replay,
    number_in_row,
    policy_from_text,
)

MINUTE_MS = 60_000


def waits(policy: RetryPolicy, random: Random | None = None) -> list[int]:
    """Return the waits after each failed attempt of a row."""
    random = random or Random(1)
    found = []
    while (wait := policy.wait_ms(len(found) + 1, random)) is not None:
        found.append(wait)
    return found


@pytest.mark.parametrize(
    ("attempt", "usual_ms"), [(1, 1_000), (2, 2_000), (3, 4_000), (8, 128_000), (10, 300_000)]
)
@pytest.mark.parametrize("seed", range(5))
def test_pauses_double_up_to_five_minutes_and_are_spread(attempt: int, usual_ms: int, seed: int) -> None:
    wait_ms = RetryPolicy().wait_ms(attempt, Random(seed))
    assert wait_ms is not None
    assert 0.8 * usual_ms <= wait_ms <= 1.2 * usual_ms


def test_two_firings_that_fail_together_do_not_come_together_again() -> None:
    random = Random(1)
    assert len({RetryPolicy().wait_ms(1, random) for _ in range(100)}) > 80


@pytest.mark.parametrize("seed", range(20))
def test_the_usual_policy_outlasts_ten_minutes(seed: int) -> None:
    # Each of the first ten attempts fails at once: the eleventh is made after so long.
    assert 10 * MINUTE_MS < sum(waits(RetryPolicy(), Random(seed))) < 20 * MINUTE_MS


def test_a_row_has_as_many_attempts_as_said() -> None:
    assert len(waits(RetryPolicy(attempts=4))) == 3
    assert waits(RetryPolicy(attempts=1)) == []


def test_fixed_pauses_are_the_same() -> None:
    assert waits(RetryPolicy(attempts=4, backoff=Backoff.FIXED, pause_ms=700)) == [700, 700, 700]


def test_listed_pauses_are_as_listed_and_say_how_many_attempts_there_are() -> None:
    policy = RetryPolicy(pauses=(100, 5 * MINUTE_MS, 20 * HOUR_MS))
    assert waits(policy) == [100, 5 * MINUTE_MS, 20 * HOUR_MS]
    assert policy.most == 4


@pytest.mark.parametrize(
    ("policy", "made"),
    [
        (RetryPolicy(within_ms=0), 1),
        (RetryPolicy(within_ms=6_999), 3),
        (RetryPolicy(within_ms=7_000), 4),
        (RetryPolicy(attempts=2, within_ms=HOUR_MS), 2),
        (RetryPolicy(pauses=(1_000, 2_000, 4_000), within_ms=3_500), 3),
    ],
)
def test_no_attempt_is_made_after_longer_pauses_than_may_be(policy: RetryPolicy, made: int) -> None:
    assert policy.most == made == len(waits(policy)) + 1


@pytest.mark.parametrize("policy", [RetryPolicy(attempts=3), RetryPolicy(pauses=(1_000, 2_000))])
@pytest.mark.parametrize("last", [1, 3, 5, 100, 101, 250])
def test_a_replay_begins_a_new_row_whatever_was_made_before(policy: RetryPolicy, last: int) -> None:
    first = first_of_replay(last)
    assert first > last
    assert number_in_row(first) == 1
    made = [
        attempt for attempt in range(first, first + 100) if policy.wait_ms(attempt, Random(1)) is not None
    ]
    assert made == [first, first + 1]


def test_a_replay_of_a_firing_that_was_never_made_is_its_first_attempt() -> None:
    assert first_of_replay(0) == 1


@pytest.mark.parametrize(
    ("final", "retried", "status", "is_tried_again"),
    [
        ((), (), 404, True),
        (("4xx",), (), 404, False),
        (("4xx",), (), 503, True),
        (("404",), (), 404, False),
        (("404",), (), 409, True),
        (("4xx",), ("429",), 429, True),
        (("4xx",), ("429",), 404, False),
        (("429",), ("4xx",), 429, False),
        (("4xx", "5xx"), (), None, True),
    ],
)
def test_statuses_say_whether_a_call_is_tried_again(
    final: tuple[str, ...], retried: tuple[str, ...], status: int | None, is_tried_again: bool
) -> None:
    policy = RetryPolicy(final=final, retried=retried)
    assert (policy.wait_ms(1, Random(1), status) is not None) is is_tried_again


@pytest.mark.parametrize("status", [429, 503])
def test_a_target_says_when_to_come_again(status: int) -> None:
    policy = RetryPolicy(attempts=2, backoff=Backoff.FIXED, pause_ms=1_000)
    assert policy.wait_ms(1, Random(1), status, asked_ms=60_000) == 60_000
    assert policy.wait_ms(2, Random(1), status, asked_ms=60_000) is None


@pytest.mark.parametrize(
    ("status", "asked_ms", "wait_ms"),
    [
        (503, 0, 1_000),
        (503, 999, 1_000),
        (503, 10 * MOST_RETRY_AFTER_MS, MOST_RETRY_AFTER_MS),
        (500, 60_000, 1_000),
    ],
)
def test_what_a_target_says_is_bounded(status: int, asked_ms: int, wait_ms: int) -> None:
    policy = RetryPolicy(backoff=Backoff.FIXED)
    assert policy.wait_ms(1, Random(1), status, asked_ms) == wait_ms


@pytest.mark.parametrize(
    "policy",
    [
        RetryPolicy(),
        RetryPolicy(attempts=3, backoff=Backoff.FIXED, pause_ms=5_000),
        RetryPolicy(pauses=(1, 2, 3), within_ms=5, final=("4xx",), retried=("409",)),
    ],
)
def test_a_policy_is_read_back_from_its_text(policy: RetryPolicy) -> None:
    assert policy_from_text(policy.text()) == policy


def test_a_policy_of_a_later_version_is_refused() -> None:
    with pytest.raises(ValueError, match="until_noon"):
        policy_from_text('{"until_noon":true}')


@pytest.mark.parametrize(
    ("was", "asked", "becomes"),
    [
        (None, {"attempts": 3}, RetryPolicy(attempts=3)),
        (RetryPolicy(pauses=(1, 2)), {"within_ms": 3}, RetryPolicy(pauses=(1, 2), within_ms=3)),
        (RetryPolicy(attempts=3), {"pause_ms": 5}, RetryPolicy(attempts=3, pause_ms=5)),
        (RetryPolicy(attempts=3), {"attempts": None}, RetryPolicy()),
        (RetryPolicy(attempts=3), {"pauses": (1, 2)}, RetryPolicy(pauses=(1, 2))),
        (RetryPolicy(pauses=(1, 2)), {"attempts": 3}, RetryPolicy(attempts=3)),
        (RetryPolicy(pauses=(1, 2)), {"final": ("4xx",)}, RetryPolicy(pauses=(1, 2), final=("4xx",))),
        (RetryPolicy(pauses=(1, 2)), {"pauses": None}, RetryPolicy()),
        (None, {"pause_ms": 600_000}, RetryPolicy(pause_ms=600_000, longest_pause_ms=600_000)),
        (RetryPolicy(longest_pause_ms=2), {"pause_ms": 5}, RetryPolicy(pause_ms=5, longest_pause_ms=5)),
        (
            RetryPolicy(backoff=Backoff.FIXED, pause_ms=600_000),
            {"backoff": None},
            RetryPolicy(pause_ms=600_000, longest_pause_ms=600_000),
        ),
        (
            None,
            {"backoff": Backoff.FIXED, "pause_ms": 600_000},
            RetryPolicy(backoff=Backoff.FIXED, pause_ms=600_000),
        ),
        (RetryPolicy(final=("4xx",)), {"pauses": (1,)}, RetryPolicy(pauses=(1,), final=("4xx",))),
    ],
)
def test_a_change_leaves_what_it_does_not_name(
    was: RetryPolicy | None, asked: dict[str, Any], becomes: RetryPolicy
) -> None:
    assert changed_policy(was, asked) == becomes


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"pauses": (1,), "attempts": 3}, "retry.attempts"),
        ({"pauses": (1,), "longest_pause_ms": 3}, "retry.longestPause"),
        ({"pause_ms": 600_000, "longest_pause_ms": 599_999}, "retry.longestPause"),
        ({"longest_pause_ms": 999}, "retry.longestPause"),
        ({"pauses": (40 * HOUR_MS, 40 * HOUR_MS)}, "retry"),
        ({"attempts": 100, "longest_pause_ms": 2 * HOUR_MS}, "retry"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        changed_policy(None, asked)
    assert refused.value.field == field
