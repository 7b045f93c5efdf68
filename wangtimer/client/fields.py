"""What callers say, in Python's spelling; `written` turns it into the API's."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NotRequired, TypedDict

from wangtimer.client.rule_types import RuleFields
from wangtimer.client.value_types import Duration, Moment

Status = Literal["disabled", "enabled", "finished"]
FiringStatus = Literal["pending", "succeeded", "failed", "skipped"]
FiringKind = Literal["scheduled", "manual", "backfill"]
Action = Literal["enable", "disable", "delete"]
Sort = Literal["id", "-id", "name", "-name", "createdAt", "-createdAt", "updatedAt", "-updatedAt"]


class Callback(TypedDict):
    """The HTTP call a timer makes."""

    url: str
    method: NotRequired[str]
    header: NotRequired[Mapping[str, str | list[str]]]
    body: NotRequired[str]


class CallbackChanges(TypedDict, total=False):
    """What is to change of a timer's call; the rest of it stays.

    `header` changes the named headers only, whatever their case. None takes a header, all headers or the body away,
    and makes the method POST.
    """

    url: str
    method: str | None
    header: Mapping[str, str | list[str] | None] | None
    body: str | None


class ScheduleFields(RuleFields, total=False):
    """When: a rule, and what bounds it."""

    timezone: str
    start_at: Moment | None
    end_at: Moment | None
    max_firings: int | None
    jitter_ms: Duration | None
    exclude_calendar: str | None


class TimerFields(ScheduleFields, total=False):
    """What can be said of a timer; None takes a bound or the tags away."""

    misfire: Literal["fire_all", "fire_latest", "skip"]
    misfire_grace_ms: Duration
    catchup_window_ms: Duration
    tags: list[str] | None
    retention_days: int | None
    delete_after_finish: bool | None


class TimerChanges(TimerFields, total=False):
    """What can change of a timer."""

    name: str
    callback: CallbackChanges


class NewTimer(TimerFields):
    """A timer to be made with others; its keys are the arguments of `create_timer`."""

    name: str
    callback: Callback


class TimerFilter(TypedDict, total=False):
    """Which timers; all conditions hold together."""

    name: str
    name_prefix: str
    name_contains: str
    status: Status
    tag: str
    next_before: Moment


class BulkFilter(TimerFilter, total=False):
    """Which timers are to be changed; all conditions hold together. `names`: one of these, at most 1,000."""

    names: Sequence[str]


class FiringFilter(TypedDict, total=False):
    """Which firings; all conditions hold together, `until` is now by default."""

    id: int
    status: FiringStatus
    kind: FiringKind
    since: Moment
    until: Moment
    later_than_ms: Duration


class FiringKey(TypedDict):
    """Which firing: a timer's id and the scheduled moment."""

    id: int
    fire_at: Moment


_SPELLED = {"callback": "notifyHTTPParam"}


def written(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as the API spells them, in camelCase, moments as text, durations in ms; None stays.

    Raises ValueError for a datetime without a zone.
    """
    return {_SPELLED.get(name, _camel(name)): _value(value) for name, value in fields.items()}


def given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `written` of those fields that are not None."""
    return written({name: value for name, value in fields.items() if value is not None})


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _value(value: Any) -> Any:
    if isinstance(value, timedelta):
        return -(-value // timedelta(milliseconds=1))
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError(f"{value} has no time zone; write it with one, as in datetime(..., tzinfo=UTC)")
    return value.astimezone(UTC).isoformat()
