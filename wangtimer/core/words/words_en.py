"""Schedules in English."""

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

MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAY_NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
PLACES = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", LAST: "last"}
FIFTH_AND_UP = 29


def in_zone(words: str, timezone: str) -> str:
    """Return the words with the zone they are meant in."""
    return f"{words} ({timezone})"


def once(moment: str) -> str:
    """Return the words of one moment, without its zone."""
    return f"once, at {moment}"


def every(interval_ms: int, anchor: str) -> str:
    """Return the words of an interval and the moment it is counted from."""
    return f"every {interval(interval_ms)} from {anchor} on"


def every_days(days: int, anchor: str) -> str:
    """Return the words of an interval of days and the moment it is counted from, which has their time of day."""
    return f"every {'day' if days == 1 else f'{days} days'} at the time of day of {anchor}, from then on"


def bounded(
    rule: str, start: str | None, last: str | None, excluded: str | None, spread_ms: int | None
) -> str:
    """Return a rule's words with those of its bounds, which are None where there is none."""
    parts = [rule]
    if start is not None:
        parts.append(f"not before {start}")
    if last is not None:
        parts.append(f"not after {last}")
    if excluded is not None:
        parts.append(f"not on the days of the calendar “{excluded}”")
    if spread_ms is not None:
        parts.append(f"each time put off by up to {duration(spread_ms)}")
    return ", ".join(parts)


def duration(duration_ms: int) -> str:
    """Return a duration, as `1 hour 30 minutes`."""
    return " ".join(
        f"{count} {unit}{'' if count == '1' else 's'}" for count, unit in split_duration(duration_ms)
    )


def interval(interval_ms: int) -> str:
    """Return what follows `every`: `minute`, `90 seconds`, `7 days (days of 24 hours)`."""
    pairs = split_duration(interval_ms)
    text = pairs[0][1] if len(pairs) == 1 and pairs[0][0] == "1" else duration(interval_ms)
    return f"{text} (days of 24 hours)" if pairs[0][1] == "day" else text


def month_list(months: Sequence[int]) -> str:
    """Return months, counted from 1, as `April and June to August`."""
    return _join(list_parts(months, lambda month: MONTH_NAMES[month - 1], " to "))


def cron(meaning: Meaning) -> str:
    """Return the words of a cron expression, without its zone."""
    years = _join(list_parts(meaning.years, str, " to "))
    words = [_time(meaning), _days(meaning), f"in {years}" if years else ""]
    return " ".join(word for word in words if word)


def _time(meaning: Meaning) -> str:
    times = times_of_day(meaning)
    if times is not None:
        return f"at {_join(times)}"
    if even := hourly(meaning):
        step, first, last = even
        return f"every {'hour' if step == 1 else f'{step} hours'} from {first} to {last}"
    within_hour = _within_hour(meaning)
    if meaning.hours == EVERY_HOUR:
        return within_hour
    if borders := hour_range(meaning.hours):
        return f"{within_hour} between {borders[0]} and {borders[1]}"
    return f"{within_hour} in the hours {_numbers(meaning.hours)}"


def _within_hour(meaning: Meaning) -> str:
    of_hour = " of every hour" if meaning.hours == EVERY_HOUR else " of each hour"
    if meaning.seconds == (0,):
        if meaning.minutes == (0,):
            return "every hour" if meaning.hours == EVERY_HOUR else "on the hour"
        if meaning.minutes == EVERY_60:
            return "every minute"
        if step := rhythm(meaning.minutes):
            return f"every {step} minutes"
        return f"at {_named('minute', meaning.minutes)}{of_hour}"
    if meaning.seconds == EVERY_60:
        seconds = "every second"
    elif step := rhythm(meaning.seconds):
        seconds = f"every {step} seconds"
    elif meaning.minutes == EVERY_60:
        return f"at {_named('second', meaning.seconds)} of every minute"
    else:
        seconds = f"at {_named('second', meaning.seconds)}"
    if meaning.minutes == EVERY_60:
        return seconds
    return f"{seconds} of {_named('minute', meaning.minutes)}{of_hour}"


def _days(meaning: Meaning) -> str:
    days = meaning.days
    months = month_list(meaning.months)
    in_months = f" in {months}" if months else ""
    of_months = f" of {months or 'every month'}"
    nth = _join([f"the {PLACES[place]} {WEEKDAY_NAMES[day - 1]}" for day, place in days.nth_weekdays])
    month_days = _month_days(days)
    if days.is_every_day:
        every_day = "" if meaning.hours == EVERY_HOUR and not months else "every day"
        return every_day + in_months
    if days.is_either:
        other = _weekdays(days.weekdays) + in_months if days.weekdays else f"on {nth}{of_months}"
        return f"on {month_days}{of_months} and also {other}"
    if days.weekdays:
        return _weekdays(days.weekdays) + in_months
    return f"on {month_days or nth}{of_months}"


def _month_days(days: Days) -> str:
    if days.nearest_to_end == 0:
        return "the last weekday (Monday to Friday)"
    if days.nearest_to_end is not None:
        return f"the weekday (Monday to Friday) nearest to {_from_end(days.nearest_to_end)}"
    if days.nearest_to is not None:
        shorter = (
            "not in a shorter month" if days.skips_short_months else "in a shorter month to its last day"
        )
        note = f" ({shorter})" if days.nearest_to >= FIFTH_AND_UP else ""
        return f"the weekday (Monday to Friday) nearest to the {_ordinal(days.nearest_to)}{note}"
    parts = list_parts(days.month_days, _ordinal, " to ")
    if parts:
        parts[0] = f"the {parts[0]}"
    return _join([*parts, *map(_from_end, days.from_end)])


def _from_end(days_before_last: int) -> str:
    return f"the {_ordinal(days_before_last + 1)}-to-last day" if days_before_last else "the last day"


def _weekdays(weekdays: Sequence[int]) -> str:
    names = [WEEKDAY_NAMES[day - 1] for day in weekdays]
    if len(names) > 2 and weekdays[-1] - weekdays[0] == len(names) - 1:
        return f"from {names[0]} to {names[-1]}"
    return f"on {_join([f'{name}s' for name in names])}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _named(noun: str, values: Sequence[int]) -> str:
    return f"{noun}{'s' if len(values) > 1 else ''} {_numbers(values)}"


def _join(parts: Sequence[str]) -> str:
    if len(parts) < 3 or "…" in parts:
        return (", " if "…" in parts else " and ").join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _numbers(values: Sequence[int]) -> str:
    return _join(list_parts(values, str, " to "))
