"""The bounds of a schedule, as both stores write them; None if it has none.

`{"start", "last", "spread", "spread_was", "excluded", "cancelled"}`, only those that are set.
"""

from collections.abc import Callable, Hashable
from datetime import date
from functools import wraps
from typing import Any, TypeVar

import orjson

from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Bounded, Schedule, Spread, bounds_in

BoundFields = dict[str, Any]

_OWN = frozenset({"start", "last", "spread", "spread_was", "excluded", "cancelled"})
# Timer rows keep a timer's ending beside them.
_OF_LIMITS = frozenset({"end", "most", "from"})

# Days in each cache: those of the hundred calendars that an app may have, each as large as it may be. An app with more
# pays 2 ms for 4,000 days with each timer. A calendar with so many days takes 0.85 MB in all caches together.
MOST_DAYS_KEPT = 400_000
# An entry without days counts as so many.
LEAST_DAYS = 400

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def days_in(calendar: Calendar) -> int:
    """Return as how many days a calendar counts in a cache."""
    return max(LEAST_DAYS, len(calendar.days) + len(calendar.working))


def kept_by_days(
    days_of: Callable[[Any, Any], int],
) -> Callable[[Callable[[Key], Value]], Callable[[Key], Value]]:
    """Let a function remember what it returned, until that would be more than `MOST_DAYS_KEPT`; then it begins anew."""

    def keeping(make: Callable[[Key], Value]) -> Callable[[Key], Value]:
        kept: dict[Key, Value] = {}
        held = 0

        @wraps(make)
        def recall(key: Key) -> Value:
            nonlocal held
            try:
                return kept[key]
            except KeyError:
                made = make(key)
            held += days_of(key, made)
            if held > MOST_DAYS_KEPT:
                kept.clear()
                held = days_of(key, made)
            kept[key] = made
            return made

        return recall

    return keeping


def _days_in_fields(_: str, fields: BoundFields) -> int:
    return days_in(fields["excluded"]) if "excluded" in fields else LEAST_DAYS


# Many timers have the same text; nobody changes what is returned.
@kept_by_days(_days_in_fields)
def bounds_from(text: str) -> BoundFields:
    """Return the bounds in a timer's row, with its calendar read; raises ValueError."""
    fields: BoundFields = orjson.loads(text)
    if "excluded" in fields:
        fields["excluded"] = calendar_from(fields["excluded"])
    return fields


def bounds_of(schedule: Schedule) -> BoundFields | None:
    """Return a schedule's bounds, only those that are set."""
    bounds = bounds_in(schedule)
    if bounds is None:
        return None
    fields = {
        "start": bounds.start_ms,
        "last": bounds.last_ms,
        "excluded": None if bounds.excluded is None else calendar_fields(bounds.excluded),
        "cancelled": sorted(bounds.cancelled) or None,
    } | _spread_fields(bounds.spread)
    return {name: value for name, value in fields.items() if value is not None}


def bounded(rule: Rule, fields: BoundFields | None, timer_id: int) -> Schedule:
    """Return the rule within these bounds; timers of different ids are spread differently.

    `excluded` may be a calendar, or its fields. Raises ValueError for a bound that this version does not know: without
    it the timer would fire at other moments.
    """
    unknown = (fields or {}).keys() - _OWN - _OF_LIMITS
    if unknown:
        raise ValueError(f"this version does not know the bounds {', '.join(sorted(unknown))}")
    if not fields or not fields.keys() & _OWN - {"spread_was"}:
        return rule
    excluded = fields.get("excluded")
    return Bounded(
        rule,
        fields.get("start"),
        fields.get("last"),
        excluded if excluded is None or isinstance(excluded, Calendar) else calendar_from(excluded),
        _spread(fields, timer_id),
        frozenset(fields.get("cancelled", ())),
    )


def _spread_fields(spread: Spread | None) -> BoundFields:
    if spread is None:
        return {}
    return {
        "spread": spread.most_ms,
        "spread_was": spread.before or None,
    }


def _spread(fields: BoundFields, timer_id: int) -> Spread | None:
    if "spread" not in fields:
        return None
    before = tuple((until_ms, most_ms) for until_ms, most_ms in fields.get("spread_was", ()))
    return Spread(fields["spread"], timer_id, before)


# Thousands of days are sorted once; nobody changes what is returned.
@kept_by_days(lambda calendar, _: days_in(calendar))
def calendar_fields(calendar: Calendar) -> BoundFields:
    """Return the fields of a calendar; of a built-in one its name alone, so that next year's edition counts."""
    if calendar.name in built_in():
        return {"name": calendar.name}
    return {
        "name": calendar.name,
        "weekdays": sorted(calendar.weekdays),
        "days": sorted(day.toordinal() for day in calendar.days),
        "working": sorted(day.toordinal() for day in calendar.working),
    }


def calendar_from(fields: BoundFields) -> Calendar:
    """Read back what `calendar_fields` wrote."""
    name = fields["name"]
    if name in built_in():
        return built_in()[name]
    if "days" not in fields:
        raise ValueError(f"calendar {name!r} is only named, and this version has none of that name")
    return _calendar((name, tuple(fields["weekdays"]), tuple(fields["days"]), tuple(fields["working"])))


# Many timers have the same one, each in full.
@kept_by_days(lambda _, calendar: days_in(calendar))
def _calendar(content: tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> Calendar:
    name, weekdays, days, working = content
    open_days = frozenset(map(date.fromordinal, working))
    return Calendar(name, frozenset(weekdays), frozenset(map(date.fromordinal, days)), open_days)
