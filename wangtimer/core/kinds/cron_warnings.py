"""Warnings about a cron expression as it is written, whenever it fires."""

import re
from calendar import monthrange
from collections.abc import Iterator

from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.cron.cron_fields import field_count, field_texts
from wangtimer.core.cron.cron_meaning import Meaning
from wangtimer.core.words import words_en, words_zh
from wangtimer.core.words.warning import Warning, WarningCode

# A year that is not a leap year.
COMMON_YEAR = 2027
ALL_MONTHS = tuple(range(1, 13))
# The longest step within each field: from its lowest value to its highest.
WIDTHS = {"second": 59, "minute": 59, "hour": 23, "day": 30, "month": 11, "weekday": 6, "year": 129}
NAMES_ZH = {
    "second": "秒",
    "minute": "分",
    "hour": "时",
    "day": "日",
    "month": "月",
    "weekday": "星期",
    "year": "年",
}
# A weekday as a number, in `2`, `1-5`, `2/2`, `L5` and `5#2`; not the place of `fri#2` nor the step of `*/2`.
WEEKDAY_NUMBER = re.compile(r"(?<![#/0-9])[0-9]+")
STEP = re.compile(r"[^,/]*/(?P<step>[0-9]+)")
# A field that is one step to its end. A range such as 9-17/2 is meant to end earlier.
STEP_TO_END = re.compile(r"(?P<first>\*|[0-9]+)/(?P<step>[0-9]+)")
# The number of values of the fields that go round. In other fields a step is seldom meant as an interval.
ROUNDS = {"second": 60, "minute": 60, "hour": 24}


def warnings_of_expression(cron: Cron) -> Iterator[Warning]:
    """Yield what may surprise about the expression; InvalidSchedule if it cannot be read."""
    meaning = cron.meaning
    texts = field_texts(cron.expression, cron.dialect)
    if cron.dialect is CronDialect.UNIX:
        yield from _of_field_order(field_count(cron.expression))
    yield from warnings_of_text(cron)
    if meaning.days.is_either:
        yield Warning(
            WarningCode.EITHER_DAY,
            "day of month and day of week are both given: either is enough",
            "同时指定了日期和星期：满足其一即触发",
        )
    # `*/2` is not meant to reach the 31st of each month.
    if not texts["day"].startswith("*"):
        yield from _of_short_months(meaning)
    for weekday, place in meaning.days.nth_weekdays:
        if place == 5:
            yield Warning(
                WarningCode.FIFTH_WEEKDAY,
                f"not every month has a fifth {words_en.WEEKDAY_NAMES[weekday - 1]}",
                f"并非每个月都有第五个{words_zh.WEEKDAY_NAMES[weekday - 1]}",
            )


def warnings_of_text(cron: Cron) -> Iterator[Warning]:
    """Yield what may surprise about the text alone of a readable expression: it takes microseconds."""
    texts = field_texts(cron.expression, cron.dialect)
    if cron.dialect is CronDialect.UNIX:
        yield from _of_quartz_weekday(texts)
    for name, text in texts.items():
        yield from _of_long_steps(name, text)
        yield from _of_uneven_step(name, text)


def _of_field_order(count: int) -> Iterator[Warning]:
    if count == 6:
        yield Warning(
            WarningCode.FIELD_ORDER, "6 fields are read as seconds first", "6 个字段：第一个字段是秒"
        )
    if count == 7:
        yield Warning(
            WarningCode.FIELD_ORDER,
            "7 fields are read as seconds first and the year last",
            "7 个字段：第一个字段是秒，最后一个字段是年",
        )


def _of_quartz_weekday(texts: dict[str, str]) -> Iterator[Warning]:
    """Yield a warning if `?`, which only Quartz and its relatives need, meets a weekday as a number."""
    found = WEEKDAY_NUMBER.search(texts["weekday"])
    if texts["day"] != "?" or found is None:
        return
    number = found[0]
    at = (int(number) - 1) % len(words_en.WEEKDAY_NAMES)
    yield Warning(
        WarningCode.QUARTZ_WEEKDAY,
        f"weekday {number} is {words_en.WEEKDAY_NAMES[at]} here; where ? is from, in Quartz, weekdays count from 1, "
        "Sunday: write dialect quartz if that is meant, or names such as MON",
        f"这里的星期 {number} 是{words_zh.WEEKDAY_NAMES[at]}；而 ? 来自 Quartz，那里的星期从 1（周日）数起："
        "若是此意，请写 dialect 为 quartz，或写 MON 这样的名字",
    )


def _of_long_steps(name: str, text: str) -> Iterator[Warning]:
    for found in STEP.finditer(text):
        if int(found["step"]) > WIDTHS[name]:
            yield Warning(
                WarningCode.LONG_STEP,
                f"{name} {found[0]} steps past the end of its field, so it is its first value alone; for an interval "
                "use every",
                f"{NAMES_ZH[name]}字段 {found[0]} 的步长超出了该字段，因此只有第一个值；按间隔触发请用 every",
            )


def _of_uneven_step(name: str, text: str) -> Iterator[Warning]:
    """Yield a warning if the distance from a field's last value to its first in the next round is not the step."""
    found = STEP_TO_END.fullmatch(text)
    if found is None or name not in ROUNDS:
        return
    first = 0 if found["first"] == "*" else int(found["first"])
    step, values = int(found["step"]), ROUNDS[name]
    if step > WIDTHS[name]:
        return
    last = range(first, values, step)[-1]
    rest = first + values - last
    if rest != step:
        yield Warning(
            WarningCode.UNEVEN_STEP,
            f"{name} {text} is not every {step}: from {last} to the next {first} it is {rest}; for an interval use "
            "every",
            f"{NAMES_ZH[name]}字段 {text} 不是每 {step} 一次：从 {last} 到下一个 {first} 隔 {rest}；"
            "按间隔触发请用 every",
        )


def _of_short_months(meaning: Meaning) -> Iterator[Warning]:
    days = meaning.days
    for day in days.month_days:
        yield from _of_short_month(meaning, day, str(day), f"{day} 日")
    for before in days.from_end:
        yield from _of_short_month(meaning, before + 1, f"L-{before}", f"L-{before}")
    if days.nearest_to_end is not None:
        name = f"L-{days.nearest_to_end}W"
        yield from _of_short_month(meaning, days.nearest_to_end + 1, name, name)
    if days.nearest_to is not None and days.skips_short_months:
        yield from _of_short_month(meaning, days.nearest_to, f"{days.nearest_to}W", f"{days.nearest_to}W")


def _of_short_month(meaning: Meaning, length: int, name: str, name_zh: str) -> Iterator[Warning]:
    """Yield a warning if some of the months are shorter."""
    lacking = [month for month in meaning.months or ALL_MONTHS if monthrange(COMMON_YEAR, month)[1] < length]
    if length == 29 and lacking:
        yield Warning(WarningCode.LEAP_DAY, "29 February is in leap years only", "2 月 29 日只在闰年才有")
    elif lacking and not meaning.months:
        yield Warning(WarningCode.SHORT_MONTH, f"{name} is not in every month", f"并非每个月都有 {name_zh}")
    elif lacking:
        yield Warning(
            WarningCode.SHORT_MONTH,
            f"{name} is not in {words_en.month_list(lacking)}",
            f"{words_zh.number_list(lacking)} 月没有 {name_zh}",
        )
