"""Schedules in words: what is said is what fires, in both languages."""

import random
import re
from datetime import UTC, date, datetime
from functools import cache
from zoneinfo import ZoneInfo

import pytest

from tests.core.words_reader import days_meant, read_words
from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_fields import read_fields
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.kinds.kinds import describe
from wangtimer.core.schedules.calendars import built_in
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule, Spread
from wangtimer.core.words.words import Language

YEAR = 2028  # a leap year
COUNT = 400
SECONDS = ["*", "*/10", "*/7", "0", "5", "5,35", "30/10", "10-20", "0,1,2,40", "1-59/2"]
MINUTES = ["*", "*/10", "*/7", "0", "30", "0,30", "5/20", "0-10", "1,2,3,50", "59/15", "3-58/5", "0-59"]
HOURS = ["*", "*/2", "*/5", "0", "9", "9-17", "9,12,18", "0-3,7,8,10-12", "1-23/2", "22-3", "0-23", "8-20/4"]
DAYS = [
    "*",
    "?",
    "1",
    "15",
    "31",
    "1,15",
    "1-7",
    "*/2",
    "*/5",
    "L",
    "1,L",
    "15W",
    "31W",
    "1W",
    "1-31",
    "2-31,L",
]
MONTHS = ["*", "2", "6", "jan,mar", "6-8", "11-2", "*/3", "2-12/2", "1-12", "*/2"]
WEEKDAYS = [
    "*",
    "?",
    "1-5",
    "0",
    "7",
    "sat,sun",
    "5-1",
    "1,3,5",
    "0-6",
    "*/2",
    "5#2",
    "L5",
    "1#1,3#5",
    "mon-fri#1",
]
YEARS = ["*", "2028", "2027-2030", "2027/2", "2027,2029", "2028,2032"]
START_MS, END_MS = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 1_000 for year in (YEAR, YEAR + 1))


@cache
def expressions() -> list[tuple[str, str]]:
    """Return random expressions, each with one that fires at midnight of the same days."""
    draw = random.Random(7)
    day_fields = [" ".join(map(draw.choice, (DAYS, MONTHS, WEEKDAYS))) for _ in range(50)]
    day_fields += [f"* {month} *" for month in MONTHS] + [f"{day} * *" for day in DAYS]
    day_fields += [f"* * {weekday}" for weekday in WEEKDAYS]
    found = []
    for _ in range(COUNT):
        days = draw.choice(day_fields) if draw.random() < 0.7 else "* * *"
        time = f"{draw.choice(MINUTES)} {draw.choice(HOURS)}"
        seconds, years = draw.choice(SECONDS), draw.choice(YEARS)
        kind = draw.choice([5, 5, 6, 7])
        if kind == 5:
            found.append((f"{time} {days}", f"0 0 {days}"))
        elif kind == 6:
            found.append((f"{seconds} {time} {days}", f"0 0 {days}"))
        else:
            found.append((f"{seconds} {time} {days} {years}", f"0 0 0 {days} {years}"))
    return found


@cache
def days_fired(midnights: str) -> frozenset[date]:
    moments = Cron(midnights, "UTC").moments(START_MS - 1, END_MS - 1, 1_000)
    return frozenset(datetime.fromtimestamp(at // 1_000, UTC).date() for at in moments)


@cache
def days_said(words: str) -> frozenset[date]:
    return frozenset(days_meant(words, YEAR))


def seconds_fired(expression: str) -> set[int]:
    fields = read_fields(expression)
    return {hour * 3_600 + second for hour in fields.meaning.hours for second in fields.seconds_of_hour}


@cache
def said(expression: str, language: Language) -> str:
    """Return the words without their zone."""
    return re.sub(r" \(UTC\)$|（UTC 时间）$", "", describe(Cron(expression, "UTC"), language))


def test_what_is_said_in_english_is_what_fires() -> None:
    for expression, midnights in expressions():
        words = said(expression, Language.EN)
        seconds, days = read_words(words)
        assert seconds == seconds_fired(expression), (expression, words)
        assert days_said(days) == days_fired(midnights), (expression, words)


def test_what_is_said_alike_is_said_alike_in_chinese_too_and_nothing_else_is() -> None:
    chinese: dict[str, str] = {}
    for expression, _ in expressions():
        words = said(expression, Language.EN)
        assert chinese.setdefault(words, said(expression, Language.ZH)) == said(expression, Language.ZH)
    assert len(set(chinese.values())) == len(chinese) > COUNT // 2


def test_expressions_described_alike_have_the_same_moments() -> None:
    first: dict[str, tuple[str, str]] = {}
    alike = 0
    for expression, midnights in expressions():
        other, other_midnights = first.setdefault(said(expression, Language.ZH), (expression, midnights))
        if other != expression:
            alike += 1
            assert seconds_fired(other) == seconds_fired(expression), (other, expression)
            assert days_fired(other_midnights) == days_fired(midnights), (other, expression)
    assert alike > 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("@weekly", "0 0 0 ? * sun"),
        ("0 9 * * 7", "0 9 * * 0"),
        ("*/30 0 * * *", "0,30 0 * * *"),
        ("0 9 * * 1-5", "0 9 ? * mon-fri"),
        ("0 9 */2 * 1-7", "0 9 * * *"),
        ("0 0 9 1-31 * ? *", "0 9 * 1-12 *"),
    ],
)
def test_however_it_is_written_the_words_are_the_same(one: str, other: str) -> None:
    assert said(one, Language.EN) == said(other, Language.EN)
    assert said(one, Language.ZH) == said(other, Language.ZH)


