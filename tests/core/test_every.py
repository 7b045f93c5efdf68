"""Intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.cron.cron import END_MS
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.schedules.every import Every

MINUTE_MS = 60_000
ANCHOR = 1_800_000_000_123


def test_moments_lie_an_interval_apart_from_the_anchor_on() -> None:
    every = Every(90_000, ANCHOR)
    assert every.moments(0, END_MS, 3) == [ANCHOR, ANCHOR + 90_000, ANCHOR + 180_000]


def test_nothing_comes_before_the_anchor() -> None:
    assert Every(MINUTE_MS, ANCHOR).moments(0, ANCHOR - 1, 10) == []
    assert Every(MINUTE_MS, ANCHOR).first_after(ANCHOR - MINUTE_MS - 1) == ANCHOR


@given(
    interval=st.integers(1_000, 100_000),
    after=st.integers(-500_000, 500_000),
    length=st.integers(-10, 1_000_000),
    limit=st.integers(0, 50),
)
def test_moments_are_those_between(interval: int, after: int, length: int, limit: int) -> None:
    start, until = ANCHOR + after, ANCHOR + after + length
    wanted = [at for at in range(ANCHOR, until + 1, interval) if start < at]
    every = Every(interval, ANCHOR)
    assert every.moments(start, until, limit) == wanted[:limit]
    assert all(every.matches(at) for at in wanted)


@given(st.integers(1_000, 100_000), st.integers(-100_000, 1_000_000))
def test_a_moment_matches_where_it_is_the_next_after_the_one_before(interval: int, since: int) -> None:
    every = Every(interval, ANCHOR)
    assert every.matches(ANCHOR + since) == (every.first_after(ANCHOR + since - 1) == ANCHOR + since)


def test_it_ends_where_time_does() -> None:
    assert Every(MINUTE_MS, ANCHOR).first_after(END_MS - 1) is None


@pytest.mark.parametrize(
    ("interval", "zone", "field"),
    [
        (999, "UTC", "everyMs"),
        (0, "UTC", "everyMs"),
        (-5, "UTC", "everyMs"),
        (10**14, "UTC", "everyMs"),
        (60_000, "Mars/Olympus", "timezone"),
    ],
)
def test_what_cannot_be_is_refused_and_the_field_named(interval: int, zone: str, field: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        Every.parse(interval, ANCHOR, zone)
    assert caught.value.field == field
