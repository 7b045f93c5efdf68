"""Schedules within bounds, without some days, and spread."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wangtimer.core.cron.cron import END_MS, Cron
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Spread

SECOND_MS, MINUTE_MS, DAY_MS = 1_000, 60_000, 86_400_000
START = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp() * 1_000)
ZONES = ["UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"]
MONTH = [date(2026, 2, 20) + timedelta(days=i) for i in range(45)]

calendars = st.builds(
    Calendar,
    st.just("some"),
    st.frozensets(st.integers(0, 6), max_size=6),
    st.frozensets(st.sampled_from(MONTH), max_size=30),
    st.frozensets(st.sampled_from(MONTH), max_size=5),
)
rules = st.one_of(
    st.builds(
        Cron,
        st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 * * *", "59 23 * * 1-5", "0 */3 1-9 3 *"]),
        st.sampled_from(ZONES),
    ),
    st.builds(
        Every,
        st.integers(600_000, 3 * DAY_MS),
        st.integers(START - DAY_MS, START + DAY_MS),
        st.sampled_from(ZONES),
    ),
)
moments = st.integers(START - 3 * DAY_MS, START + 25 * DAY_MS)


def own(rule: Cron | Every, excluded: Calendar | None, start: int | None, last: int | None) -> list[int]:
    """Return the moments of the days around, each looked at by itself."""
    zone = ZoneInfo(rule.timezone)
    return [
        at
        for at in rule.moments(START - 5 * DAY_MS, START + 40 * DAY_MS, 1_000_000)
        if (start is None or at >= start)
        and (last is None or at <= last)
        and not (excluded and excluded.excludes(datetime.fromtimestamp(at / 1_000, zone).date()))
    ]


@settings(max_examples=100)
@given(rules, st.none() | calendars, st.none() | moments, st.none() | moments, moments, st.integers(0, 40))
def test_it_keeps_the_rules_moments_within_the_bounds_and_on_open_days(
    rule: Cron | Every,
    excluded: Calendar | None,
    start: int | None,
    last: int | None,
    after: int,
    limit: int,
) -> None:
    schedule = Bounded(rule, start, last, excluded)
    until = after + 12 * DAY_MS
    wanted = [at for at in own(rule, excluded, start, last) if after < at <= until]
    assert schedule.moments(after, until, limit) == wanted[:limit]
    assert all(schedule.matches(at) for at in wanted[:5])


@settings(max_examples=100)
@given(rules, st.none() | calendars, st.integers(1, 4 * DAY_MS), st.integers(0, 10**6), moments)
def test_each_moment_is_put_off_by_the_same_whenever_it_is_asked_for(
    rule: Cron | Every, excluded: Calendar | None, most: int, seed: int, cut: int
) -> None:
    spread = Spread(most, seed)
    schedule = Bounded(rule, START, START + 20 * DAY_MS, excluded, spread)
    all_of_it = schedule.moments(START - DAY_MS, END_MS, 100_000)
    plain = own(rule, excluded, START, START + 20 * DAY_MS)
    assert len(all_of_it) == len(plain)
    # Each within its room, and none past the next one's own moment.
    assert all(at <= moved < at + most for at, moved in zip(plain, all_of_it, strict=True))
    assert all(moved < following for moved, following in zip(all_of_it, plain[1:], strict=False))
    parts = schedule.moments(START - DAY_MS, cut, 100_000) + schedule.moments(cut, END_MS, 100_000)
    assert parts == all_of_it
    assert all(schedule.matches(at) for at in all_of_it[:5])
    assert schedule.first_after(cut) == next((at for at in all_of_it if at > cut), None)


def test_a_spread_uses_the_room_it_is_given_and_differs_from_timer_to_timer() -> None:
    hourly = Cron("0 * * * *", "UTC")
    put_off = [
        Bounded(hourly, spread=Spread(60_000, seed)).moments(START - 1, END_MS, 1)[0] - START
        for seed in range(2_000)
    ]
    assert min(put_off) < 500
    assert max(put_off) > 59_500
    assert abs(sum(put_off) / len(put_off) - 30_000) < 1_500
    assert len(set(put_off)) > 1_900


def test_a_moment_that_was_put_off_no_longer_matches_where_it_stood() -> None:
    schedule = Bounded(Cron("0 * * * *", "UTC"), spread=Spread(60_000, 7))
    [moved] = schedule.moments(START, START + 3_600_000 + 60_000, 1)
    assert moved != START + 3_600_000
    assert not schedule.matches(START + 3_600_000)


@pytest.mark.parametrize(("number", "last"), [(1, 0), (2, 1), (3, 2), (2_500, 2_499)])
def test_the_nth_moment_is_counted_from_the_start(number: int, last: int) -> None:
    schedule = Bounded(Every(MINUTE_MS, 0), START)
    assert schedule.nth(number) == START + last * MINUTE_MS


def test_the_nth_moment_of_fewer_is_the_last() -> None:
    assert Bounded(Every(MINUTE_MS, 0), START, START + 90 * SECOND_MS).nth(10) == START + MINUTE_MS
    assert Bounded(Every(MINUTE_MS, 0), START, START - 1).nth(10) is None


def test_excluded_days_are_days_of_the_timers_zone() -> None:
    nine = Bounded(Cron("0 9 * * *", "Asia/Shanghai"), excluded=built_in()["cn-off-days"])
    first = datetime(2026, 9, 30, tzinfo=ZoneInfo("Asia/Shanghai")).timestamp() * 1_000
    shown = [
        datetime.fromtimestamp(at / 1_000, ZoneInfo("Asia/Shanghai"))
        for at in nine.moments(int(first), END_MS, 5)
    ]
    # National Day and Mid-Autumn; the 10th is a Saturday on which people work.
    assert [f"{at:%m-%d %H:%M}" for at in shown] == [
        "09-30 09:00",
        "10-08 09:00",
        "10-09 09:00",
        "10-10 09:00",
        "10-12 09:00",
    ]


def test_what_its_calendar_leaves_nothing_of_never_fires() -> None:
    schedule = Bounded(Cron("0 9 * * 6", "UTC"), excluded=built_in()["weekends"])
    assert schedule.first_after(START) is None


@given(st.sets(st.integers(0, 40)), st.integers(-2, 42), st.integers(1, 60))
def test_cancelled_moments_are_left_out_and_no_others(cancelled: set[int], cut: int, limit: int) -> None:
    moments = [START + number * MINUTE_MS for number in range(41)]
    schedule = Bounded(
        Every(MINUTE_MS, START), START, moments[-1], cancelled=frozenset(moments[n] for n in cancelled)
    )
    kept = [at for number, at in enumerate(moments) if number not in cancelled]
    after = START + cut * MINUTE_MS
    assert schedule.moments(START - 1, END_MS, 100) == kept
    assert schedule.moments(after, END_MS, limit) == [at for at in kept if at > after][:limit]
    assert schedule.first_after(after) == next((at for at in kept if at > after), None)
    assert [at for at in moments if schedule.matches(at)] == kept
    assert schedule.nth(41) == moments[-1]
