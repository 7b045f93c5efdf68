"""Changes the jitter of a schedule, so that each moment is still made once."""

from dataclasses import replace

from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Schedule, Spread, as_bounded, rule_of
from wangtimer.core.timers.cancelling import KEPT_MS

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
    before = tuple(one for one in old.before if one[0] > over or not _has_moment(rule, one[0], over))
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
