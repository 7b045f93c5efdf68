"""Intervals."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wangtimer.core.cron.cron import END_MS, Cron
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.schedules.every import Every, EveryDays
from wangtimer.core.time.zones import DAY_MS

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
        (999, "UTC", "schedule.every"),
        (0, "UTC", "schedule.every"),
        (-5, "UTC", "schedule.every"),
        (10**14, "UTC", "schedule.every"),
        (60_000, "Mars/Olympus", "schedule.timezone"),
    ],
)
def test_what_cannot_be_is_refused_and_the_field_named(interval: int, zone: str, field: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        Every.parse(interval, ANCHOR, zone)
    assert caught.value.field == field


# Kathmandu and Berlin; half an hour; a gap at midnight; a day that was skipped.
ZONES = ["Asia/Kathmandu", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"]
# All of them change their clocks within two months of these days, but for the first.
DAYS = st.dates(date(2011, 9, 1), date(2011, 12, 31))
COUNT = 40


def as_of_daily_crons(zone: str, first: datetime, days: int) -> list[int]:
    """Return the moments by crons of one day each, which know nothing of intervals."""
    found = set()
    for nth in range(COUNT):
        wall = first + timedelta(days * nth)
        day = f"{wall.second} {wall.minute} {wall.hour} {wall.day} {wall.month} ? {wall.year}"
        near_ms = int(wall.replace(tzinfo=UTC).timestamp()) * 1_000
        found |= {*Cron.read(day, zone).moments(near_ms - 3 * DAY_MS, near_ms + 3 * DAY_MS, 1)}
    return sorted(found)


@example("Pacific/Apia", date(2011, 12, 1), time(0), 1)
@example("Pacific/Apia", date(2011, 12, 1), time(9), 1)
@example("America/Sao_Paulo", date(2011, 10, 1), time(0, 30), 1)
@example("Europe/Berlin", date(2011, 10, 1), time(2, 30), 1)
@settings(max_examples=10)
@given(st.sampled_from(ZONES), DAYS, st.times(), st.integers(1, 3))
def test_days_of_the_wall_clock_fire_as_a_cron_of_each_day_does(
    zone: str, day: date, time: time, days: int
) -> None:
    first = datetime.combine(day, time.replace(microsecond=0, fold=0))
    anchor_ms = int(first.replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1_000
    if datetime.fromtimestamp(anchor_ms // 1_000, ZoneInfo(zone)).replace(tzinfo=None) != first:
        return  # no anchor has a wall time that does not exist
    every = EveryDays(days * DAY_MS, anchor_ms, zone)
    wanted = as_of_daily_crons(zone, first, days)
    assert every.moments(0, wanted[-1], 1_000) == wanted
    assert every.moments(wanted[5], wanted[-1], 3) == wanted[6:9]
    assert all(every.matches(at) and not every.matches(at + 1) for at in wanted[:9])


def test_days_of_the_wall_clock_end_where_time_does() -> None:
    every = EveryDays(
        366 * DAY_MS, int(datetime(2026, 1, 1, 9, tzinfo=UTC).timestamp()) * 1_000, "Pacific/Apia"
    )
    last = every.moments(0, END_MS, 1_000)[-1]
    assert datetime.fromtimestamp(last // 1_000, UTC).year == 2199
    assert every.first_after(last) is None
