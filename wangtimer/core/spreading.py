"""Changing by how much a schedule puts its moments off: each is still made once."""

from dataclasses import replace

from wangtimer.core.schedule import Bounded, Once, Schedule, Spread, rule_of


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
    return replace(whole, spread=_joined(was, whole, now, now + soon_ms)).plainest


def _joined(was: Schedule, edited: Bounded, now: int, until_ms: int) -> Spread | None:
    old = was.spread if isinstance(was, Bounded) else None
    seed = (old or edited.spread or Spread(0, 0)).seed
    old = old or Spread(0, seed)
    most_ms = edited.jitter_ms or 0
    if most_ms == old.most_ms:
        return _reduced(old)
    if old.since_ms and not _has_moment(was, old.since_ms, now):
        # Edited twice between two moments: the last one is still to be put off as it was at first.
        return _reduced(replace(old, most_ms=most_ms))
    return _reduced(Spread(most_ms, seed, until_ms, old.most_ms))


def _has_moment(schedule: Schedule, after_ms: int, until_ms: int) -> bool:
    own = replace(schedule, spread=None, cancelled=frozenset()) if isinstance(schedule, Bounded) else schedule
    return bool(own.moments(after_ms, until_ms, 1))


def _reduced(spread: Spread) -> Spread | None:
    if spread.most_ms != spread.before_ms:
        return spread
    return Spread(spread.most_ms, spread.seed) if spread.most_ms else None
