"""Schedules in Chinese; names of zones and calendars stay as they are."""

from collections.abc import Sequence

from wangtimer.core.cron.cron_meaning import EVERY_60, EVERY_HOUR, LAST, Days, Meaning
from wangtimer.core.words.word_lists import (
    hour_range,
    hourly,
    list_parts,
    rhythm,
    split_duration,
    times_of_day,
)

WEEKDAY_NAMES = ["周一", "周二", "周三", "周四", "周五", "周六", "周日"]
PLACES = {1: "第一个", 2: "第二个", 3: "第三个", 4: "第四个", 5: "第五个", LAST: "最后一个"}
UNITS = {"day": "天", "hour": "小时", "minute": "分", "second": "秒"}
UNITS_ALONE = UNITS | {"minute": "分钟"}
SHORTEST_LONG_MONTH = 29


def in_zone(words: str, timezone: str) -> str:
    """Return the words with the zone they are meant in."""
    return f"{words}（{timezone} 时间）"


def once(moment: str) -> str:
    """Return the words of one moment, without its zone."""
    return f"仅一次，{moment}"


def every(interval_ms: int, anchor: str) -> str:
    """Return the words of an interval and the moment it is counted from."""
    pairs = split_duration(interval_ms)
    of_24_hours = "（一天按 24 小时计）" if pairs[0][1] == "day" else ""
    is_one = len(pairs) == 1 and pairs[0][0] == "1"
    interval = UNITS_ALONE[pairs[0][1]] if is_one else f" {duration(interval_ms)}"
    return f"从 {anchor} 起每{interval}一次{of_24_hours}"


def every_days(days: int, anchor: str) -> str:
    """Return the words of an interval of days and the moment it is counted from, which has their time of day."""
    return f"从 {anchor} 起每{'天' if days == 1 else f' {days} 天'}同一钟点一次"


def bounded(
    rule: str, start: str | None, last: str | None, excluded: str | None, spread_ms: int | None
) -> str:
    """Return a rule's words with those of its bounds, which are None where there is none."""
    parts = [rule]
    if start is not None:
        parts.append(f"不早于 {start}")
    if last is not None:
        parts.append(f"不晚于 {last}")
    if excluded is not None:
        parts.append(f"日历“{excluded}”中的日子除外")
    if spread_ms is not None:
        parts.append(f"每次最多推迟 {duration(spread_ms)}")
    return "，".join(parts)


def duration(duration_ms: int) -> str:
    """Return a duration, as `1 小时 30 分`."""
    pairs = split_duration(duration_ms)
    units = UNITS_ALONE if len(pairs) == 1 else UNITS
    return " ".join(f"{count} {units[unit]}" for count, unit in pairs)


def number_list(values: Sequence[int]) -> str:
    """Return ascending numbers, as `4、6 至 8`."""
    return _join(list_parts(values, str, " 至 "))


def cron(meaning: Meaning) -> str:
    """Return the words of a cron expression, without its zone."""
    years = f"{number_list(meaning.years)} 年" if meaning.years else ""
    days, time = _days(meaning), _time(meaning)
    return "，".join(part for part in (years, _after(days, time)) if part)


def _after(days: str, time: str) -> str:
    return days + (_gap(time) if days and not days.endswith("）") else time)


def _gap(text: str) -> str:
    """Return the text with a space before it if it starts with a number, as Chinese is set."""
    return f" {text}" if text[:1].isascii() else text


def _time(meaning: Meaning) -> str:
    times = times_of_day(meaning)
    if times is not None:
        return _join(times)
    if even := hourly(meaning):
        step, first, last = even
        return f"从 {first} 到 {last} 每{'小时' if step == 1 else f' {step} 小时'}一次"
    within_hour = _within_hour(meaning)
    if meaning.hours == EVERY_HOUR:
        return within_hour
    if borders := hour_range(meaning.hours):
        return f"{borders[0]} 至 {borders[1]} 之间{within_hour}"
    return f"{number_list(meaning.hours)} 点时段内{within_hour}"


def _within_hour(meaning: Meaning) -> str:
    if meaning.seconds == (0,):
        if meaning.minutes == (0,):
            return "每小时整点"
        if meaning.minutes == EVERY_60:
            return "每分钟"
        if step := rhythm(meaning.minutes):
            return f"每 {step} 分钟"
        return f"每小时第 {number_list(meaning.minutes)} 分"
    if meaning.seconds == EVERY_60:
        seconds = "每秒"
    elif step := rhythm(meaning.seconds):
        seconds = f"每 {step} 秒"
    else:
        seconds = f"第 {number_list(meaning.seconds)} 秒"
        if meaning.minutes == EVERY_60:
            return f"每分钟{seconds}"
    if meaning.minutes == EVERY_60:
        return seconds
    return f"每小时第 {number_list(meaning.minutes)} 分的{seconds}"


def _days(meaning: Meaning) -> str:
    days = meaning.days
    months = f"{number_list(meaning.months)} 月" if meaning.months else ""
    in_months = f"{months}的" if months else ""
    if days.is_every_day:
        return "" if meaning.hours == EVERY_HOUR and not months else f"{months}每天"
    month_days = _month_days(days)
    nth = _join([f"{PLACES[place]}{WEEKDAY_NAMES[day - 1]}" for day, place in days.nth_weekdays])
    is_moved = days.nearest_to is not None or days.nearest_to_end is not None
    is_date = len(meaning.months) == 1 or is_moved
    in_month = ((months if is_date else in_months) or "每月") + _gap(month_days)
    weekdays = in_months + _weekdays(days.weekdays) if days.weekdays else (in_months or "每月") + nth
    if days.is_either:
        return f"{in_month}以及{_gap(weekdays)}"
    return in_month if month_days else weekdays


def _month_days(days: Days) -> str:
    if days.nearest_to_end == 0:
        return "最后一个工作日（周一至周五）"
    if days.nearest_to_end is not None:
        return f"离{_from_end(days.nearest_to_end)}最近的工作日（周一至周五）"
    if days.nearest_to is not None:
        shorter = "不足该日的月份不触发" if days.skips_short_months else "不足该日的月份取月末"
        note = f"，{shorter}" if days.nearest_to >= SHORTEST_LONG_MONTH else ""
        return f"离 {days.nearest_to} 日最近的工作日（周一至周五{note}）"
    numbered = f"{number_list(days.month_days)} 日" if days.month_days else ""
    return "和".join(part for part in (numbered, *map(_from_end, days.from_end)) if part)


def _from_end(days_before_last: int) -> str:
    return f"倒数第 {days_before_last + 1} 天" if days_before_last else "最后一天"


def _weekdays(weekdays: Sequence[int]) -> str:
    names = [WEEKDAY_NAMES[day - 1] for day in weekdays]
    if len(names) > 2 and weekdays[-1] - weekdays[0] == len(names) - 1:
        return f"每{names[0]}至{names[-1]}"
    return f"每{_join(names)}"


_join = "、".join
