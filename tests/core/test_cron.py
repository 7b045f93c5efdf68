"""Cron schedules by example, and by property against two oracles.

Where no clock changes, cronsim is the oracle. Around a change it still is for 5 fields; there `brute_force`
below is another: it asks the zone what the wall shows in every single minute.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from time import perf_counter
from typing import Any

import pytest
from croniter import croniter
from cronsim import CronSim, CronSimError
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from wangtimer.core.cron import cron, cron_unix
from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.cron.cron_fields import MACROS, MAX_LENGTH
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.time.zones import read_zone, transitions

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
ALL = 100_000

ZONES = [
    "UTC",
    "America/New_York",
    "Europe/London",
    "Australia/Lord_Howe",
    "Asia/Shanghai",
    "America/Sao_Paulo",
    "Africa/Cairo",
    "Pacific/Apia",
    "Asia/Kathmandu",
]
# The years in which each zone does its worst: half an hour, midnight missing, a day missing, a quarter.
CHANGES = [
    (zone, change.at_s * 1_000)
    for zone, year in [
        ("America/New_York", 2026),
        ("Europe/London", 2026),
        ("Australia/Lord_Howe", 2026),
        ("Asia/Shanghai", 1991),
        ("America/Sao_Paulo", 2018),
        ("America/Sao_Paulo", 2019),
        ("Africa/Cairo", 2026),
        ("Pacific/Apia", 2011),
        ("Asia/Kathmandu", 1985),
    ]
    for change in transitions(zone, year)
]


def ms(text: str) -> int:
    """Return the moment of an ISO 8601 text with an offset."""
    return round(datetime.fromisoformat(text).timestamp() * 1_000)


def wall(moments: list[int], zone: str) -> list[str]:
    """Return moments as the wall clock shows them, with the offset."""
    return [datetime.fromtimestamp(at / 1_000, read_zone(zone)).isoformat(" ", "minutes") for at in moments]


def fires(expression: str, zone: str, after: str, until: str) -> list[str]:
    return wall(Cron.parse(expression, zone).moments(ms(after), ms(until), ALL), zone)


# What can be written


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("*/15 * * * *", "2026-11-20 10:15:00"),
        ("20 * * * * *", "2026-11-20 10:00:20"),
        ("0 30 9 * * * 2027", "2027-01-01 09:30:00"),
        ("@hourly", "2026-11-20 11:00:00"),
        ("@Weekly", "2026-11-22 00:00:00"),
        ("0 0 ? * 1", "2026-11-23 00:00:00"),
        ("0 0 * * 7", "2026-11-22 00:00:00"),
        ("0 0 * * 0-7", "2026-11-21 00:00:00"),
        ("0 0 L * *", "2026-11-30 00:00:00"),
        ("0 0 28W * *", "2026-11-27 00:00:00"),
        ("0 0 * * L5", "2026-11-27 00:00:00"),
        ("0 0 * * fri#1", "2026-12-04 00:00:00"),
        ("0 0 * * fri-mon", "2026-11-21 00:00:00"),
        ("59/15 * * * *", "2026-11-20 10:59:00"),
        ("0 0 0 1 1 * 2099", "2099-01-01 00:00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00:00"),
    ],
)
def test_an_accepted_expression_fires_first_when_its_author_means(expression: str, first: str) -> None:
    found = Cron.parse(expression).first_after(ms("2026-11-20T10:00:00Z"))
    assert found == ms(first + "Z")


def test_day_and_weekday_together_mean_either_of_them() -> None:
    assert fires("0 0 13 * 5", "UTC", "2026-11-01T00:00Z", "2026-11-21T00:00Z") == [
        "2026-11-06 00:00+00:00",
        "2026-11-13 00:00+00:00",
        "2026-11-20 00:00+00:00",
    ]
    assert "2026-10-13 00:00+00:00" in fires("0 0 13 * 5", "UTC", "2026-10-12T00:00Z", "2026-10-14T00:00Z")


@pytest.mark.parametrize(
    ("days", "fired"),
    [
        ("13 * 5#2", [11, 13]),
        ("13 * L5", [13, 25]),
        ("15W * 1", [7, 14, 15, 21, 28]),
        ("15W * 1#2", [14, 15]),
        ("1-31 * */2", [*range(1, 32)]),
        ("*/2 * 0-6", [*range(1, 32)]),
    ],
)
def test_day_and_weekday_mean_either_of_them_however_they_are_written(days: str, fired: list[int]) -> None:
    december = ("2026-11-30T12:00Z", "2026-12-31T12:00Z")
    assert fires(f"0 0 {days}", "UTC", *december) == [f"2026-12-{day:02} 00:00+00:00" for day in fired]
    assert fires(f"0 0 0 {days} 2026", "UTC", *december) == [f"2026-12-{day:02} 00:00+00:00" for day in fired]


def test_white_space_is_normalised_so_that_equal_schedules_are_equal() -> None:
    assert Cron.parse("  */5\t*  * * *\n") == Cron.parse("*/5 * * * *")
    assert Cron.parse("*/5　* * * *").expression == "*/5 * * * *"


def test_every_macro_is_the_expression_it_stands_for() -> None:
    after, until = ms("2026-11-20T10:00:00Z"), ms("2028-02-01T00:00:00Z")
    for macro, expression in MACROS.items():
        assert Cron.parse(macro).moments(after, until, 50) == Cron.parse(expression).moments(after, until, 50)


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("", "has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("* * * * * * * *", "has 8 fields"),
        ("@reboot", "has 1 fields"),
        ("*/5 25 * * *", "hour '25' cannot be read"),
        ("60 * * * * *", "second '60' cannot be read"),
        ("0 0 * * 8", "weekday '8' cannot be read"),
        ("0 0 * * 6L", "weekday '6L' cannot be read"),
        (
            "0 0 9 ? * 6L",
            '"dialect": "quartz" knows it, with seconds first and one ? (6L is the last Friday there)',
        ),
        ("0 0 9 ? * FRIL", '"dialect": "quartz" knows it, with seconds first and one ?'),
        ("0 0 LW * *", "day 'LW' cannot be read"),
        ("0 0 LW * *", '"dialect": "quartz" knows it'),
        ("0 0 L-3 * *", '"dialect": "quartz" knows it'),
        ("@every 5m", "is an interval"),
        ("rate(5 minutes)", "write the interval as every"),
        ("*/0 * * * *", "minute '*/0' cannot be read"),
        ("? * * * *", "minute '?' cannot be read"),
        ("0 0 0 1 1 * 2100", "year '2100' cannot be read"),
        ("R * * * *", "random or hashed"),
        ("H/5 * * * *", "random or hashed"),
        ("r(0-10) * * * *", "random or hashed"),
        ("5-5 * * * *", "from a value to itself"),
        ("0,5-05/2 * * * *", "from a value to itself"),
        ("0 0 * * mon-1", "from a value to itself"),
        ("0 0 * * 7-0", "from a value to itself"),
        ("0 0 * * mon-mon#2", "from a value to itself"),
        ("0 0 31-L * *", "from a value to itself"),
        ("0 22-4/3 * * *", "backward range"),
        ("0 0 1 oct-apr/2 *", "backward range"),
        ("0 0 * * 5,5#2", "mixes every week with weeks of the month"),
        ("0 0 * * *,L5", "mixes every week with weeks of the month"),
        ("0 0 * * 0-6,5#2", "mixes every week with weeks of the month"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 0 31 4,6,9,11 *", "never fires"),
        ("0," * 64 + "0 * * * *", f"longer than {MAX_LENGTH}"),
    ],
)
def test_a_refused_expression_is_told_what_is_wrong_and_what_to_write(
    expression: str, complaint: str
) -> None:
    with pytest.raises(InvalidSchedule, match="cron: ") as refused:
        Cron.parse(expression)
    assert complaint in f"{refused.value.reason}; {refused.value.mend}"
    assert refused.value.field == "schedule.cron"
    assert refused.value.mend


@pytest.mark.parametrize(
    "zone", ["", "Asia", "Mars/Base", "asia/shanghai", "../etc/passwd", "right/UTC", "CST+8"]
)
def test_only_names_of_iana_zones_are_accepted(zone: str) -> None:
    with pytest.raises(InvalidSchedule, match="not an IANA time zone") as refused:
        Cron.parse("* * * * *", zone)
    assert refused.value.field == "schedule.timezone"


def test_a_year_that_is_over_is_refused_as_seen_from_the_given_moment() -> None:
    assert Cron.parse("0 0 0 1 1 * 2026", after_ms=ms("2025-06-01T00:00:00Z"))
    with pytest.raises(InvalidSchedule, match="never fires"):
        Cron.parse("0 0 0 1 1 * 2026", after_ms=ms("2026-06-01T00:00:00Z"))


@given(st.lists(st.text("0123456789*/-,?#LWHR@lw monTUEjan", max_size=8), min_size=4, max_size=8))
@settings(max_examples=75)
def test_whatever_is_written_is_either_a_schedule_or_refused_in_words(texts: list[str]) -> None:
    try:
        cron = Cron.parse(" ".join(texts))
    except InvalidSchedule:
        return
    assert cron.first_after(0) is not None


# Windows


def test_a_window_holds_its_end_and_not_its_start() -> None:
    cron = Cron.parse("* * * * *")
    assert cron.moments(10 * MINUTE_MS, 12 * MINUTE_MS, ALL) == [11 * MINUTE_MS, 12 * MINUTE_MS]


def test_a_limit_cuts_after_the_first_ones_even_across_hours() -> None:
    cron = Cron.parse("*/20 * * * *")
    assert cron.moments(0, DAY_MS, 4) == [20 * MINUTE_MS, 40 * MINUTE_MS, HOUR_MS, HOUR_MS + 20 * MINUTE_MS]
    assert cron.moments(0, DAY_MS, 0) == []


def test_an_empty_or_backward_window_has_no_moment() -> None:
    cron = Cron.parse("* * * * *")
    assert cron.moments(MINUTE_MS, MINUTE_MS, ALL) == []
    assert cron.moments(5 * MINUTE_MS, MINUTE_MS, ALL) == []


def test_moments_end_with_the_year_2199_and_start_with_1970() -> None:
    cron = Cron.parse("0 0 1 1 *")
    assert cron.first_after(-(10**18)) == 0
    assert cron.first_after(ms("2199-01-01T00:00:00Z")) is None
    assert cron.first_after(10**18) is None
    assert cron.moments(ms("2190-01-01T00:00:00Z"), 10**18, ALL)[-1] == ms("2199-01-01T00:00:00Z")


def test_xtimer_fault_every_ten_minutes_from_five_past_gives_every_moment_exactly_once() -> None:
    cron = Cron.parse("5,15,25,35,45,55 * * * *", "Asia/Shanghai")
    start = ms("2026-11-20T00:00:00Z")
    for window_ms in (7 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS):
        windows = range(start, start + 42 * HOUR_MS, window_ms)
        found = [at for after in windows for at in cron.moments(after, after + window_ms, ALL)]
        assert found[:252] == [start + 5 * MINUTE_MS + i * 10 * MINUTE_MS for i in range(252)]


def test_a_rare_schedule_is_found_without_walking_through_the_empty_hours() -> None:
    cron = Cron.parse("0 0 29 2 *", "America/New_York")
    started = perf_counter()
    assert wall(cron.moments(ms("2026-01-01T00:00Z"), ms("2037-01-01T00:00Z"), ALL), cron.timezone) == [
        "2028-02-29 00:00-05:00",
        "2032-02-29 00:00-05:00",
        "2036-02-29 00:00-05:00",
    ]
    assert perf_counter() - started < 0.5, "some 20 ms are expected; 96,000 hours one by one take seconds"


# The clocks change: docs/decisions/0002-dst-rule.md


def test_in_autumn_a_fixed_time_fires_in_the_first_pass_only() -> None:
    assert fires("30 1 * * *", "America/New_York", "2026-11-01T00:00Z", "2026-11-02T12:00Z") == [
        "2026-11-01 01:30-04:00",
        "2026-11-02 01:30-05:00",
    ]


def test_in_autumn_a_schedule_that_follows_the_clock_fires_in_both_passes() -> None:
    both = [
        "2026-11-01 01:00-04:00",
        "2026-11-01 01:30-04:00",
        "2026-11-01 01:00-05:00",
        "2026-11-01 01:30-05:00",
    ]
    assert fires("*/30 1 * * *", "America/New_York", "2026-11-01T00:00Z", "2026-11-02T00:00Z") == both
    assert fires("0,30 * * * *", "America/New_York", "2026-11-01T04:30Z", "2026-11-01T06:30Z") == both


def test_in_spring_swallowed_fixed_times_fire_once_right_after_the_gap() -> None:
    assert fires("15,30 2 * * *", "America/New_York", "2026-03-08T00:00Z", "2026-03-09T12:00Z") == [
        "2026-03-08 03:00-04:00",
        "2026-03-09 02:15-04:00",
        "2026-03-09 02:30-04:00",
    ]


def test_in_spring_a_swallowed_time_does_not_double_a_match_right_after_the_gap() -> None:
    assert fires("0,30 2,3 * * *", "America/New_York", "2026-03-08T00:00Z", "2026-03-09T00:00Z") == [
        "2026-03-08 03:00-04:00",
        "2026-03-08 03:30-04:00",
    ]


def test_in_spring_a_schedule_that_follows_the_clock_leaves_swallowed_times_out() -> None:
    assert fires("*/30 2 * * *", "America/New_York", "2026-03-08T00:00Z", "2026-03-09T00:00Z") == []


def test_seconds_do_not_decide_whether_a_schedule_follows_the_clock() -> None:
    assert fires("*/30 0 2 * * *", "America/New_York", "2026-03-08T00:00Z", "2026-03-09T00:00Z") == [
        "2026-03-08 03:00-04:00"
    ]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "until", "expected"),
    [
        (
            "0 0 * * *",
            "America/Sao_Paulo",
            "2018-11-03T12:00Z",
            "2018-11-05T12:00Z",
            ["2018-11-04 01:00-02:00", "2018-11-05 00:00-02:00"],
        ),
        (
            "0 0 * * *",
            "Africa/Cairo",
            "2026-04-23T12:00Z",
            "2026-04-24T23:00Z",
            ["2026-04-24 01:00+03:00", "2026-04-25 00:00+03:00"],
        ),
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T00:00Z",
            "2026-10-05T00:00Z",
            ["2026-10-04 02:30+11:00", "2026-10-05 02:15+11:00"],
        ),
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04T00:00Z",
            "2026-04-06T00:00Z",
            ["2026-04-05 01:45+11:00", "2026-04-06 01:45+10:30"],
        ),
        (
            "0 9 * * *",
            "Pacific/Apia",
            "2011-12-29T12:00Z",
            "2011-12-31T12:00Z",
            ["2011-12-29 09:00-10:00", "2011-12-31 00:00+14:00", "2011-12-31 09:00+14:00"],
        ),
        (
            "0 9 30 12 *",
            "Pacific/Apia",
            "2011-01-01T00:00Z",
            "2012-12-31T00:00Z",
            ["2011-12-31 00:00+14:00", "2012-12-30 09:00+14:00"],
        ),
        (
            "0 9 * * *",
            "Europe/Istanbul",  # on summer time for good since March 2016
            "2017-01-10T00:00Z",
            "2017-01-11T00:00Z",
            ["2017-01-10 09:00+03:00"],
        ),
        ("0 * 30 12 *", "Pacific/Apia", "2011-12-28T00:00Z", "2012-01-02T00:00Z", []),
        (
            "30 0 7 1 *",
            "Africa/Monrovia",
            "1972-01-01T00:00Z",
            "1973-01-01T00:00Z",
            ["1972-01-07 00:44+00:00"],
        ),
    ],
)
def test_the_rule_holds_in_the_oddest_zones(
    expression: str, zone: str, after: str, until: str, expected: list[str]
) -> None:
    assert fires(expression, zone, after, until) == expected


# Properties


def listed(low: int, high: int) -> st.SearchStrategy[str]:
    """Return values, ranges and lists of a field, in words that croniter and cronsim read alike."""
    value = st.integers(low, high).map(str)
    ends = st.lists(st.integers(low, high), min_size=2, max_size=2, unique=True).map(sorted)
    spread = ends.map(lambda pair: f"{pair[0]}-{pair[1]}")
    stepped = st.builds("{}/{}".format, spread, st.integers(1, high))
    return st.lists(value | spread | stepped, min_size=1, max_size=3).map(",".join)


def clock_field(high: int) -> st.SearchStrategy[str]:
    starred = st.just("*") | st.integers(2, high).map("*/{}".format)
    return starred | listed(0, high) | st.builds("{}/{}".format, st.integers(0, high), st.integers(1, high))


# What both read alike; the rest of the dialect is compared by tests/oracle, which knows where cronsim differs.
days = st.just("*") | listed(1, 31) | st.just("L")
months = st.just("*") | listed(1, 12)
weekdays = st.just("*") | listed(0, 6)
nth_weekdays = st.builds("{}#{}".format, st.integers(0, 7), st.integers(1, 5))
day_fields = st.builds("{} {} {}".format, days, months, weekdays) | st.builds(
    "* {} {}".format, months, nth_weekdays
)
daily = st.just("* * *")
five_fields = st.builds("{} {} {}".format, clock_field(59), clock_field(23), day_fields | daily)
six_fields = st.builds("{} {}".format, clock_field(59), five_fields)
daily_fields = st.builds("{} {} {}".format, clock_field(59), clock_field(23), daily)
seconds_since_2015 = st.integers(ms("2015-01-01T00:00Z") // 1_000, ms("2035-01-01T00:00Z") // 1_000)


def by_cronsim(expression: str, zone: str, after_ms: int, until_ms: int, limit: int) -> list[int]:
    """Return what cronsim fires in (after_ms, until_ms]."""
    start = datetime.fromtimestamp(after_ms // 1_000, UTC if zone == "UTC" else read_zone(zone))
    try:
        found = (round(at.timestamp() * 1_000) for at in CronSim(expression, start))
        return list(islice(takewhile(until_ms.__ge__, found), limit))
    except CronSimError:
        return []


def parsed(expression: str, zone: str) -> Cron:
    try:
        return Cron.parse(expression, zone)
    except InvalidSchedule as refused:
        assume("never fires" not in refused.reason)
        raise


@given(five_fields | six_fields, seconds_since_2015)
@settings(max_examples=75)
def test_in_utc_the_next_moments_are_those_of_cronsim(expression: str, after_s: int) -> None:
    cron = parsed(expression, "UTC")
    after, until = after_s * 1_000, (after_s + 3 * 365 * 86_400) * 1_000
    assert cron.moments(after, until, 25) == by_cronsim(expression, "UTC", after, until, 25)


@given(five_fields | six_fields, st.sampled_from(ZONES), seconds_since_2015)
@settings(max_examples=75)
def test_while_no_clock_changes_the_moments_are_those_of_cronsim(
    expression: str, zone: str, after_s: int
) -> None:
    year = datetime.fromtimestamp(after_s, UTC).year
    nearby = [change.at_s for near in (year, year + 1) for change in transitions(zone, near)]
    # cronsim walks on to the first match past the window's end: that may not meet a change of clocks either.
    assume(not any(after_s - 2 * 86_400 < at_s < after_s + 4 * 86_400 for at_s in nearby))
    cron = parsed(expression, zone)
    after, until = after_s * 1_000, after_s * 1_000 + 2 * DAY_MS
    assert cron.moments(after, until, 60) == by_cronsim(expression, zone, after, until, 60)


# cronsim finds an hour by stepping sixty minutes at a time and slips where a change is not of whole hours,
# which it only does for schedules that follow the clock.
ODD_CHANGES = ("Australia/Lord_Howe", "Asia/Kathmandu")


@given(daily_fields, st.sampled_from(CHANGES))
@settings(max_examples=100)
def test_where_the_clocks_change_cronsim_and_we_agree_on_five_fields(
    expression: str, change: tuple[str, int]
) -> None:
    zone, at_ms = change
    assume(zone not in ODD_CHANGES or not follows_the_clock(expression))
    after, until = at_ms - 5 * HOUR_MS, at_ms + 5 * HOUR_MS
    found = Cron.parse(expression, zone).moments(after, until, ALL)
    assert found == by_cronsim(expression, zone, after, until, ALL)


def follows_the_clock(expression: str) -> bool:
    return any(field.startswith("*") for field in expression.split()[:2])


def brute_force(expression: str, zone: str, after_ms: int, until_ms: int) -> list[int]:
    """Apply the rule minute by minute: what the wall shows, whether it shows it again, what it left out."""
    shown = [
        datetime.fromtimestamp(at // 1_000, read_zone(zone))
        for at in range(after_ms, until_ms + 1, MINUTE_MS)
    ]
    walls = [at.replace(tzinfo=None) for at in shown]
    matching = set(takewhile(max(walls).__ge__, CronSim(expression, min(walls) - timedelta(minutes=1))))
    found = []
    for before, (now, at) in zip(walls, list(zip(walls, shown, strict=True))[1:], strict=False):
        swallowed = [one for one in matching if before < one < now]
        in_first_pass = now in matching and not at.fold
        if now in matching if follows_the_clock(expression) else swallowed or in_first_pass:
            found.append(round(at.timestamp() * 1_000))
    return found


@given(five_fields, st.sampled_from(CHANGES), st.integers(-480, 479))
@example("30 * * * *", ("Pacific/Apia", ms("2011-12-30T10:00Z")), -60)
@example("0 0 * * *", ("Pacific/Apia", ms("2011-12-30T10:00Z")), -60)
@example("0 0 31 12 *", ("Pacific/Apia", ms("2011-12-30T10:00Z")), -1)
@settings(max_examples=75)
def test_around_a_change_of_the_clocks_the_rule_holds_in_every_minute(
    expression: str, change: tuple[str, int], shift: int
) -> None:
    zone, at_ms = change
    cron = parsed(expression, zone)
    after, until = at_ms - 480 * MINUTE_MS, at_ms + 480 * MINUTE_MS
    expected = brute_force(expression, zone, after, until)
    assert cron.moments(after, until, ALL) == expected
    middle = at_ms + shift * MINUTE_MS
    later = [at for at in expected if at > middle]
    assert cron.first_after(middle) == (later[0] if later else cron.first_after(until))


@given(
    five_fields | six_fields,
    st.sampled_from(CHANGES),
    st.lists(st.integers(-3 * HOUR_MS, 3 * HOUR_MS), min_size=1, max_size=5),
)
@settings(max_examples=80)
def test_a_window_cut_in_pieces_has_the_same_moments_as_the_whole(
    expression: str, change: tuple[str, int], cuts: list[int]
) -> None:
    zone, at_ms = change
    cron = parsed(expression, zone)
    edges = [at_ms - 3 * HOUR_MS, *sorted(at_ms + cut for cut in cuts), at_ms + 3 * HOUR_MS]
    pieces = [at for after, until in pairwise(edges) for at in cron.moments(after, until, ALL)]
    assert pieces == cron.moments(edges[0], edges[-1], ALL)


@given(
    five_fields | six_fields,
    st.sampled_from(CHANGES),
    st.integers(-7200, 7200),
    st.sampled_from([0, 0, 1, 999]),
)
@settings(max_examples=75)
def test_a_moment_matches_exactly_if_it_is_among_the_moments(
    expression: str, change: tuple[str, int], shift_s: int, odd_ms: int
) -> None:
    zone, at_ms = change
    cron = parsed(expression, zone)
    moment = at_ms + shift_s * 1_000 + odd_ms
    assert cron.matches(moment) == (moment in cron.moments(moment - 1, moment, ALL))
    window = cron.moments(at_ms - 3 * HOUR_MS, at_ms + 3 * HOUR_MS, ALL)
    assert cron.matches(moment) == (moment in window)
    assert all(cron.matches(at) for at in window[:5])


@pytest.mark.parametrize(
    ("expression", "dialect", "told", "meant"),
    [
        ("0 9 * * Mo-Fr", "unix", "weekday 'Mo-Fr' cannot be read", "0 9 * * mon-fri"),
        ("0 9 * * Monday,Thurs", "unix", "weekday 'Monday,Thurs' cannot be read", "0 9 * * mon,thu"),
        ("0 9 1 Sept mo", "unix", "month 'Sept' cannot be read", "0 9 1 sep mon"),
        ("0 9 1 ju *", "unix", "month 'ju' cannot be read", None),
        ("0 9 * * foo-foo", "unix", "weekday 'foo-foo' cannot be read", None),
        ("cron(0 9 * * ? *)", "unix", """write 0 0 9 * * ? with "dialect": "quartz\"""", None),
        ("cron(0 9 ? * 2 2027)", "quartz", "write 0 0 9 ? * 2 2027 with", None),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", "unix", """as "timezone": "Asia/Tokyo\"""", "0 9 * * *"),
        ("TZ=Asia/Tokyo @daily", "unix", "has its zone in it", "@daily"),
        ("0 9 LW-1 * *", "unix", """"dialect": "quartz" has L-1W, the Monday to Friday""", None),
        (
            "0 0 9 LW-1 * ?",
            "quartz",
            "there is L-1W, the Monday to Friday nearest to the last day but 1",
            None,
        ),
    ],
)
def test_what_other_schedulers_write_is_told_what_to_write_here(
    expression: str, dialect: str, told: str, meant: str | None
) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        Cron.read(expression, "UTC", CronDialect(dialect))
    assert (told in str(caught.value), caught.value.meant) == (True, meant), str(caught.value)


