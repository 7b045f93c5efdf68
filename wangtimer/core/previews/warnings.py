"""What may surprise the author of a timer: of its schedule within 13 months of its first moment, and of its call."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import orjson

from wangtimer.core.kinds.kinds import kind_of
from wangtimer.core.schedules.schedule import Bounded, Schedule, Spread, as_bounded, rule_of
from wangtimer.core.time.zones import read_zone
from wangtimer.core.timers.call_options import CallForm
from wangtimer.core.timers.templates import placeholders_in
from wangtimer.core.timers.timer import Notify
from wangtimer.core.words import words_en, words_zh
from wangtimer.core.words.warning import Warning, WarningCode

# 400 days: a year, and a month to see changes of the next.
HORIZON_MS = 400 * 86_400_000
# Whether a spread has room is judged by the distances of so many moments.
DISTANCES = 50


def warnings_of(schedule: Schedule, now_ms: int, shown_until_ms: int = 0) -> tuple[Warning, ...]:
    """Return what may surprise about a schedule, from `now_ms` (ms since epoch) to 13 months after its first moment.

    And at least up to `shown_until_ms`, as far as moments are shown.

    It takes a few ms of CPU; for a schedule that never fires the search takes 0.2 s. InvalidSchedule if a cron
    expression cannot be read.
    """
    rule = rule_of(schedule)
    kind = kind_of(rule)
    found = [*kind.warnings(rule)]
    first = schedule.first_after(now_ms)
    if first is None:
        return (*found, _never(schedule))
    after_ms, until_ms = max(now_ms, first - HORIZON_MS), max(first + HORIZON_MS, shown_until_ms)
    found += kind.warnings_between(schedule, rule, after_ms, until_ms)
    found += _of_bounds(as_bounded(schedule), after_ms, until_ms)
    return tuple(found)


def warnings_of_call(call: Notify, form: CallForm, *, is_once: bool) -> tuple[Warning, ...]:
    """Return what may surprise about the call of a timer, which has a single moment or not."""
    names = placeholders_in(call)
    # A named target may fill them in.
    if names and not form.templates and not call.target:
        return (*_of_body(call.body), _TEMPLATES_OFF)
    if is_once and form.templates and not names.isdisjoint(("scheduledLocal", "timezone")):
        return (*_of_body(call.body), _LOCAL_IS_UTC)
    return _of_body(call.body)


def _of_body(body: str) -> tuple[Warning, ...]:
    """Return the warning of a body that is JSON in a string of JSON."""
    if body.startswith('"'):
        with suppress(orjson.JSONDecodeError):
            if isinstance(orjson.loads(orjson.loads(body)), dict | list):
                return (_ENCODED_TWICE,)
    return ()


_ENCODED_TWICE = Warning(
    WarningCode.ENCODED_TWICE,
    "the body is JSON text within a string of JSON, so it was encoded twice; give json the object or list itself",
    "请求体是 JSON 字符串里的 JSON，即编码了两次；请把对象或列表本身写进 json",
)

_TEMPLATES_OFF = Warning(
    WarningCode.TEMPLATES_OFF,
    "a placeholder, as {{fireAt}}, is sent as it is written; to have it filled in set target.templates to true",
    "占位符（如 {{fireAt}}）会原样发送；要填入其值，请把 target.templates 设为 true",
)
_LOCAL_IS_UTC = Warning(
    WarningCode.LOCAL_IS_UTC,
    "of a single moment no zone is kept: {{scheduledLocal}} and {{timezone}} are filled in in UTC",
    "单个时刻不保存时区：{{scheduledLocal}} 和 {{timezone}} 按 UTC 填入",
)


def _never(schedule: Schedule) -> Warning:
    if schedule.only_moment is not None:
        return Warning(WarningCode.NEVER_FIRES, "never fires: its moment has passed", "不会触发：时刻已过")
    return Warning(WarningCode.NEVER_FIRES, "never fires: no moment is left", "不会触发：已没有触发时刻")


def _of_bounds(schedule: Bounded, after_ms: int, until_ms: int) -> Iterator[Warning]:
    plain = replace(schedule, spread=None)
    calendar = schedule.excluded
    if calendar is not None and calendar.last_year is not None:
        unknown_from = datetime(calendar.last_year + 1, 1, 1, tzinfo=read_zone(schedule.timezone))
        known_until_ms = int(unknown_from.timestamp()) * 1_000 - 1
        if plain.moments(max(known_until_ms, after_ms), until_ms, 1):
            left, left_zh = (
                ("only its weekdays count", "只按星期排除")
                if calendar.weekdays
                else ("it excludes no day", "不再排除任何日子")
            )
            yield Warning(
                WarningCode.CALENDAR_ENDS,
                f"{calendar.name} is known up to {calendar.last_year}; from {calendar.last_year + 1} on {left}",
                f"日历“{calendar.name}”只有截至 {calendar.last_year} 年的数据，"
                f"从 {calendar.last_year + 1} 年起{left_zh}",
            )
    if schedule.spread is not None:
        yield from _of_spread(schedule.spread, plain, after_ms, until_ms)


def _of_spread(spread: Spread, plain: Bounded, after_ms: int, until_ms: int) -> Iterator[Warning]:
    moments = plain.moments(after_ms, until_ms, DISTANCES)
    distance_ms = min((later - earlier for earlier, later in pairwise(moments)), default=spread.most_ms)
    if distance_ms < spread.most_ms:
        yield Warning(
            WarningCode.WIDE_SPREAD,
            f"put off by up to {words_en.duration(spread.most_ms)}, but moments are "
            f"{words_en.duration(distance_ms)} apart: each stays before the next",
            f"最多推迟 {words_zh.duration(spread.most_ms)}，而触发时刻最近只隔 {words_zh.duration(distance_ms)}："
            "每次都不会晚于下一个时刻",
        )
