"""Reads the English words of a cron expression back, by what they say to a reader and by nothing else."""

import re
from calendar import monthrange
from datetime import date, timedelta
from functools import cache

MONTHS = [
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
PLACES = ["first", "second", "third", "fourth", "fifth"]
ALL_HOURS, ALL_60 = range(24), range(60)
NEAREST = r"the weekday \(Monday to Friday\) nearest to the (\w+)( \(in a shorter month to its last day\))?"
YEAR_PART = re.compile(r"(?:^| )in (\d{4}\b[^a-z]*(?:(?:to|and) \d{4}\b[^a-z]*)*)$")
DAY_PART = re.compile(r"(?: |^)(every day|on (?!the hour)|from [A-Z]|in (?!the hours))")


def read_words(words: str) -> tuple[set[int], str]:
    """Return the seconds of the day that are meant, and the words about days."""
    found = DAY_PART.search(words)
    time, days = (words[: found.start()], words[found.start() :].strip()) if found else (words, "")
    return _seconds_of_day(time), days


def days_meant(days: str, year: int) -> set[date]:
    """Return the days of a year that the words about days mean."""
    if found := YEAR_PART.search(days):
        if year not in _numbers(found[1]):
            return set()
        days = days[: found.start()]
    every = [date(year, 1, 1) + timedelta(days=i) for i in range(366 if year % 4 == 0 else 365)]
    parts = days.strip().split(" and also ")
    return {day for day in every if any(_is_meant(part.strip(), day) for part in parts)}


def _is_meant(part: str, day: date) -> bool:
    if found := re.fullmatch(r"on (the .*) of (.*)", part):
        return day.month in _months(found[2]) and day.day in _named_days(found[1], day.year, day.month)
    found = re.fullmatch(r"(every day|on .*?|from \w+ to \w+)?(?: ?in (.*))?", part)
    assert found, part
    is_in_month = not found[2] or day.month in _months(found[2])
    return is_in_month and day.weekday() in _weekdays(found[1] or "every day")


@cache
def _weekdays(words: str) -> set[int]:
    if words == "every day":
        return set(range(7))
    if found := re.fullmatch(r"from (\w+) to (\w+)", words):
        return set(range(WEEKDAYS.index(found[1]), WEEKDAYS.index(found[2]) + 1))
    return {WEEKDAYS.index(name.removesuffix("s")) for name in _items(words.removeprefix("on "))}


@cache
def _named_days(words: str, year: int, month: int) -> set[int]:
    last = monthrange(year, month)[1]
    weekdays = {day: date(year, month, day).weekday() for day in range(1, last + 1)}
    if found := re.fullmatch(NEAREST, words):
        aim = _number(found[1])
        assert aim <= 28 or found[2]
        open_days = [day for day, weekday in weekdays.items() if weekday < 5]
        return {min(open_days, key=lambda day: abs(day - min(aim, last)))}
    named: set[int] = set()
    numbers: list[str] = []
    for item in _items(words):
        if item == "the last day":
            named.add(last)
        elif found := re.fullmatch(r"the (\w+) (\w+day)", item):
            of_weekday = [day for day, weekday in weekdays.items() if weekday == WEEKDAYS.index(found[2])]
            place = -1 if found[1] == "last" else PLACES.index(found[1])
            named |= set(of_weekday[place:][:1])
        else:
            numbers.append(item.removeprefix("the "))
    return named | (_numbers(", ".join(numbers)) if numbers else set())


@cache
def _months(words: str) -> set[int]:
    if words == "every month":
        return set(range(1, 13))
    return _numbers(re.sub("|".join(MONTHS), lambda found: str(MONTHS.index(found[0]) + 1), words))


def _seconds_of_day(words: str) -> set[int]:
    if re.match(r"at \d", words):
        return {_second(time) for time in _items(words.removeprefix("at "))}
    if found := re.fullmatch(r"every (?:(\d+) hours|hour) from (\S+) to (\S+)", words):
        return set(range(_second(found[2]), _second(found[3]) + 1, int(found[1] or 1) * 3_600))
    if found := re.fullmatch(r"(.*) between (\d\d):00 and (\d\d):59", words):
        within, hours = found[1], set(range(int(found[2]), int(found[3]) + 1))
    elif found := re.fullmatch(r"(.*) in the hours (.*)", words):
        within, hours = found[1], _numbers(found[2])
    else:
        within, hours = words, set(ALL_HOURS)
        assert "each hour" not in words
    minutes, seconds = _within_hour(within)
    return {hour * 3_600 + minute * 60 + second for hour in hours for minute in minutes for second in seconds}


def _within_hour(words: str) -> tuple[set[int], set[int]]:
    if words in ("every hour", "on the hour"):
        return {0}, {0}
    if found := re.fullmatch(r"every (?:(\d+) minutes|minute)", words):
        return set(range(0, 60, int(found[1] or 1))), {0}
    if found := re.fullmatch(r"at minutes? (.*) of (every|each) hour", words):
        return _numbers(found[1]), {0}
    found = re.fullmatch(r"(.*?)(?: of every minute| of minutes? (.*) of (?:every|each) hour)?", words)
    assert found, words
    minutes = _numbers(found[2]) if found[2] else set(ALL_60)
    if each := re.fullmatch(r"every (?:(\d+) seconds|second)", found[1]):
        return minutes, set(range(0, 60, int(each[1] or 1)))
    at = re.fullmatch(r"at seconds? (.*)", found[1])
    assert at, words
    return minutes, _numbers(at[1])


def _numbers(words: str) -> set[int]:
    """Return the numbers of `1, 3 to 5 and 7` or of `1, 3, 5, …, 31`."""
    items = _items(words)
    if "…" in items:
        first, second, third, _, last, *others = (_number(item) if item != "…" else 0 for item in items)
        assert not others
        assert second - first == third - second
        return set(range(first, last + 1, second - first))
    found: set[int] = set()
    for item in items:
        low, _, high = item.partition(" to ")
        found |= set(range(_number(low), _number(high or low) + 1))
    return found


def _items(words: str) -> list[str]:
    return re.split(r", | and ", words)


def _number(text: str) -> int:
    return int(re.sub(r"(st|nd|rd|th)$", "", text))


def _second(time: str) -> int:
    hour, minute, second = map(int, f"{time}:00".split(":")[:3])
    return hour * 3_600 + minute * 60 + second
