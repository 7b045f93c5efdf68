"""Warnings: each said to be true by the moments themselves, and none where nothing is surprising."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from time import process_time
from zoneinfo import ZoneInfo

import pytest

from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_fields import read_fields
from wangtimer.core.previews.warnings import HORIZON_MS, warnings_of
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.every import Every, EveryDays
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule, Spread
from wangtimer.core.time.zones import Transition, transitions
from wangtimer.core.words.warning import WarningCode
from wangtimer.core.words.words import Language

DAY_MS = 86_400_000
NOW = datetime(2026, 9, 1, tzinfo=UTC)
NOW_MS = int(NOW.timestamp()) * 1_000
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago"]
EXPRESSIONS = [
    *(
        "30 2 * * *",
        "30 1 * * *",
        "0 0 * * *",
        "*/10 2 * * *",
        "0-59/10 1,2 * * *",
        "0 2,3 * * *",
        "59 23 * * *",
    ),
    *(
        "0 */2 * * *",
        "30 1 * * 0",
        "30 2 * * 1-6",
        "0 0-23 * * *",
        "15,45 2 * 3 *",
        "5 0 28-31 * *",
        "0 4 * * *",
    ),
    *("*/20 30 2 * * *", "*/7 0 0 * * *", "0 30 2 * * * 2027", "0 30 1 1-7 11 ?", "0 * 1 * * 0"),
]
CLOCK_CODES = {WarningCode.CLOCK_FORWARD, WarningCode.CLOCK_BACK}


def texts(schedule: Schedule, now_ms: int = NOW_MS) -> list[str]:
    return [warning.text for warning in warnings_of(schedule, now_ms)]


def both(schedule: Schedule, now_ms: int = NOW_MS) -> list[tuple[str, str]]:
    return [(one.describe(Language.EN), one.describe(Language.ZH)) for one in warnings_of(schedule, now_ms)]


def cron(expression: str, timezone: str = "UTC") -> Cron:
    return Cron.parse(expression, timezone)


# How far it looks


@pytest.mark.parametrize(
    ("schedule", "code"),
    [
        (Bounded(Cron("30 2 * * *", "Europe/Berlin"), NOW_MS + 500 * DAY_MS), WarningCode.CLOCK_FORWARD),
        (
            Bounded(Cron("0 9 * * *", "UTC"), NOW_MS + 1_500 * DAY_MS, excluded=built_in()["cn-off-days"]),
            WarningCode.CALENDAR_ENDS,
        ),
        (Bounded(Every(5_000, 0), NOW_MS + 500 * DAY_MS, spread=Spread(9_000, 1)), WarningCode.WIDE_SPREAD),
    ],
)
def test_it_looks_ahead_from_the_first_moment(schedule: Schedule, code: WarningCode) -> None:
    assert code in {one.code for one in warnings_of(schedule, NOW_MS)}


def test_it_looks_as_far_as_moments_are_shown() -> None:
    rare = cron("30 2 26 3 *", "Europe/Berlin")
    shown_until = int(datetime(2034, 12, 31, tzinfo=UTC).timestamp()) * 1_000
    lines = [one.text for one in warnings_of(rare, NOW_MS, shown_until)]
    assert [line[:52] for line in lines] == [
        "02:30 does not exist on 2028-03-26 (the clocks go fo",
        "02:30 does not exist on 2034-03-26 (the clocks go fo",
    ]


# Changes of the clocks


def test_a_time_that_a_gap_swallows_or_an_overlap_repeats_is_named() -> None:
    assert both(cron("30 2 * * *", "Europe/Berlin")) == [
        (
            "02:30 comes twice on 2026-10-25 (the clocks go back), fires once",
            "2026-10-25 时钟拨慢，02:30 出现两次，只触发一次",
        ),
        (
            "02:30 does not exist on 2027-03-28 (the clocks go forward), fires at 03:00",
            "2027-03-28 时钟拨快，02:30 不存在，改在 03:00 触发",
        ),
    ]


def test_several_times_are_named_together() -> None:
    assert both(cron("0-59/10 2 * * *", "Europe/Berlin")) == [
        (
            "02:00 to 02:50 come twice on 2026-10-25 (the clocks go back), each fires once",
            "2026-10-25 时钟拨慢，02:00 至 02:50 出现两次，各只触发一次",
        ),
        (
            "02:00 to 02:50 do not exist on 2027-03-28 (the clocks go forward), fires once, at 03:00",
            "2027-03-28 时钟拨快，02:00 至 02:50 不存在，只在 03:00 触发一次",
        ),
    ]


def test_a_schedule_that_follows_the_clock_fires_both_times_or_not_at_all() -> None:
    assert both(cron("*/30 2 * * *", "Europe/Berlin")) == [
        (
            "02:00 to 02:30 come twice on 2026-10-25 (the clocks go back), fires both times",
            "2026-10-25 时钟拨慢，02:00 至 02:30 出现两次，两次都触发",
        ),
        (
            "02:00 to 02:30 do not exist on 2027-03-28 (the clocks go forward), nothing fires instead",
            "2027-03-28 时钟拨快，02:00 至 02:30 不存在，不补触发",
        ),
    ]


@pytest.mark.parametrize("expression", ["* * * * *", "0 * * * *", "*/10 * * * *", "15 * * * *", "@hourly"])
def test_a_schedule_that_keeps_its_rhythm_is_not_warned_of(expression: str) -> None:
    assert texts(cron(expression, "Europe/Berlin")) == []


def test_half_an_hours_change_breaks_the_rhythm_of_full_hours_and_not_that_of_half_hours() -> None:
    assert texts(cron("0 * * * *", "Australia/Lord_Howe")) == [
        "02:00 does not exist on 2026-10-04 (the clocks go forward), nothing fires instead",
        "02:00 does not exist on 2027-10-03 (the clocks go forward), nothing fires instead",
    ]
    assert texts(cron("*/30 * * * *", "Australia/Lord_Howe")) == []


def changes_ahead(schedule: Cron) -> list[Transition]:
    first = schedule.first_after(NOW_MS) or NOW_MS
    found = [change for year in range(2026, 2030) for change in transitions(schedule.timezone, year)]
    return [change for change in found if NOW_MS < change.at_s * 1_000 <= first + HORIZON_MS]


def walls_of(schedule: Cron, from_s: int, until_s: int, offset_s: int) -> list[datetime]:
    """Return the moments in [from_s, until_s) as the wall clock shows them with this offset."""
    moments = schedule.moments(from_s * 1_000 - 1, until_s * 1_000 - 1, 10_000)
    return [datetime.fromtimestamp(at // 1_000 + offset_s, UTC).replace(tzinfo=None) for at in moments]


def clock_line(schedule: Cron, change: Transition) -> str | None:
    """Return what is to be said of a change, worked out from the moments around it."""
    low_s, high_s = sorted((change.at_s + change.before_s, change.at_s + change.after_s))
    walls = walls_of(cron(schedule.expression), low_s, high_s, 0)
    shift_s = high_s - low_s
    if not walls:
        return None
    first, last = (f"{at:%H:%M:%S}".removesuffix(":00") for at in (walls[0], walls[-1]))
    is_one = first == last
    times = first if is_one else f"{first} to {last}"
    on = f"on {walls[0]:%Y-%m-%d}"
    if change.after_s > change.before_s:
        after = walls_of(schedule, change.at_s, change.at_s + 1, change.after_s)
        stands_for_itself = walls_of(cron(schedule.expression), high_s, high_s + 1, 0)
        effect = "nothing fires instead"
        if after and (read_fields(schedule.expression).meaning.is_fixed or not stands_for_itself):
            effect = f"fires {'' if is_one else 'once, '}at {after[0]:%H:%M}"
        return f"{times} {'does' if is_one else 'do'} not exist {on} (the clocks go forward), {effect}"
    passes = [
        walls_of(schedule, change.at_s - shift_s, change.at_s, change.before_s),
        walls_of(schedule, change.at_s, change.at_s + shift_s, change.after_s),
    ]
    assert passes in ([walls, []], [walls, walls])
    effect = "fires both times" if passes[1] else "fires once" if is_one else "each fires once"
    return f"{times} {'comes' if is_one else 'come'} twice {on} (the clocks go back), {effect}"


@pytest.mark.parametrize("timezone", ZONES)
def test_what_is_said_of_each_change_is_what_the_moments_do(timezone: str) -> None:
    said_of = 0
    for expression in EXPRESSIONS:
        schedule = Cron(expression, timezone)
        found = [one.text for one in warnings_of(schedule, NOW_MS) if one.code in CLOCK_CODES]
        lines = [clock_line(schedule, change) for change in changes_ahead(schedule)]
        assert found == [line for line in lines if line is not None], (expression, timezone)
        said_of += len(found)
    assert said_of > 5


def test_only_what_lies_ahead_and_within_the_bounds_and_on_open_days_is_said() -> None:
    nightly = cron("30 2 * * *", "Europe/Berlin")
    spring = int(datetime(2027, 3, 28, 1, tzinfo=UTC).timestamp()) * 1_000
    [autumn_line, spring_line] = texts(nightly)
    assert texts(nightly, spring - 1)[0] == spring_line
    assert spring_line not in texts(nightly, spring)
    assert texts(Bounded(nightly, last_ms=spring - 1)) == [autumn_line]
    assert texts(Bounded(nightly, start_ms=spring))[0] == spring_line
    # Both changes are on a Sunday.
    weekends = built_in()["weekends"]
    assert texts(Bounded(nightly, excluded=weekends)) == []
    assert texts(Bounded(cron("*/30 2 * * *", "Europe/Berlin"), excluded=weekends)) == []
    assert len(texts(Bounded(cron("*/30 2 * * *", "Europe/Berlin")))) == 2
    assert texts(Bounded(cron("*/30 2 * * *", "Europe/Berlin"), last_ms=NOW_MS + DAY_MS)) == []


def test_an_end_between_the_two_passes_leaves_but_one_of_them() -> None:
    autumn_ms = int(datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp()) * 1_000
    halves = cron("*/30 2 * * *", "Europe/Berlin")
    assert texts(Bounded(halves, last_ms=autumn_ms - 1)) == []
    assert len(texts(Bounded(halves, last_ms=autumn_ms + DAY_MS))) == 1


def test_a_spread_does_not_hide_a_change_of_the_clocks() -> None:
    nightly = cron("30 2 * * *", "Europe/Berlin")
    assert texts(Bounded(nightly, spread=Spread(60_000, 3))) == texts(nightly)


def test_an_interval_knows_no_clock() -> None:
    assert texts(Every(1_800_000, NOW_MS, "Europe/Berlin")) == []


# What the fields say


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        ("0 9 * * *", []),
        ("@daily", []),
        ("0 0 9 * * *", [("6 fields are read as seconds first", "6 个字段：第一个字段是秒")]),
        (
            "0 0 9 * * * 2027",
            [
                (
                    "7 fields are read as seconds first and the year last",
                    "7 个字段：第一个字段是秒，最后一个字段是年",
                )
            ],
        ),
        (
            "0 9 13 * 5",
            [
                (
                    "day of month and day of week are both given: either is enough",
                    "同时指定了日期和星期：满足其一即触发",
                )
            ],
        ),
        (
            "0 9 ? * 5",
            [
                (
                    "weekday 5 is Friday here; where ? is from, in Quartz, weekdays count from 1, Sunday: write "
                    "dialect quartz if that is meant, or names such as MON",
                    "这里的星期 5 是周五；而 ? 来自 Quartz，那里的星期从 1（周日）数起：若是此意，请写 dialect 为 "
                    "quartz，或写 MON 这样的名字",
                )
            ],
        ),
        ("0 9 ? * fri#2", []),
        ("0 9 ? * */2", []),
        ("0 9 15 * ?", []),
        (
            "*/90 * * * *",
            [
                (
                    "minute */90 steps past the end of its field, so it is its first value alone; for an interval "
                    "use every",
                    "分字段 */90 的步长超出了该字段，因此只有第一个值；按间隔触发请用 every",
                )
            ],
        ),
        (
            "*/45 */5 * * *",
            [
                (
                    "minute */45 is not every 45: from 45 to the next 0 it is 15; for an interval use every",
                    "分字段 */45 不是每 45 一次：从 45 到下一个 0 隔 15；按间隔触发请用 every",
                ),
                (
                    "hour */5 is not every 5: from 20 to the next 0 it is 4; for an interval use every",
                    "时字段 */5 不是每 5 一次：从 20 到下一个 0 隔 4；按间隔触发请用 every",
                ),
            ],
        ),
        ("*/20 9-17/3 */2 */5 *", []),
        ("0,*/45 * * * *", []),
        ("0 9 1-28 * *", []),
        ("0 9 31 * *", [("31 is not in every month", "并非每个月都有 31 日")]),
        ("0 9 31 1,3,5 *", []),
        (
            "0 9 31 4,6 *",
            [
                ("31 is not in April and June", "4、6 月没有 31 日"),
                ("never fires: no moment is left", "不会触发：已没有触发时刻"),
            ],
        ),
        ("0 9 30,31 3,4,6 *", [("31 is not in April and June", "4、6 月没有 31 日")]),
        (
            "0 9 29,30 * *",
            [
                ("29 February is in leap years only", "2 月 29 日只在闰年才有"),
                ("30 is not in every month", "并非每个月都有 30 日"),
            ],
        ),
        ("0 9 29 2 *", [("29 February is in leap years only", "2 月 29 日只在闰年才有")]),
        ("0 9 */2 * *", []),
        ("0 9 L * *", []),
        ("0 9 31W * *", []),
        ("0 9 * * 5#4", []),
        ("0 9 * * 5#5", [("not every month has a fifth Friday", "并非每个月都有第五个周五")]),
    ],
)
def test_fields_that_may_surprise(expression: str, lines: list[tuple[str, str]]) -> None:
    assert both(Cron(expression, "UTC")) == lines


@pytest.mark.parametrize("form", ["*/{}", "7/{}"])
@pytest.mark.parametrize(
    ("around", "unit_s"), [("{} * * * * *", 1), ("{} * * * *", 60), ("0 {} * * *", 3_600)]
)
def test_a_step_is_called_uneven_where_its_moments_are_not_evenly_apart(
    form: str, around: str, unit_s: int
) -> None:
    most = 23 if unit_s == 3_600 else 59
    for step in range(1, most + 1):
        schedule = Cron(around.format(form.format(step)), "UTC")
        moments = schedule.moments(NOW_MS, NOW_MS + 3 * DAY_MS, 200)
        is_even = {after - before for before, after in pairwise(moments)} == {step * unit_s * 1_000}
        codes = {one.code for one in warnings_of(schedule, NOW_MS)}
        assert (WarningCode.UNEVEN_STEP in codes) is not is_even, schedule.expression


# Calendars, spreads, ends


def test_a_calendar_whose_years_end_is_named_if_the_schedule_goes_on() -> None:
    china = built_in()["cn-off-days"]
    daily = cron("0 9 * * *", "Asia/Shanghai")
    assert china.last_year == 2026
    assert both(Bounded(daily, excluded=china)) == [
        (
            "cn-off-days is known up to 2026; from 2027 on only its weekdays count",
            "日历“cn-off-days”只有截至 2026 年的数据，从 2027 年起只按星期排除",
        )
    ]
    new_year_ms = int(datetime(2027, 1, 1, tzinfo=ZoneInfo("Asia/Shanghai")).timestamp()) * 1_000
    assert texts(Bounded(daily, last_ms=new_year_ms, excluded=china)) == []
    assert len(texts(Bounded(daily, last_ms=new_year_ms + DAY_MS, excluded=china))) == 1
    # All of 2026 is more than the coming 13 months.
    assert texts(Bounded(daily, excluded=china), new_year_ms - HORIZON_MS - 30 * DAY_MS) == []


def test_a_calendar_of_days_alone_excludes_nothing_after_its_years() -> None:
    days = Calendar("own", days=frozenset({NOW.date()}), last_year=2026)
    assert both(Bounded(cron("0 9 * * *"), excluded=days)) == [
        (
            "own is known up to 2026; from 2027 on it excludes no day",
            "日历“own”只有截至 2026 年的数据，从 2027 年起不再排除任何日子",
        )
    ]
    assert texts(Bounded(cron("0 9 * * *"), excluded=Calendar("own", days=frozenset({NOW.date()})))) == []


@pytest.mark.parametrize("rule", [cron("* * * * *"), Every(60_000, NOW_MS)])
def test_a_spread_longer_than_the_time_between_moments_is_named(rule: Cron | Every) -> None:
    assert both(Bounded(rule, spread=Spread(90_000, 1))) == [
        (
            "put off by up to 1 minute 30 seconds, but moments are 1 minute apart: each stays before the next",
            "最多推迟 1 分 30 秒，而触发时刻最近只隔 1 分钟：每次都不会晚于下一个时刻",
        )
    ]
    assert texts(Bounded(rule, spread=Spread(60_000, 1))) == []


@pytest.mark.parametrize(
    "schedule",
    [
        Once(NOW_MS),
        Cron("0 0 9 * * * 2020", "UTC"),
        Bounded(Every(60_000, NOW_MS), last_ms=NOW_MS),
        Bounded(Cron("0 9 * * 6", "UTC"), excluded=built_in()["weekends"], spread=Spread(60_000, 1)),
    ],
)
def test_a_schedule_without_a_moment_left_never_fires(schedule: Schedule) -> None:
    assert schedule.first_after(NOW_MS) is None
    assert warnings_of(schedule, NOW_MS)[-1].code is WarningCode.NEVER_FIRES


def test_a_moment_to_come_is_nothing_to_warn_of() -> None:
    assert texts(Once(NOW_MS + 1)) == []


@pytest.mark.parametrize(
    "expression", ["* * * * * *", "0-59 0-59 0-23 * * *", "*/10 * * * *", "30 2 * * 1-5", "0 9 29 2 *"]
)
def test_it_costs_little(expression: str) -> None:
    schedule = Bounded(cron(expression, "America/New_York"), excluded=built_in()["cn-off-days"])
    # What is cached once a process.
    warnings_of(Bounded(cron("0 0 * * *", "America/New_York"), excluded=built_in()["cn-off-days"]), NOW_MS)
    start = process_time()
    warnings_of(schedule, NOW_MS + int(timedelta(days=1).total_seconds()) * 1_000)
    assert process_time() - start < 0.1


def test_codes_are_stable() -> None:
    assert {code.value for code in WarningCode} == {
        *("fieldOrder", "eitherDay", "shortMonth", "leapDay", "fifthWeekday", "clockForward", "clockBack"),
        *(
            "calendarEnds",
            "wideSpread",
            "neverFires",
            "quartzWeekday",
            "longStep",
            "unevenStep",
            "clockDrift",
            "encodedTwice",
            "templatesOff",
            "localIsUtc",
        ),
    }
    assert all(re.fullmatch("[a-zA-Z]+", code) for code in WarningCode)


def at_nine(zone: str, **more: int) -> int:
    return int(datetime(2026, 12, 7, **({"hour": 9} | more), tzinfo=ZoneInfo(zone)).timestamp()) * 1_000


@pytest.mark.parametrize(
    ("days", "zone"), [(1, "Europe/Berlin"), (14, "America/New_York"), (14, "Africa/Cairo")]
)
def test_whole_days_that_leave_their_time_of_day_are_told_and_how_to_keep_it(days: int, zone: str) -> None:
    anchor_ms = at_nine(zone)
    ((english, chinese),) = both(Every(days * DAY_MS, anchor_ms, zone))
    told = re.fullmatch(
        r"its days have 24 hours: from (\S+) on \(the clocks change\) it fires at (\S+) in place of 09:00; "
        "everyDays keeps the time of day",
        english,
    )
    assert told is not None
    moments = Every(days * DAY_MS, anchor_ms, zone).moments(anchor_ms - 1, anchor_ms + HORIZON_MS, 400)
    walls = [datetime.fromtimestamp(at // 1_000, ZoneInfo(zone)) for at in moments]
    first = next(wall for wall in walls if f"{wall:%H:%M}" != "09:00")
    assert (told[1], told[2]) == (f"{first:%Y-%m-%d}", f"{first:%H:%M}")
    assert (told[1] in chinese, "everyDays" in chinese) == (True, True)
    assert texts(EveryDays(days * DAY_MS, anchor_ms, zone)) == []


def test_intervals_that_have_no_time_of_day_to_leave_are_not_told() -> None:
    anchor_ms = at_nine("Europe/Berlin")
    assert texts(Every(DAY_MS, anchor_ms)) == []
    assert texts(Every(36 * 3_600_000, anchor_ms, "Europe/Berlin")) == []
    until_february = Bounded(Every(DAY_MS, anchor_ms, "Europe/Berlin"), last_ms=anchor_ms + 60 * DAY_MS)
    assert texts(until_february) == []


def test_days_of_the_wall_clock_are_told_as_a_cron_of_that_time_of_day_is() -> None:
    for hour, minute in ((2, 30), (9, 0)):
        days = EveryDays(DAY_MS, at_nine("Europe/Berlin", hour=hour, minute=minute), "Europe/Berlin")
        daily = cron(f"{minute} {hour} * * *", "Europe/Berlin")
        assert texts(days, days.anchor_ms) == texts(daily, days.anchor_ms)
