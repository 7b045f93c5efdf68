"""Where a schedule of the wall clock meets a clock change: times that do not exist or come twice, and warnings."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from wangtimer.core.cron.cron_fields import Fields
from wangtimer.core.cron.cron_meaning import EVERY_HOUR
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Bounded, Schedule, as_bounded
from wangtimer.core.time.rfc3339 import local_time
from wangtimer.core.time.zones import Transition, read_zone, second_of_wall, transitions
from wangtimer.core.words.warning import Warning, WarningCode

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
    return (
        fields.meaning.hours == EVERY_HOUR and {(second + shift_s) % HOUR_S for second in seconds} == seconds
    )


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


def warnings_of_clock_changes(
    schedule: Schedule, walls: Rule, fields: Fields | None, after_ms: int, until_ms: int
) -> Iterator[Warning]:
    """Yield a warning of each change in (after_ms, until_ms] that a schedule meets; see `clock_changes`."""
    for change in clock_changes(schedule, walls, fields, after_ms, until_ms):
        yield _of_change(change)


def warnings_of_moment(at: Any, timezone: str | None) -> tuple[Warning, ...]:
    """Return the warning of a moment as it was asked for: text that the clocks of the zone skip or have twice."""
    wall = local_time(at) if isinstance(at, str) and timezone is not None else None
    if wall is None or timezone is None:
        return ()
    zone, second = read_zone(timezone), second_of_wall(timezone, wall)
    met = datetime.fromtimestamp(second, zone).replace(tzinfo=None, fold=0)
    if met == wall and second == int(wall.replace(tzinfo=zone, fold=1).timestamp()):
        return ()
    return (_of_change(ClockChange(wall, wall, met, is_gap=met != wall, is_fixed=True)),)


def drift_at(change: Transition, at_ms: int) -> Warning:
    """Return the warning that moments by 24 hours have another time of day from `at_ms` on, after a change."""
    before, after = (
        datetime.fromtimestamp(at_ms // 1_000 + offset, UTC) for offset in (change.before_s, change.after_s)
    )
    return Warning(
        WarningCode.CLOCK_DRIFT,
        f"its days have 24 hours: from {after:%Y-%m-%d} on (the clocks change) it fires at {_clock(after)} in place of "
        f"{_clock(before)}; everyDays keeps the time of day",
        f"一天按 24 小时计：从 {after:%Y-%m-%d} 起（时钟调整）由 {_clock(before)} 变为 {_clock(after)} 触发；"
        "everyDays 保持钟点不变",
    )


def _of_change(change: ClockChange) -> Warning:
    day = f"{change.first:%Y-%m-%d}"
    is_one = change.first == change.last
    first, last = _clock(change.first), _clock(change.last)
    times, times_zh = (first, first) if is_one else (f"{first} to {last}", f"{first} 至 {last}")
    if change.is_gap:
        effect, effect_zh = _effect_of_gap(change)
        return Warning(
            WarningCode.CLOCK_FORWARD,
            f"{times} {'does' if is_one else 'do'} not exist on {day} (the clocks go forward), {effect}",
            f"{day} 时钟拨快，{times_zh} 不存在，{effect_zh}",
        )
    if change.is_fixed:
        effect, effect_zh = ("fires once", "只触发一次") if is_one else ("each fires once", "各只触发一次")
    else:
        effect, effect_zh = "fires both times", "两次都触发"
    return Warning(
        WarningCode.CLOCK_BACK,
        f"{times} {'comes' if is_one else 'come'} twice on {day} (the clocks go back), {effect}",
        f"{day} 时钟拨慢，{times_zh} 出现两次，{effect_zh}",
    )


def _effect_of_gap(change: ClockChange) -> tuple[str, str]:
    if not change.is_fixed:
        return "nothing fires instead", "不补触发"
    after = _clock(change.clock_after)
    if change.clock_after.date() != change.first.date():
        after = f"{change.clock_after:%Y-%m-%d} {after}"
    if change.first == change.last:
        return f"fires at {after}", f"改在 {after} 触发"
    return f"fires once, at {after}", f"只在 {after} 触发一次"


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"
