"""Finds where a schedule of the wall clock meets a clock change: wall times that do not exist, or that come twice."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from wangtimer.core.cron.cron_fields import Fields
from wangtimer.core.cron.cron_meaning import EVERY_HOUR
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Bounded, Schedule, as_bounded
from wangtimer.core.time.zones import Transition, transitions

HOUR_S = 3_600
# Two hours of every second: since 2011 no zone has changed its clocks by more at once.
MOST_LOOKED_AT = 7_200


@dataclass(frozen=True, slots=True)
class ClockChange:
    """The wall times of a schedule, from `first` to `last`, that a change of the clocks swallows or repeats.

    `is_gap`: they do not exist; else they come twice. `is_fixed`: the schedule names times of day, so it fires once all
    the same; for a gap at `clock_after`, the first wall time after it. A schedule that is not fixed does not fire in a
    gap, and fires both times in an overlap. The three times are naive.
    """

    first: datetime
    last: datetime
    clock_after: datetime
    is_gap: bool
    is_fixed: bool


def clock_changes(
    schedule: Schedule, walls: Rule, fields: Fields | None, after_ms: int, until_ms: int
) -> list[ClockChange]:
    """Return the changes in (after_ms, until_ms] that a schedule meets, ascending.

    `walls` is its rule as it would be in UTC, which has no gap: its moments are the wall times. `fields` are those of a
    cron; None: a rule that names times of day.

    A schedule that keeps its rhythm meets none: each full hour, say, when the clocks change by one hour.
    """
    plain = replace(as_bounded(schedule), spread=None)
    found: list[ClockChange] = []
    for change in transitions_between(plain.timezone, after_ms, until_ms):
        is_gap = change.before_s < change.after_s
        is_fixed = fields is None or fields.meaning.is_fixed
        if (
            fields is not None
            and not is_fixed
            and _keeps_rhythm(fields, abs(change.after_s - change.before_s))
        ):
            continue
        walls_s = _swallowed(plain, walls, is_fixed, change) if is_gap else _repeated(plain, is_fixed, change)
        if walls_s:
            first, last, clock_after = map(_wall, (walls_s[0], walls_s[-1], change.at_s + change.after_s))
            found.append(ClockChange(first, last, clock_after, is_gap, is_fixed))
    return found


def transitions_between(timezone: str, after_ms: int, until_ms: int) -> list[Transition]:
    """Return the changes of a zone's clocks in (after_ms, until_ms], ascending."""
    years = range(_wall(after_ms // 1_000).year, _wall(until_ms // 1_000).year + 1)
    changes = [change for year in years for change in transitions(timezone, year)]
    return [change for change in changes if after_ms < change.at_s * 1_000 <= until_ms]


def _keeps_rhythm(fields: Fields, shift_s: int) -> bool:
    """Tell whether the times of day stay the same when the clock is moved on by `shift_s`."""
    seconds = set(fields.seconds_of_hour)
    return fields.meaning.hours == EVERY_HOUR and {(one + shift_s) % HOUR_S for one in seconds} == seconds


def _swallowed(plain: Bounded, walls: Rule, is_fixed: bool, change: Transition) -> list[int]:
    """Return the wall times in a gap, in seconds, if the schedule is in force there."""
    if is_fixed and not plain.matches(change.at_s * 1_000):
        return []
    low_s, high_s = change.at_s + change.before_s, change.at_s + change.after_s
    walls_ms = walls.moments(low_s * 1_000 - 1, high_s * 1_000 - 1, MOST_LOOKED_AT)
    if not is_fixed:
        walls_ms = _within(plain, walls_ms, change)
    return [wall // 1_000 for wall in walls_ms]


def _within(plain: Bounded, walls_ms: list[int], change: Transition) -> list[int]:
    """Return the wall times that are within the bounds and not on an excluded day."""
    at_ms = change.at_s * 1_000
    if (plain.start_ms is not None and at_ms < plain.start_ms) or (
        plain.last_ms is not None and at_ms > plain.last_ms
    ):
        return []
    excluded = plain.excluded
    return [
        wall for wall in walls_ms if excluded is None or not excluded.excludes(_wall(wall // 1_000).date())
    ]


def _repeated(plain: Bounded, is_fixed: bool, change: Transition) -> list[int]:
    """Return the wall times, in seconds, that the schedule has in the first pass; if not fixed, in both."""
    first = _of_pass(plain, change, change.before_s)
    if is_fixed:
        return sorted(first)
    return sorted(first & _of_pass(plain, change, change.after_s))


def _of_pass(plain: Bounded, change: Transition, offset_s: int) -> set[int]:
    low_s, high_s = change.at_s + change.after_s, change.at_s + change.before_s
    moments = plain.moments((low_s - offset_s) * 1_000 - 1, (high_s - offset_s) * 1_000 - 1, MOST_LOOKED_AT)
    return {moment // 1_000 + offset_s for moment in moments}


def _wall(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC).replace(tzinfo=None)
