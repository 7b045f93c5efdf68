"""Changing by how much a schedule puts its moments off: each is still made once."""

from dataclasses import replace

from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule, Spread, rule_of
from wangtimer.core.timers.cancelling import KEPT_MS

# Edits remembered at most.
MOST_PARTS = 50


def evenly_spread(schedule: Schedule) -> Schedule:
    """Return the schedule with all its moments put off as those to come are."""
    if not isinstance(schedule, Bounded) or schedule.spread is None:
        return schedule
    return replace(schedule, spread=_reduced(Spread(schedule.spread.most_ms, schedule.spread.seed))).plainest


def still_spread(edited: Schedule, was: Schedule, now: int, soon_ms: int) -> Schedule:
    """Return an edited schedule, moments up to `soon_ms` after `now` (ms UTC) put off as they were if its rule stays.

    So one that was made is not made again at another place, and one still to be made is not lost. A new rule has no
    moments before it was given.
    """
    if isinstance(edited, Once) or rule_of(edited) != rule_of(was):
        return edited
    whole = edited if isinstance(edited, Bounded) else Bounded(edited)
    old = was.spread if isinstance(was, Bounded) else None
    if old is None:
        old = Spread(0, 0 if whole.spread is None else whole.spread.seed)
    most_ms = whole.jitter_ms or 0
    spread = old if most_ms == old.most_ms else _joined(whole.rule, old, most_ms, now, now + soon_ms)
    return replace(whole, spread=_reduced(spread)).plainest


def _joined(rule: Cron | Every, old: Spread, most_ms: int, now: int, soon: int) -> Spread:
    """Return a spread that puts the rule's moments up to `soon` off as the old one does, later ones by `most_ms`."""
    # What came due so long ago, and was followed by another moment, is made, or its executors were away for a day.
    over = now - KEPT_MS
    before = tuple(one for one in old.before if one[0] > over or not _has_moment(rule, one[0], over))
    if not before or _has_moment(rule, before[-1][0], soon):
        before = (*before, (soon, old.most_ms))
    return Spread(most_ms, old.seed, before[-MOST_PARTS:])


def _has_moment(rule: Cron | Every, after_ms: int, until_ms: int) -> bool:
    return bool(rule.moments(after_ms, until_ms, 1))


def _reduced(spread: Spread) -> Spread | None:
    """Return the spread without what makes no difference; None where it puts nothing off."""
    before = spread.before
    while before and before[-1][1] == spread.most_ms:
        before = before[:-1]
    return replace(spread, before=before) if spread.most_ms or before else None
