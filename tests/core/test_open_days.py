"""Schedules with excluded days against a brute force that knows nothing of days crossed at once."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.oracle.brute_force import moments_by_brute_force
from tests.oracle.expressions import any_expression
from tests.oracle.meaning import read_meaning
from tests.oracle.wall_hours import changes_of
from wangtimer.core.cron.cron import END_MS, Cron
from wangtimer.core.errors import TooMuchWork
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded
from wangtimer.core.time.zones import read_zone
from wangtimer.core.work_budget import work_budget

SECOND_MS, HOUR_MS, DAY_MS = 1_000, 3_600_000, 86_400_000
WEEKENDS = built_in()["weekends"]
# How far a moment is looked for hour by hour.
LOOKED_AT_MS = 9 * DAY_MS
# Each zone with a year of odd changes: half an hour, midnight missing, a day missing, an evening missing, and a
# midnight that comes twice.
ZONES = {
    "UTC": 2026,
    "Asia/Shanghai": 1991,
    "America/New_York": 2026,
    "Australia/Lord_Howe": 2026,
    "America/Sao_Paulo": 2018,
    "Africa/Cairo": 2026,
    "Pacific/Apia": 2011,
    "America/Nuuk": 2026,
    "America/St_Johns": 2008,
}


def at(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=read_zone(zone)).timestamp() * 1_000)


def day_of(moment_ms: int, zone: str) -> date:
    return datetime.fromtimestamp(moment_ms // 1_000, read_zone(zone)).date()


def moments_of(rule: Cron | Every, after_ms: int, until_ms: int) -> list[int]:
    """Return the rule's moments in (after_ms, until_ms], by arithmetic or as the wall clock shows them."""
    if isinstance(rule, Cron):
        return moments_by_brute_force(read_meaning(rule.expression), rule.timezone, after_ms, until_ms)
    first = rule.anchor_ms + max(0, (after_ms - rule.anchor_ms) // rule.interval_ms + 1) * rule.interval_ms
    return list(range(first, min(until_ms, END_MS - 1) + 1, rule.interval_ms))


def open_moments(schedule: Bounded, after_ms: int, until_ms: int) -> Iterator[int]:
    """Yield the moments in (after_ms, until_ms], looking at each hour and each moment by itself."""
    zone, excluded = schedule.timezone, schedule.excluded
    assert excluded is not None
    for hour_ms in range(after_ms, until_ms, HOUR_MS):
        for moment in moments_of(schedule.rule, hour_ms, min(hour_ms + HOUR_MS, until_ms)):
            if not excluded.excludes(day_of(moment, zone)):
                yield moment


@st.composite
def questions(draw: st.DrawFn) -> tuple[Bounded, int]:
    """Return any rule without the days of any calendar, and a moment after which to look for one of its own."""
    zone = draw(st.sampled_from(sorted(ZONES)))
    year = draw(st.sampled_from([ZONES[zone], 2026]))
    middles = [second * SECOND_MS for second in changes_of(zone, year)] or [at(f"{year}-05-01T00:00:00")]
    after_ms = draw(st.sampled_from(middles)) + draw(st.integers(-5 * DAY_MS, DAY_MS))
    nearby = [day_of(after_ms, zone) + timedelta(days=days) for days in range(-1, 8)]
    own = st.builds(
        Calendar,
        st.just("own"),
        st.frozensets(st.integers(0, 6), max_size=6),
        st.frozensets(st.sampled_from(nearby)),
        st.frozensets(st.sampled_from(nearby), max_size=3),
    )
    dense = st.sampled_from(["* * * * * *", "*/5 * * * * *", "*/7 * * * *", "30 23 * * *", "30 2 * * *"])
    any_of_all = st.integers(0, 2**32).map(lambda seed: any_expression(Random(seed), year))
    crons = st.builds(Cron, dense | any_of_all, st.just(zone))
    intervals = st.integers(SECOND_MS, 10 * SECOND_MS) | st.integers(SECOND_MS, 8 * DAY_MS)
    anchors = st.integers(-3 * DAY_MS, 2 * DAY_MS).map(lambda shift: after_ms + shift)
    rule = draw(crons | st.builds(Every, intervals, anchors, st.just(zone)))
    return Bounded(rule, excluded=draw(st.sampled_from(sorted(built_in().values(), key=str)) | own)), after_ms


FRIDAY_EVENING = at("2026-11-20T23:59:57")


@settings(max_examples=30, deadline=None)
@given(questions())
@example((Bounded(Cron("*/5 * * * * *", "UTC"), excluded=WEEKENDS), FRIDAY_EVENING))
@example((Bounded(Every(SECOND_MS, 0, "America/Nuuk"), excluded=WEEKENDS), at("2026-03-27T12:00:00")))
@example(
    (
        Bounded(Cron("30 23 * * 6", "America/Nuuk"), excluded=Calendar("own", frozenset({5}))),
        at("2026-03-28T00:00:00"),
    )
)
def test_the_first_moment_is_that_of_the_brute_force(question: tuple[Bounded, int]) -> None:
    schedule, after_ms = question
    until_ms = after_ms + LOOKED_AT_MS
    found = schedule.first_after(after_ms)
    wanted = next(open_moments(schedule, after_ms, until_ms), None)
    assert wanted == (None if found is None or found > until_ms else found)
    if wanted is not None:
        assert schedule.matches(wanted)


@settings(max_examples=25, deadline=None)
@given(questions(), st.integers(1, 200), st.integers(HOUR_MS, 3 * DAY_MS))
def test_moments_and_matches_are_those_of_the_brute_force(
    question: tuple[Bounded, int], limit: int, length_ms: int
) -> None:
    schedule, after_ms = question
    until_ms = after_ms + length_ms
    wanted = [
        moment for moment, _ in zip(open_moments(schedule, after_ms, until_ms), range(limit), strict=False)
    ]
    assert schedule.moments(after_ms, until_ms, limit) == wanted
    seen_until_ms = wanted[-1] if len(wanted) == limit else until_ms
    of_the_rule = moments_of(schedule.rule, after_ms, min(seen_until_ms, after_ms + 2 * HOUR_MS))
    for moment in of_the_rule[:: max(1, len(of_the_rule) // 20)]:
        assert schedule.matches(moment) is (moment in set(wanted))


@pytest.mark.parametrize(
    "rule",
    [
        Cron("* * * * * *", "UTC"),
        Cron("*/5 * * * * *", "UTC"),
        Cron("*/6 * * * * *", "UTC"),
        Every(1_000, 0),
        Every(6_000, 0),
    ],
)
def test_a_dense_timer_goes_on_after_its_closed_days(rule: Cron | Every) -> None:
    schedule = Bounded(rule, excluded=WEEKENDS)
    monday = at("2026-11-23T00:00:00")
    # 250 ms before midnight no moment of Friday is left to any of them.
    for after_ms in (at("2026-11-20T23:59:59") + 750, at("2026-11-21T12:00:00"), monday - 1):
        first = schedule.first_after(after_ms)
        assert first is not None
        assert monday <= first < monday + 6_000


def test_a_moment_many_years_of_closed_days_ahead_is_found() -> None:
    # A minute later each week: from a Saturday's midnight on it takes 2,880 weeks to leave the weekend.
    saturday = at("2026-11-21T00:00:00")
    drifting = Bounded(Every(7 * DAY_MS + 60_000, saturday), excluded=WEEKENDS)
    assert drifting.first_after(saturday) == saturday + 2_880 * (7 * DAY_MS + 60_000)
    # The one Saturday on which people work.
    make_up = Calendar("own", frozenset({5}), working=frozenset({date(2071, 10, 10)}))
    assert Bounded(Cron("0 9 * * 6", "UTC"), excluded=make_up).first_after(saturday) == at(
        "2071-10-10T09:00:00"
    )


@pytest.mark.parametrize("rule", [Cron("0 9 * * 6", "UTC"), Every(7 * DAY_MS, at("2026-11-21T09:00:00"))])
def test_what_meets_closed_days_only_has_no_moment_to_the_end_of_time(rule: Cron | Every) -> None:
    schedule = Bounded(rule, excluded=WEEKENDS)
    assert schedule.first_after(FRIDAY_EVENING) is None
    assert schedule.moments(0, END_MS, 10) == []


def test_a_search_ends_with_its_window() -> None:
    schedule = Bounded(Cron("* * * * * *", "UTC"), excluded=WEEKENDS)
    assert schedule.moments(FRIDAY_EVENING, at("2026-11-22T12:00:00"), 100) == [
        FRIDAY_EVENING + 1_000,
        FRIDAY_EVENING + 2_000,
    ]


def test_a_search_over_thousands_of_closed_days_asks_the_budget() -> None:
    """Each day the rule names is looked at: 4,000 Sundays, all of them closed."""
    first = date(2026, 11, 1)
    sundays = Calendar("shut", days=frozenset(first + timedelta(days=7 * number) for number in range(4_000)))
    schedule = Bounded(Cron.parse("0 9 * * 0"), excluded=sundays)
    with work_budget(0), pytest.raises(TooMuchWork):
        schedule.first_after(at("2026-10-31T00:00:00"))
    assert schedule.first_after(at("2026-10-31T00:00:00")) == at("2103-07-01T09:00:00")
