"""Leaving one coming moment out of a timer's schedule."""

from dataclasses import replace

from wangtimer.core.errors import Conflict, Subject, UnknownFiring
from wangtimer.core.schedules.schedule import Bounded, Schedule, as_bounded
from wangtimer.core.timers.timer import Timer

MOST_CANCELLED = 1_000
# A moment that is past stays cancelled for so long: what of it still stands in Redis, whose slices are kept for a day,
# may be found there late, and a little late is fired without a look at SQL.
KEPT_MS = 25 * 3_600_000


def without(timer: Timer, fire_at: int, now: int, soon_ms: int) -> Timer:
    """Return the timer without its moment `fire_at` (ms UTC), which must be more than `soon_ms` ahead.

    What counts its moments goes on counting this one. Raises `UnknownFiring` where the schedule has no such moment,
    `Conflict` for a moment that has come or is about to, for a single moment, and for more than `MOST_CANCELLED`.
    """
    schedule = timer.definition.schedule
    if not timer.definition.has_cancelled(fire_at) and not schedule.matches(fire_at):
        raise UnknownFiring(timer.id, fire_at)
    if schedule.only_moment is not None:
        raise Conflict(
            "id", "this timer has no other moment", "disable or delete the timer instead", about=Subject.TIMER
        )
    if fire_at <= now + soon_ms:
        raise Conflict(
            "fireAt",
            f"this moment has come, or comes within {soon_ms} ms: it may be on its way",
            "cancel earlier, or disable the timer so that it is not tried again",
            about=Subject.FIRING,
        )
    bounded = as_bounded(schedule)
    kept = {moment for moment in bounded.cancelled if moment > now - KEPT_MS} | {fire_at}
    if len(kept) > MOST_CANCELLED:
        raise Conflict(
            "fireAt",
            f"{MOST_CANCELLED} moments of this timer are cancelled already, those of the last day included",
            "disable the timer for that time, or give it an excludeCalendar",
            about=Subject.FIRING,
        )
    return _planned_on(timer, replace(bounded, cancelled=frozenset(kept)), now)


def still_cancelled(edited: Timer, was: Schedule, now: int, soon_ms: int) -> Timer:
    """Return an edited timer with the moments left out that were cancelled before; a single moment leaves out none.

    Where its rule stays, what was cancelled stays so where it is put off to; another jitter holds from `soon_ms` after
    `now` (ms UTC) on. Raises `Conflict` where that single moment is one of them.
    """
    schedule = edited.definition.schedule
    old, new = as_bounded(was), as_bounded(schedule)
    if not old.cancelled:
        return edited
    if new.only_moment is not None:
        if new.only_moment in old.cancelled:
            raise Conflict("at", "this timer's firing of this moment was cancelled", "choose another moment")
        return edited
    cancelled = old.cancelled
    if old.rule == new.rule and old.spread != new.spread:
        cancelled = _moved(old, new, now, now + soon_ms)
    definition = edited.definition._replace(schedule=replace(new, cancelled=cancelled))
    return replace(edited, definition=definition)


def _moved(was: Bounded, edited: Bounded, now: int, soon: int) -> frozenset[int]:
    """Return the cancelled moments where they are put off to now, whatever bounds and days leave out at present."""
    old, new = Bounded(was.rule, spread=was.spread), Bounded(edited.rule, spread=edited.spread)
    moved: set[int] = set()
    for moment in was.cancelled:
        place = old.place_in(new, moment)
        moved.add(moment if place is None else place)
        if now - KEPT_MS < moment <= soon:
            moved.add(moment)
    return frozenset(moved)


def uncancelled(schedule: Schedule) -> Schedule:
    """Return the schedule with the moments that were cancelled of it."""
    return replace(as_bounded(schedule), cancelled=frozenset()).plainest


def _planned_on(timer: Timer, schedule: Bounded, now: int) -> Timer:
    """Return the timer with this schedule, and planned as far as it is: or to what is now its last moment."""
    planned_until = timer.planned_until
    following = schedule.first_after(planned_until)
    if following is None and planned_until > now:
        # No ms has two moments: so many are all.
        planned_until = max(schedule.moments(now, planned_until, planned_until - now), default=now)
    definition = timer.definition._replace(schedule=schedule)
    return replace(timer, definition=definition, planned_until=planned_until, next_fire_at=following)