def test_chinese_has_no_english_in_it() -> None:
    for expression, _ in expressions():
        assert not re.search("[A-Za-z]", said(expression, Language.ZH)), expression


@pytest.mark.parametrize(
    ("expression", "english", "chinese"),
    [
        ("* * * * *", "every minute", "每分钟"),
        ("*/10 * * * *", "every 10 minutes", "每 10 分钟"),
        ("*/7 * * * *", "at minutes 0, 7, 14, …, 56 of every hour", "每小时第 0、7、14、…、56 分"),
        ("5/20 * * * *", "at minutes 5, 25 and 45 of every hour", "每小时第 5、25、45 分"),
        ("@hourly", "every hour", "每小时整点"),
        ("@daily", "at 00:00 every day", "每天 00:00"),
        ("@weekly", "at 00:00 on Sundays", "每周日 00:00"),
        ("@yearly", "at 00:00 on the 1st of January", "1 月 1 日 00:00"),
        ("0 9 * * 1-5", "at 09:00 from Monday to Friday", "每周一至周五 09:00"),
        ("0 9,18 * * 6,0", "at 09:00 and 18:00 on Saturdays and Sundays", "每周六、周日 09:00、18:00"),
        (
            "15 */2 * * *",
            "every 2 hours from 00:15 to 22:15 every day",
            "每天从 00:15 到 22:15 每 2 小时一次",
        ),
        (
            "*/15 9-17 * * 1-5",
            "every 15 minutes between 09:00 and 17:59 from Monday to Friday",
            "每周一至周五 09:00 至 17:59 之间每 15 分钟",
        ),
        (
            "7 0-3,7,8,10-12 * * *",
            "at minute 7 of each hour in the hours 0 to 3, 7, 8 and 10 to 12 every day",
            "每天 0 至 3、7、8、10 至 12 点时段内每小时第 7 分",
        ),
        ("0 9 1,L * *", "at 09:00 on the 1st and the last day of every month", "每月 1 日和最后一天 09:00"),
        (
            "0 9 */2 * *",
            "at 09:00 on the 1st, 3rd, 5th, …, 31st of every month",
            "每月 1、3、5、…、31 日 09:00",
        ),
        (
            "0 9 15W * *",
            "at 09:00 on the weekday (Monday to Friday) nearest to the 15th of every month",
            "每月离 15 日最近的工作日（周一至周五）09:00",
        ),
        (
            "0 9 31W * *",
            "at 09:00 on the weekday (Monday to Friday) nearest to the 31st (in a shorter month to its last day) "
            "of every month",
            "每月离 31 日最近的工作日（周一至周五，不足该日的月份取月末）09:00",
        ),
        ("0 9 * * L5", "at 09:00 on the last Friday of every month", "每月最后一个周五 09:00"),
        (
            "0 9 * 6,9 1#1,5#2",
            "at 09:00 on the first Monday and the second Friday of June and September",
            "6、9 月的第一个周一、第二个周五 09:00",
        ),
        (
            "0 9 13 * 5",
            "at 09:00 on the 13th of every month and also on Fridays",
            "每月 13 日以及每周五 09:00",
        ),
        (
            "0 9 1 6 1",
            "at 09:00 on the 1st of June and also on Mondays in June",
            "6 月 1 日以及 6 月的每周一 09:00",
        ),
        ("0 9 1-31 * 1", "at 09:00 every day", "每天 09:00"),
        ("*/10 * * 6-8 *", "every 10 minutes every day in June to August", "6 至 8 月每天每 10 分钟"),
        ("* * * * * *", "every second", "每秒"),
        ("*/10 * * * * *", "every 10 seconds", "每 10 秒"),
        ("5 * * * * *", "at second 5 of every minute", "每分钟第 5 秒"),
        ("15 30 9 * * *", "at 09:30:15 every day", "每天 09:30:15"),
        (
            "*/10 */5 9-17 * * *",
            "every 10 seconds of minutes 0, 5, 10, …, 55 of each hour between 09:00 and 17:59 every day",
            "每天 09:00 至 17:59 之间每小时第 0、5、10、…、55 分的每 10 秒",
        ),
        ("0 30 9 * * * 2027", "at 09:30 every day in 2027", "2027 年，每天 09:30"),
        (
            "0 0 9 1 1 * 2027-2030",
            "at 09:00 on the 1st of January in 2027 to 2030",
            "2027 至 2030 年，1 月 1 日 09:00",
        ),
    ],
)
def test_a_cron_expression_in_words(expression: str, english: str, chinese: str) -> None:
    assert said(expression, Language.EN) == english
    assert said(expression, Language.ZH) == chinese


