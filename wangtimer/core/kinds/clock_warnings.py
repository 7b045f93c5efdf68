"""Warnings about a cron expression when clocks change."""

from collections.abc import Iterator
from datetime import datetime

from wangtimer.core.cron.cron import Cron
from wangtimer.core.kinds.clock_changes import ClockChange, clock_changes
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.words.warning import Warning, WarningCode


def warnings_of_clock_changes(
    schedule: Schedule, cron: Cron, after_ms: int, until_ms: int
) -> Iterator[Warning]:
    """Yield a warning of each change in (after_ms, until_ms] that a schedule of this cron meets."""
    for change in clock_changes(schedule, cron, after_ms, until_ms):
        yield _of_change(change)


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