def test_a_thousand_crons_share_the_reading_of_their_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of 1,000 has half a second of CPU, and croniter takes 0.2 ms an expression."""
    read: list[str] = []

    def note(expression: str, **options: Any) -> croniter:
        read.append(expression)
        return croniter(expression, **options)

    monkeypatch.setattr(cron_unix, "croniter", note)
    # A month and days that no other test has.
    texts = [f"{one % 60} {one // 60} * 2-4,7,9,11 2-3,6" for one in range(1_000)]
    assert len({Cron.parse(text).expression for text in texts}) == 1_000
    assert len(read) <= 60 + 17 + 1 + 1


def test_the_hours_of_a_thousand_crons_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch comes back to each timer: to judge its schedule, to count its moments, and to plan them."""
    worked_out: list[int] = []

    def note(one: Cron, from_s: int) -> Iterator[int]:
        worked_out.append(from_s)
        return walk(one, from_s)

    walk = cron._walk
    crons = [Cron.parse(f"{one % 60} {one // 60} * 3-5,8,10 2,4,6", "Asia/Kathmandu") for one in range(1_000)]
    now = ms("2027-01-01T00:00Z")
    firsts = [one.first_after(now) for one in crons]
    monkeypatch.setattr(cron, "_walk", note)
    assert [one.first_after(now) for one in crons] == firsts
    assert not worked_out