NOON = int(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()) * 1_000
DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("schedule", "english", "chinese"),
    [
        (
            Cron("0 9 * * *", "Asia/Shanghai"),
            "at 09:00 every day (Asia/Shanghai)",
            "每天 09:00（Asia/Shanghai 时间）",
        ),
        (
            Once(NOON + 1_500),
            "once, at 2026-11-21 12:00:01.500 (UTC)",
            "仅一次，2026-11-21 12:00:01.500（UTC 时间）",
        ),
        (
            Every(90_000, NOON, "Asia/Shanghai"),
            "every 1 minute 30 seconds from 2026-11-21 20:00 on (Asia/Shanghai)",
            "从 2026-11-21 20:00 起每 1 分 30 秒一次（Asia/Shanghai 时间）",
        ),
        (
            Every(3_600_000, NOON + 7_000),
            "every hour from 2026-11-21 12:00:07 on (UTC)",
            "从 2026-11-21 12:00:07 起每小时一次（UTC 时间）",
        ),
        (
            Every(7 * DAY_MS, NOON),
            "every 7 days (days of 24 hours) from 2026-11-21 12:00 on (UTC)",
            "从 2026-11-21 12:00 起每 7 天一次（一天按 24 小时计）（UTC 时间）",
        ),
        (
            Every(DAY_MS + 1_500, NOON),
            "every 1 day 1.5 seconds (days of 24 hours) from 2026-11-21 12:00 on (UTC)",
            "从 2026-11-21 12:00 起每 1 天 1.5 秒一次（一天按 24 小时计）（UTC 时间）",
        ),
        (
            Bounded(
                Cron("0 9 * * *", "Asia/Shanghai"),
                NOON,
                NOON + DAY_MS,
                built_in()["cn-off-days"],
                Spread(30_000, 1),
            ),
            "at 09:00 every day, not before 2026-11-21 20:00, not after 2026-11-22 20:00, "
            "not on the days of the calendar “cn-off-days”, each time put off by up to 30 seconds (Asia/Shanghai)",
            "每天 09:00，不早于 2026-11-21 20:00，不晚于 2026-11-22 20:00，日历“cn-off-days”中的日子除外，"
            "每次最多推迟 30 秒（Asia/Shanghai 时间）",
        ),
        (Bounded(Cron("0 9 * * *", "UTC")), "at 09:00 every day (UTC)", "每天 09:00（UTC 时间）"),
    ],
)
def test_a_schedule_in_words(schedule: Schedule, english: str, chinese: str) -> None:
    assert describe(schedule, Language.EN) == english
    assert describe(schedule, Language.ZH) == chinese


def test_a_wall_time_that_comes_twice_is_told_apart_by_its_offset() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    passes = [
        int(datetime(2026, 10, 25, 2, 30, fold=fold, tzinfo=berlin).timestamp()) * 1_000 for fold in (0, 1)
    ]
    assert [describe(Every(60_000, at, "Europe/Berlin"), Language.EN) for at in passes] == [
        "every minute from 2026-10-25 02:30+02:00 on (Europe/Berlin)",
        "every minute from 2026-10-25 02:30+01:00 on (Europe/Berlin)",
    ]


def test_what_cannot_be_read_is_not_described() -> None:
    with pytest.raises(InvalidSchedule):
        describe(Cron("61 * * * *", "UTC"), Language.EN)
