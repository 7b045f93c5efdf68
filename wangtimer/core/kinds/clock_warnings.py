"""Warnings about a schedule when clocks change."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from wangtimer.core.cron.cron_fields import Fields
from wangtimer.core.kinds.clock_changes import ClockChange, clock_changes
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.time.rfc3339 import local_time
from wangtimer.core.time.zones import Transition, read_zone, second_of_wall
from wangtimer.core.words.warning import Warning, WarningCode


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
