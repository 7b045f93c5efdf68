"""Reads a schedule and its ending from a request.

What a request gives of it is `asked`: values by the names of fields in core, None for null, spans of time in ms.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.http.refusals import Refused, bad_schedule, shown
from wangtimer.core.kinds.kind import AskedRule, RuleKind
from wangtimer.core.kinds.kinds import KINDS, asked_fields, asked_names, kind_of
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import ENDLESS, Bounded, Ending, Schedule, Spread, as_bounded, rule_of
from wangtimer.core.time.meant_zones import unknown_zone
from wangtimer.core.time.zones import zone_names
from wangtimer.core.timers.schedule_edits import evenly_spread, uncancelled
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.calendars import CalendarStore

# The bounds of a schedule, with their places in a timer of `/v1`.
BOUNDS = {
    "start_at": "schedule.startAt",
    "end_at": "schedule.endAt",
    "max_firings": "schedule.maxFirings",
    "jitter_ms": "schedule.jitter",
    "exclude_calendar": "schedule.excludeCalendar",
}

# The kinds of rules by the name of a field: a field that asks for the kind, and a field that is a detail of them.
_ASKS_FOR = {field.name: kind for kind in KINDS for field in kind.asked_by}
_PLACES = {field.name: field.place for field in asked_fields()}
_BELONGS_TO = {
    field.name: [kind for kind in KINDS if field in kind.details]
    for owner in KINDS
    for field in owner.details
}
# In the order in which one of another kind is refused.
_FIELDS = (*_PLACES, "timezone", *BOUNDS)

# Finds a calendar by its name; raises `Refused`.
FindCalendar = Callable[[str], Calendar]


def find_calendar(calendars: CalendarStore, app: str, name: str) -> Calendar:
    """Return a built-in calendar, or the app's own; raises `Refused` where there is none."""
    calendar = built_in().get(name) or calendars.get(app, name)
    if calendar is None:
        raise bad_schedule(
            "schedule.excludeCalendar",
            f"there is no calendar {shown(name)}",
            f"name one of {', '.join(built_in())}, or upload it first",
        )
    return calendar


@dataclass(frozen=True, slots=True)
class AskedSchedule:
    """A schedule and its ending."""

    schedule: Schedule
    ending: Ending = ENDLESS


def schedule_of(
    asked: Mapping[str, Any], now: int, find_calendar: FindCalendar, must_fire: bool = True
) -> AskedSchedule:
    """Return the schedule of a new timer, made at `now` (ms UTC).

    Raises `InvalidInput` for no rule, more than one, or one that cannot be read; if it `must_fire`, for one that never
    fires.
    """
    read = _read(asked, _new_rule(asked, None, now), None, now, find_calendar)
    if must_fire:
        _refuse_never(read.schedule, asked, now)
    return read


def edited_schedule(
    asked: Mapping[str, Any], timer: Timer, now: int, find_calendar: FindCalendar
) -> AskedSchedule:
    """Return an edited timer's schedule: absent fields stay, null removes one. Raises as `schedule_of`.

    One that does not change may have run out.
    """
    if not asked:
        return AskedSchedule(timer.definition.schedule, timer.ending)
    rule = _changed_rule(asked, rule_of(timer.definition.schedule), now)
    return _changed(timer, _read(asked, rule, timer, now, find_calendar), asked, now)


def replaced_schedule(
    asked: Mapping[str, Any], timer: Timer, now: int, find_calendar: FindCalendar
) -> AskedSchedule:
    """Return the schedule that replaces a timer's; an unchanged one may have run out. Raises as `schedule_of`."""
    rule = _new_rule(asked, rule_of(timer.definition.schedule), now)
    read = _read(asked, rule, None, now, find_calendar)
    return _changed(timer, replace(read, schedule=_spread_for(timer.id, read.schedule)), asked, now)


def _changed(timer: Timer, read: AskedSchedule, asked: Mapping[str, Any], now: int) -> AskedSchedule:
    """Return the new schedule; where nothing changes, the timer's own. `maxFirings` may go on counting."""
    was = timer.definition.schedule
    if _is_counted_alike(read, timer):
        ending = replace(read.ending, counted_from=timer.ending.counted_from)
        read = AskedSchedule(ending.applied_to(read.schedule), ending)
    if _as_asked(read.schedule) == _as_asked(was) and read.ending == timer.ending:
        return AskedSchedule(was, timer.ending)
    _refuse_never(read.schedule, asked, now)
    return read


def _as_asked(schedule: Schedule) -> Schedule:
    return uncancelled(evenly_spread(schedule))


def _is_counted_alike(read: AskedSchedule, timer: Timer) -> bool:
    """Tell whether `maxFirings` goes on counting: the rule, its start and the number are the same."""
    new, was = read.schedule, timer.definition.schedule
    is_same_rule = rule_of(new) == rule_of(was) and as_bounded(new).start_ms == as_bounded(was).start_ms
    return is_same_rule and read.ending.most == timer.ending.most


def _spread_for(timer_id: int, schedule: Schedule) -> Schedule:
    bounded = as_bounded(schedule)
    if bounded.spread is None:
        return schedule
    return replace(bounded, spread=replace(bounded.spread, seed=timer_id))


