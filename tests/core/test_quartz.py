"""The quartz dialect against an oracle that looks at each day by itself and shares no code with the reader."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.cron.cron_fields import MAX_LENGTH
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.kinds.cron_kind import cron_from, cron_text
from wangtimer.core.kinds.kinds import describe
from wangtimer.core.previews.warnings import warnings_of
from wangtimer.core.words.warning import WarningCode
from wangtimer.core.words.words import Language

FIRST, LAST = date(2027, 1, 1), date(2028, 12, 31)
NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


def quartz(expression: str) -> Cron:
    return Cron.read(expression, "UTC", CronDialect.QUARTZ)


def days_fired(expression: str) -> list[date]:
    after, until = (
        round(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000
        for day in (FIRST, LAST + timedelta(days=1))
    )
    found = quartz(expression).moments(after - 1, until - 1, 1_000)
    return [datetime.fromtimestamp(moment / 1_000, UTC).date() for moment in found]


def is_meant(day: date, field: str) -> bool:
    """Tell whether a day is meant by one part of the day or weekday field, as `day:LW` or `weekday:6L`."""
    kind, _, text = field.partition(":")
    length = monthrange(day.year, day.month)[1]
    number = (day.weekday() + 1) % 7 + 1
    if kind == "weekday":
        for at, name in enumerate(NAMES, 1):
            text = text.replace(name, str(at))
        if text == "L":
            return number == 7
        if text.endswith("L"):
            return number == int(text[:-1]) and day.day + 7 > length
        if "#" in text:
            of, nth = map(int, text.split("#"))
            return number == of and (day.day - 1) // 7 + 1 == nth
        low, _, high = text.partition("-")
        first, last = int(low), int(high or low)
        return first <= number <= last if first <= last else number >= first or number <= last
    aim = length - int(text.strip("LW").strip("-") or 0) if text.startswith("L") else int(text.strip("W"))
    if not 1 <= aim <= length:
        return False
    if not text.endswith("W"):
        return day.day == aim
    open_days = [one for one in range(1, length + 1) if day.replace(day=one).weekday() < 5]
    return day.day == min(open_days, key=lambda one: abs(one - aim))


weekdays = st.integers(1, 7).map(str) | st.sampled_from(NAMES)
weekday_fields = st.one_of(
    weekdays,
    st.just("L"),
    weekdays.map(lambda one: f"{one}L"),
    st.tuples(weekdays, st.integers(1, 5)).map(lambda pair: f"{pair[0]}#{pair[1]}"),
    st.tuples(weekdays, weekdays).map("-".join),
).map(lambda text: f"weekday:{text}")
day_fields = st.one_of(
    st.integers(1, 31).map(str),
    st.integers(1, 31).map(lambda day: f"{day}W"),
    st.sampled_from(["L", "LW"]),
    st.integers(1, 30).map(lambda back: f"L-{back}"),
    st.integers(1, 30).map(lambda back: f"L-{back}W"),
).map(lambda text: f"day:{text}")


@settings(max_examples=100, deadline=None)
@given(weekday_fields | day_fields)
def test_each_day_is_one_that_the_oracle_means(field: str) -> None:
    kind, _, text = field.partition(":")
    written = f"0 0 9 {text} * ?" if kind == "day" else f"0 0 9 ? * {text}"
    every = [FIRST + timedelta(days=days) for days in range((LAST - FIRST).days + 1)]
    assert days_fired(written) == [day for day in every if is_meant(day, field)]


@pytest.mark.parametrize(
    ("expression", "english", "chinese"),
    [
        ("0 0 9 ? * 2", "at 09:00 on Mondays (UTC)", "每周一 09:00（UTC 时间）"),
        (
            "0 0 9 ? * 6L",
            "at 09:00 on the last Friday of every month (UTC)",
            "每月最后一个周五 09:00（UTC 时间）",
        ),
        (
            "0 0 9 L-3 * ?",
            "at 09:00 on the 4th-to-last day of every month (UTC)",
            "每月倒数第 4 天 09:00（UTC 时间）",
        ),
        (
            "0 0 9 LW * ?",
            "at 09:00 on the last weekday (Monday to Friday) of every month (UTC)",
            "每月最后一个工作日（周一至周五）09:00（UTC 时间）",
        ),
        (
            "0 0 22-4/3 ? * MON",
            "at 01:00, 04:00 and 22:00 on Mondays (UTC)",
            "每周一 01:00、04:00、22:00（UTC 时间）",
        ),
    ],
)
def test_it_is_told_in_words(expression: str, english: str, chinese: str) -> None:
    cron = quartz(expression)
    assert (describe(cron, Language.EN), describe(cron, Language.ZH)) == (english, chinese)


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 9 * * 2",
        "0 0 9 ? * ?",
        "0 0 9 ? * 0",
        "0 0 9 ? * 8",
        "0 0 9 ? * MON/2",
        "0 0 9 L-31 * ?",
        "0 0 9 1,LW * ?",
        "0 0 9 1,15W * ?",
        "0 0 9 ? * 2,6L",
        "0 0 9 ? * 6#6",
        "0 0 9 ? * 2-6#1",
        "0 9 ? * 2",
        "@daily",
        "0 */0 9 ? * 2",
        "0 0 9 , * ?",
        "? 0 9 ? * 2",
        "0 0 9 ? * 2 2100",
        "0 0 9 ? * 2 2030-2027",
    ],
)
def test_what_it_does_not_have_is_refused(expression: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        quartz(expression)
    assert refused.value.field == "schedule.cron"
    assert refused.value.mend


@given(weekday_fields | day_fields)
def test_it_is_stored_so_that_a_version_that_does_not_know_it_refuses_it(field: str) -> None:
    kind, _, text = field.partition(":")
    cron = quartz(f"0 0 9 {text} * ?" if kind == "day" else f"0 0 9 ? * {text}")
    assert cron_from(cron_text(cron), "UTC") == cron
    # All that such a version does with what is stored: it reads it as unix.
    with pytest.raises(InvalidSchedule):
        Cron.read(cron_text(cron), "UTC")


def test_an_expression_of_the_unix_dialect_is_stored_as_ever() -> None:
    cron = Cron.read("*/5 * * * *")
    assert cron_text(cron) == cron.expression
    assert cron_from(cron.expression, "UTC") == cron


def test_what_is_stored_fits() -> None:
    longest = "0 0 9 ? * " + ",".join(["2"] * 57)
    with pytest.raises(InvalidSchedule, match="longer than 121"):
        quartz(longest)
    assert len(cron_text(quartz(longest[:-2]))) <= MAX_LENGTH


def test_its_weekdays_and_seconds_need_no_warning() -> None:
    assert warnings_of(quartz("0 0 9 ? * 2"), 0) == ()
    assert [one.code for one in warnings_of(quartz("0 0 9 31W * ?"), 0)] == [WarningCode.SHORT_MONTH]
    codes = [one.code for one in warnings_of(Cron.read("0 0 9 ? * 2"), 0)]
    assert WarningCode.QUARTZ_WEEKDAY in codes
