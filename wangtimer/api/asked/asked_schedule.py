"""From what a request says of when to fire, to a schedule with its ending."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from wangtimer.api.asked.terms import ScheduleFields
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.http.refusals import Refused
from wangtimer.core.cron.cron import END_MS, Cron
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.ending import ENDLESS, Ending
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule, Spread, rule_of, start_of
from wangtimer.core.time.meant_zones import unknown_zone
from wangtimer.core.time.zones import zone_names
from wangtimer.core.timers.cancelling import uncancelled
from wangtimer.core.timers.spreading import evenly_spread
from wangtimer.core.timers.timer import Timer

# Their names in a request, which says exactly one; those of what bounds it.
RULES = {"cron": "cron", "every_ms": "everyMs", "at": "at", "delay_ms": "delayMs"}
BOUNDS = {
    "start_at": "startAt",
    "end_at": "endAt",
    "max_firings": "maxFirings",
    "jitter_ms": "jitterMs",
    "exclude_calendar": "excludeCalendar",
}

# Finds a calendar by its name; raises `Refused`.
FindCalendar = Callable[[str], Calendar]


@dataclass(frozen=True, slots=True)
class AskedSchedule:
    """A schedule and what is to end it."""

    schedule: Schedule
    ending: Ending = ENDLESS


def schedule_of(
    asked: ScheduleFields, now: int, find_calendar: FindCalendar, must_fire: bool = True
) -> AskedSchedule:
    """Return the schedule of a new timer; `now` (ms UTC) is when it is created.

    Raises `InvalidInput` where not exactly one rule is given, or it cannot be read, or never fires and `must_fire`.
    """
    given = [name for name in RULES if getattr(asked, name) is not None]
    if len(given) != 1:
        raise _bad(
            "cron", f"{len(given)} of cron, everyMs, at and delayMs are given", "give exactly one of them"
        )
    read = _read(asked, None, now, find_calendar)
    if must_fire:
        _refuse_never(read.schedule, asked, now)
    return read


def edited_schedule(
    asked: ScheduleFields, timer: Timer, now: int, find_calendar: FindCalendar
) -> AskedSchedule:
    """Return the schedule of a timer that is edited: what is not given stays, null takes it away.

    Where that is what it has, it may have run out. Raises as `schedule_of`.
    """
    if not asked.model_fields_set & (set(RULES) | set(BOUNDS) | {"timezone", "anchor_at", "cron_dialect"}):
        return AskedSchedule(timer.definition.schedule, timer.ending)
    given = [name for name in RULES if getattr(asked, name) is not None]
    if len(given) > 1:
        raise _bad(
            "cron", f"{len(given)} of cron, everyMs, at and delayMs are given", "give one of them at most"
        )
    return _changed(timer, _read(asked, timer, now, find_calendar), asked, now)


def replaced_schedule(
    asked: ScheduleFields, timer: Timer, now: int, find_calendar: FindCalendar
) -> AskedSchedule:
    """Return the schedule a timer is to have whatever it had.

    Where that is what it has, it may have run out. Raises as `schedule_of`.
    """
    asked = _anchored_like(timer.definition.schedule, asked)
    read = schedule_of(asked, now, find_calendar, must_fire=False)
    return _changed(timer, replace(read, schedule=_spread_for(timer.id, read.schedule)), asked, now)


def _changed(timer: Timer, read: AskedSchedule, asked: ScheduleFields, now: int) -> AskedSchedule:
    """Return what a timer is to have, counted on where that makes sense; its own where it is the same."""
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
    """Tell whether a timer's so many firings go on being counted: the rule, its start and their number stay."""
    new, was = read.schedule, timer.definition.schedule
    is_same_rule = (rule_of(new), start_of(new)) == (rule_of(was), start_of(was))
    return is_same_rule and read.ending.most == timer.ending.most


def _anchored_like(was: Schedule, asked: ScheduleFields) -> ScheduleFields:
    """Return an interval without an anchor of its own with that of the same interval before, not with now."""
    rule = rule_of(was)
    if not isinstance(rule, Every) or rule.interval_ms != asked.every_ms:
        return asked
    if asked.anchor_at is not None or asked.start_at is not None:
        return asked
    return asked.model_copy(update={"anchor_at": rule.anchor_ms})


def _spread_for(timer_id: int, schedule: Schedule) -> Schedule:
    if not isinstance(schedule, Bounded) or schedule.spread is None:
        return schedule
    return replace(schedule, spread=replace(schedule.spread, seed=timer_id))


def _read(asked: ScheduleFields, timer: Timer | None, now: int, find_calendar: FindCalendar) -> AskedSchedule:
    rule = _rule(asked, timer, now)
    if isinstance(rule, Once):
        _refuse_bounds(asked)
        return AskedSchedule(rule)
    was = None if timer is None else timer.definition.schedule
    old = was if isinstance(was, Bounded) else Bounded(rule)
    old_ending = ENDLESS if timer is None else timer.ending
    stays = set(BOUNDS) - asked.model_fields_set
    ending = Ending(
        old_ending.end_ms if "end_at" in stays else _moment_or_none(asked.end_at, "endAt"),
        old_ending.most if "max_firings" in stays else asked.max_firings,
    )
    start_ms = old.start_ms if "start_at" in stays else _moment_or_none(asked.start_at, "startAt")
    if start_ms is not None and ending.end_ms is not None and ending.end_ms < start_ms:
        raise _bad("endAt", "it lies before startAt", "write a later moment")
    schedule = Bounded(
        rule,
        start_ms,
        excluded=old.excluded if "exclude_calendar" in stays else _calendar(asked, find_calendar),
        spread=_spread(old.jitter_ms if "jitter_ms" in stays else asked.jitter_ms, timer, now),
    )
    return AskedSchedule(ending.applied_to(schedule), ending)