def _read(
    asked: Mapping[str, Any], rule: Rule, timer: Timer | None, now: int, find_calendar: FindCalendar
) -> AskedSchedule:
    """Return the rule within the bounds that are given; the timer's bounds stand for the others."""
    if rule.only_moment is not None:
        _refuse_bounds(asked, rule)
        return AskedSchedule(rule)
    old = Bounded(rule) if timer is None else as_bounded(timer.definition.schedule)
    old_ending = ENDLESS if timer is None else timer.ending
    stays = BOUNDS.keys() - asked.keys()
    ending = Ending(
        old_ending.end_ms if "end_at" in stays else _moment_or_none(asked, "end_at"),
        old_ending.most if "max_firings" in stays else asked["max_firings"],
    )
    start_ms = old.start_ms if "start_at" in stays else _moment_or_none(asked, "start_at")
    if start_ms is not None and ending.end_ms is not None and ending.end_ms < start_ms:
        raise bad_schedule("schedule.endAt", "it lies before startAt", "write a later moment")
    schedule = Bounded(
        rule,
        start_ms,
        excluded=old.excluded if "exclude_calendar" in stays else _calendar(asked, find_calendar),
        spread=_spread(old.jitter_ms if "jitter_ms" in stays else asked["jitter_ms"], timer, now),
    )
    return AskedSchedule(ending.applied_to(schedule), ending)


def _new_rule(asked: Mapping[str, Any], replaced: Rule | None, now: int) -> Rule:
    given = _given(asked)
    wanted = [name for name in given if name in _ASKS_FOR]
    if len(wanted) != 1:
        raise _bad_number(len(wanted), "give exactly one of them")
    kind = _ASKS_FOR[wanted[0]]
    was = replaced if type(replaced) is kind.of else None
    rule: Rule = kind.read_anew(_asked_rule(given, kind, "UTC", now), was)
    return rule


def _changed_rule(asked: Mapping[str, Any], was: Rule, now: int) -> Rule:
    """Return the timer's new rule: one of another kind, or the old one with the given fields changed."""
    given = _given(asked)
    wanted = [name for name in given if name in _ASKS_FOR]
    if len(wanted) > 1:
        raise _bad_number(len(wanted), "give one of them at most")
    kind = _ASKS_FOR[wanted[0]] if wanted else kind_of(was)
    asked_rule = _asked_rule(given, kind, was.timezone, now)
    rule: Rule = kind.read(asked_rule, was if type(was) is kind.of else None)
    return rule


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: asked[name] for name in _FIELDS if asked.get(name) is not None}


def _asked_rule(given: dict[str, Any], kind: RuleKind[Any], usual_zone: str, now: int) -> AskedRule:
    """Return the fields of a rule of this kind; raises `InvalidInput` for a bad zone or another kind's field."""
    timezone = given.get("timezone", usual_zone)
    if timezone not in zone_names():
        raise unknown_zone(timezone)
    for name in given:
        owners = _BELONGS_TO.get(name, [kind])
        if kind not in owners:
            whose = " and ".join(owner.asked_by[0].place for owner in owners)
            raise bad_schedule(f"schedule.{_PLACES[name]}", f"it belongs to {whose}", "leave it out")
    # The zone that a timer has already is not before the eyes of whoever writes this.
    return AskedRule(given, timezone, now, partial(read_moment_field, timezone=given.get("timezone", "")))


def _bad_number(number: int, mend: str) -> Refused:
    first, *others, last = asked_names()
    return bad_schedule(
        f"schedule.{first}", f"{number} of {', '.join([first, *others])} and {last} are given", mend
    )


def _refuse_bounds(asked: Mapping[str, Any], rule: Rule) -> None:
    for attribute, name in BOUNDS.items():
        if asked.get(attribute) is not None:
            own = kind_of(rule).asked_by
            others = [field.place for kind in KINDS for field in kind.asked_by if field not in own]
            mend = f"leave it out, or give {' or '.join(others)}"
            raise bad_schedule(name, "a single moment does not use it", mend)


def _refuse_never(schedule: Schedule, asked: Mapping[str, Any], now: int) -> None:
    rule = rule_of(schedule)
    kind = kind_of(rule)
    kind.refuse_never(rule)
    if rule.only_moment is not None or schedule.first_after(now) is not None:
        return
    kind.refuse_over(rule, now)
    given = [name for attribute, name in BOUNDS.items() if asked.get(attribute) is not None]
    raise bad_schedule(
        given[-1] if given else f"schedule.{asked_names()[0]}",
        "the schedule never fires within its bounds",
        "give it bounds with a moment in the future: see startAt, endAt, maxFirings and excludeCalendar",
    )


def _calendar(asked: Mapping[str, Any], find_calendar: FindCalendar) -> Calendar | None:
    name = asked["exclude_calendar"]
    return None if name is None else find_calendar(name)


def _spread(jitter_ms: int | None, timer: Timer | None, now: int) -> Spread | None:
    """Return the jitter of future moments. A past moment, such as an anchor, gets none, or it could fire after now."""
    return Spread(jitter_ms, 0 if timer is None else timer.id, ((now, 0),)) if jitter_ms else None


def _moment_or_none(asked: Mapping[str, Any], name: str) -> int | None:
    given = asked[name]
    return None if given is None else read_moment_field(given, BOUNDS[name], asked.get("timezone") or "")
