"""Edits of a timer's schedule that leave its moments in place: one is cancelled, or the jitter changes."""

from dataclasses import replace

from wangtimer.core.errors import Conflict, Subject, UnknownFiring
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Bounded, Schedule, Spread, as_bounded, bounds_in, rule_of
from wangtimer.core.timers.timer import Timer

MOST_CANCELLED = 1_000
# A past moment stays cancelled for so long. Its member may be found late in Redis, whose slices are kept for a day, and
# a member that is a little late is fired without asking SQL.
KEPT_MS = 25 * 3_600_000
# Rules of a zone that change move a moment by an hour, hardly ever by more.
MOST_MOVED_MS = 2 * 3_600_000


def without(timer: Timer, fire_at: int, now: int, soon_ms: int) -> Timer:
    """Return the timer without its moment `fire_at` (ms UTC), which must be more than `soon_ms` ahead.

    The moment still counts among the timer's `most` firings. Raises `UnknownFiring` if the schedule has no such moment;
    `Conflict` for a moment that has come or is about to, for a single moment, and for more than `MOST_CANCELLED`.
    """
    schedule = timer.definition.schedule
    if not timer.definition.has_cancelled(fire_at) and not schedule.matches(fire_at):
        raise UnknownFiring(timer.id)
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
    """Return an edited timer whose cancelled moments stay cancelled; a single moment has none.

    If the rule stays and the jitter changes, cancelled moments move to where the new jitter puts them; it holds from
    `soon_ms` after `now` (ms UTC) on. Raises `Conflict` if the new single moment was cancelled before.
    """
    schedule = edited.definition.schedule
    old, new = as_bounded(was), as_bounded(schedule)
    if not old.cancelled:
        return edited
    if new.only_moment is not None:
        if new.only_moment in old.cancelled:
            raise Conflict(
                "schedule.at", "this timer's firing of this moment was cancelled", "choose another moment"
            )
        return edited
    cancelled = old.cancelled
    if old.rule == new.rule and old.spread != new.spread:
        cancelled = _moved(old, new, now, now + soon_ms)
    definition = edited.definition._replace(schedule=replace(new, cancelled=cancelled))
    return replace(edited, definition=definition)


def _moved(was: Bounded, edited: Bounded, now: int, soon: int) -> frozenset[int]:
    """Return the cancelled moments as the new spread puts them off, whatever bounds and closed days leave out."""
    old, new = Bounded(was.rule, spread=was.spread), Bounded(edited.rule, spread=edited.spread)
    moved: set[int] = set()
    for moment in was.cancelled:
        place = old.place_in(new, moment)
        moved.add(moment if place is None else place)
        if now - KEPT_MS < moment <= soon:
            moved.add(moment)
    return frozenset(moved)


def cancelled_by_present_rules(schedule: Schedule) -> Schedule:
    """Return a schedule whose cancelled moments are where the present rules of its zone put them.

    What they were by the rules before is not known. One that is no moment of the rule any more was its only moment
    within `MOST_MOVED_MS`; else it stays as it is.
    """
    bounds = bounds_in(schedule)
    if bounds is None or not bounds.cancelled:
        return schedule
    whole = Bounded(bounds.rule, spread=bounds.spread)
    cancelled = set(bounds.cancelled)
    for moment in bounds.cancelled:
        near = whole.moments(moment - MOST_MOVED_MS, moment + MOST_MOVED_MS, 2)
        if len(near) == 1:
            cancelled |= {*near}
    return replace(bounds, cancelled=frozenset(cancelled))


def uncancelled(schedule: Schedule) -> Schedule:
    """Return the schedule with no moment cancelled."""
    return replace(as_bounded(schedule), cancelled=frozenset()).plainest


def _planned_on(timer: Timer, schedule: Bounded, now: int) -> Timer:
    """Return the timer with this schedule, planned as far as it was, or up to what is now its last moment."""
    planned_until = timer.planned_until
    following = schedule.first_after(planned_until)
    if following is None and planned_until > now:
        # No ms has two moments, so this limit includes all.
        planned_until = max(schedule.moments(now, planned_until, planned_until - now), default=now)
    definition = timer.definition._replace(schedule=schedule)
    return replace(timer, definition=definition, planned_until=planned_until, next_fire_at=following)


# Edits remembered at most.
MOST_PARTS = 50


def evenly_spread(schedule: Schedule) -> Schedule:
    """Return the schedule with all moments put off like the coming ones."""
    bounded = as_bounded(schedule)
    if bounded.spread is None:
        return schedule
    return replace(bounded, spread=_reduced(Spread(bounded.spread.most_ms, bounded.spread.seed))).plainest


def still_spread(edited: Schedule, was: Schedule, now: int, soon_ms: int) -> Schedule:
    """Return an edited schedule. If the rule stays, moments up to `soon_ms` after `now` (ms UTC) are put off as before.

    So a moment that was made is not made again at another time, and one still to be made is not lost. A new rule has no
    moments before the edit.
    """
    if edited.only_moment is not None or rule_of(edited) != rule_of(was):
        return edited
    new, old = as_bounded(edited), as_bounded(was).spread
    if old is None:
        old = Spread(0, 0 if new.spread is None else new.spread.seed)
    most_ms = new.jitter_ms or 0
    spread = old if most_ms == old.most_ms else _joined(new.rule, old, most_ms, now, now + soon_ms)
    return replace(new, spread=_reduced(spread)).plainest


def _joined(rule: Rule, old: Spread, most_ms: int, now: int, soon: int) -> Spread:
    """Return a spread that puts off moments up to `soon` as the old one does, later ones by up to `most_ms`."""
    # A moment due so long ago, and followed by another, is made by now, or executors were away for a day.
    over = now - KEPT_MS
    before = tuple(part for part in old.before if part[0] > over or not _has_moment(rule, part[0], over))
    if not before or _has_moment(rule, before[-1][0], soon):
        before = (*before, (soon, old.most_ms))
    return Spread(most_ms, old.seed, before[-MOST_PARTS:])


def _has_moment(rule: Rule, after_ms: int, until_ms: int) -> bool:
    return bool(rule.moments(after_ms, until_ms, 1))


def _reduced(spread: Spread) -> Spread | None:
    """Return the spread without parts that make no difference; None if it puts nothing off."""
    before = spread.before
    while before and before[-1][1] == spread.most_ms:
        before = before[:-1]
    return replace(spread, before=before) if spread.most_ms or before else None
