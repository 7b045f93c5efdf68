"""Changing by how much a schedule puts its moments off: each is still made once."""

from dataclasses import replace

from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Schedule, Spread, as_bounded, rule_of
from wangtimer.core.timers.cancelling import KEPT_MS

# Edits remembered at most.
MOST_PARTS = 50


def evenly_spread(schedule: Schedule) -> Schedule:
    """Return the schedule with all its moments put off as those to come are."""
    bounded = as_bounded(schedule)
    if bounded.spread is None:
        return schedule
    return replace(bounded, spread=_reduced(Spread(bounded.spread.most_ms, bounded.spread.seed))).plainest


def still_spread(edited: Schedule, was: Schedule, now: int, soon_ms: int) -> Schedule:
    """Return an edited schedule, moments up to `soon_ms` after `now` (ms UTC) put off as they were if its rule stays.

    So one that was made is not made again at another place, and one still to be made is not lost. A new rule has no
    moments before it was given.
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
    """Return a spread that puts the rule's moments up to `soon` off as the old one does, later ones by `most_ms`."""
    # What came due so long ago, and was followed by another moment, is made, or its executors were away for a day.
    over = now - KEPT_MS
    before = tuple(one for one in old.before if one[0] > over or not _has_moment(rule, one[0], over))
    if not before or _has_moment(rule, before[-1][0], soon):
        before = (*before, (soon, old.most_ms))
    return Spread(most_ms, old.seed, before[-MOST_PARTS:])


def _has_moment(rule: Rule, after_ms: int, until_ms: int) -> bool:
    return bool(rule.moments(after_ms, until_ms, 1))


def _reduced(spread: Spread) -> Spread | None:
    """Return the spread without what makes no difference; None where it puts nothing off."""
    before = spread.before
    while before and before[-1][1] == spread.most_ms:
        before = before[:-1]
    return replace(spread, before=before) if spread.most_ms or before else None