def _rule(asked: ScheduleFields, timer: Timer | None, now: int) -> Cron | Every | Once:
    old = None if timer is None else rule_of(timer.definition.schedule)
    old_zone = "UTC" if old is None or isinstance(old, Once) else old.timezone
    timezone = old_zone if asked.timezone is None else asked.timezone
    if timezone not in zone_names():
        raise unknown_zone(timezone)
    is_cron = asked.cron is not None or (isinstance(old, Cron) and not _is_other_than_cron(asked))
    if asked.cron_dialect is not None and not is_cron:
        raise _bad("cronDialect", "it belongs to cron", "leave it out")
    is_other = asked.cron is not None or asked.at is not None or asked.delay_ms is not None
    if asked.every_ms is not None or (isinstance(old, Every) and not is_other):
        return _every(asked, old, timezone, now)
    if asked.anchor_at is not None:
        raise _bad("anchorAt", "it belongs to everyMs", "leave it out")
    if asked.cron is not None:
        return Cron.read(asked.cron, timezone, _dialect(asked, old))
    if asked.delay_ms is not None:
        return Once(_delayed(asked.delay_ms, now))
    if asked.at is not None:
        return Once(read_moment_field(asked.at, "at"))
    assert isinstance(old, Cron | Once)
    return Cron.read(old.expression, timezone, _dialect(asked, old)) if isinstance(old, Cron) else old


def _is_other_than_cron(asked: ScheduleFields) -> bool:
    return any(getattr(asked, name) is not None for name in RULES if name != "cron")


def _dialect(asked: ScheduleFields, old: Cron | Every | Once | None) -> CronDialect:
    """Return the dialect that is asked for, else that of the expression before."""
    if asked.cron_dialect is not None:
        return CronDialect(asked.cron_dialect)
    return old.dialect if isinstance(old, Cron) else CronDialect.UNIX


def _every(asked: ScheduleFields, old: Schedule | None, timezone: str, now: int) -> Every:
    was = old if isinstance(old, Every) else None
    if asked.anchor_at is not None:
        anchor = read_moment_field(asked.anchor_at, "anchorAt")
    elif was is not None:
        anchor = was.anchor_ms
    else:
        anchor = now if asked.start_at is None else read_moment_field(asked.start_at, "startAt")
    interval = asked.every_ms if asked.every_ms is not None else was.interval_ms if was is not None else 0
    return Every.parse(interval, anchor, timezone)


def _refuse_bounds(asked: ScheduleFields) -> None:
    for attribute, name in BOUNDS.items():
        if getattr(asked, attribute) is not None:
            raise _bad(name, "a single moment has no use for it", "leave it out, or give cron or everyMs")


def _refuse_never(schedule: Schedule, asked: ScheduleFields, now: int) -> None:
    rule = rule_of(schedule)
    if isinstance(rule, Cron) and _has_no_day(_days_of(rule)):
        raise InvalidSchedule(
            "cron",
            f"{rule.expression!r} never fires",
            "name a day that its months have, and a year still to come",
        )
    if isinstance(schedule, Once) or schedule.first_after(now) is not None:
        return
    if isinstance(rule, Cron):
        Cron.parse(rule.expression, rule.timezone, now, rule.dialect)
    given = [name for attribute, name in BOUNDS.items() if getattr(asked, attribute) is not None]
    raise _bad(
        given[-1] if given else "cron",
        "the schedule never fires within its bounds",
        "leave it a moment to come: look at startAt, endAt, maxFirings and excludeCalendar",
    )


def _days_of(cron: Cron) -> Cron:
    """Return the cron that fires at midnight, UTC, of the days of this one: thousands of crons have the same days."""
    fields = cron.expression.split()
    days = fields[2:] if len(fields) == 5 else fields[3:] or ["*", "*", "*"]
    return replace(cron, expression=" ".join(["0 0 0", *days]), timezone="UTC")


@lru_cache(maxsize=4_096)
def _has_no_day(days: Cron) -> bool:
    """Tell whether there is no such day at all: to search in vain takes 0.1 s, which a batch would pay for each."""
    return days.first_after(0) is None


def _calendar(asked: ScheduleFields, find_calendar: FindCalendar) -> Calendar | None:
    return None if asked.exclude_calendar is None else find_calendar(asked.exclude_calendar)


def _spread(jitter_ms: int | None, timer: Timer | None, now: int) -> Spread | None:
    """Return a spread of the moments to come: one that is past, such as an anchor, is not put off to after now."""
    return Spread(jitter_ms, 0 if timer is None else timer.id, ((now, 0),)) if jitter_ms else None


def _delayed(delay_ms: int, now: int) -> int:
    if not 0 <= delay_ms < END_MS - now:
        raise _bad(
            "delayMs", f"{str(delay_ms)[:30]} ms lead out of the years 1970 to 2199", "write 0 or more"
        )
    return now + delay_ms


def _moment_or_none(given: Any, field: str) -> int | None:
    return None if given is None else read_moment_field(given, field)


def _bad(field: str, reason: str, mend: str) -> Refused:
    return Refused(ErrorCode.BAD_SCHEDULE, field, reason, mend)
