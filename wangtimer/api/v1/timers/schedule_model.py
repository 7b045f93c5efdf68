"""The schedule in v1: one model for all kinds."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.refusals import Refused
from wangtimer.api.timer_terms.schedule_reading import BOUNDS
from wangtimer.api.timer_terms.timer_field_types import (
    JITTER,
    EndAt,
    ExcludeCalendar,
    MaxFirings,
    StartAt,
    Timezone,
)
from wangtimer.api.v1.durations import GivenDuration, duration, read_duration_field
from wangtimer.api.v1.timers.declared_fields import ASKED_BY, SPANS, taking_rules
from wangtimer.core.kinds.kinds import asked_fields
from wangtimer.core.timers.fields import FIELDS

_SPANS = SPANS | {"jitter_ms": "jitter"}


@taking_rules
class Schedule(Given):
    """When: exactly one of {asked}; what recurs, within bounds."""

    example: ClassVar[str] = '{"delay": "30m"}'

    timezone: Timezone = None
    start_at: StartAt = None
    end_at: EndAt = None
    max_firings: MaxFirings = None
    jitter_ms: Annotated[GivenDuration, duration(JITTER, "30s"), Field(alias="jitter")] = None
    exclude_calendar: ExcludeCalendar = None

    def given(self) -> dict[str, Any]:
        """Return what is given, by the names in core; raises `Refused`."""
        asked: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        for name, own in _SPANS.items():
            if asked.get(name) is not None:
                asked[name] = read_duration_field(asked[name], f"schedule.{own}")
        return asked

    def whole(self) -> dict[str, Any]:
        """Return the same of a schedule that stands by itself; raises `Refused`."""
        given = [name for name in ASKED_BY if getattr(self, name) is not None]
        if len(given) != 1:
            *others, last = ASKED_BY.values()
            raise Refused(
                ErrorCode.BAD_SCHEDULE,
                "schedule",
                f"{len(given)} of {', '.join(others)} and {last} are given",
                "give exactly one of them",
            )
        return self.given()


# Words of xTimer, other schedulers and people for a timer's fields here.
WORDS: Mapping[str, str] = {
    "name": "key",
    **{field.json_name: f"schedule.{field.place}" for field in asked_fields()},
    **{place.rpartition(".")[2]: place for place in BOUNDS.values()},
    "timezone": "schedule.timezone",
    "jitterMs": "schedule.jitter",
    "notifyHTTPParam": "target",
    "header": "headers",
    # `misfire` is an object here.
    **{
        one.json_name: one.v1
        for field in FIELDS
        for one in field.asked
        if "." in one.v1 and one.name != "misfire"
    },
    "cronExpression": "schedule.cron",
    "expression": "schedule.cron",
    "interval": "schedule.every",
    "delaySeconds": "schedule.delay",
    "startTime": "schedule.startAt",
    "endTime": "schedule.endAt",
    "expireAt": "schedule.endAt",
    "runAt": "schedule.at",
    "fireAt": "schedule.at",
    "tz": "schedule.timezone",
    "zone": "schedule.timezone",
    "maxRuns": "schedule.maxFirings",
    "repeatCount": "schedule.maxFirings",
    "calendar": "schedule.excludeCalendar",
    "callback": "target",
    "webhook": "target",
    "notify": "target",
    "callbackUrl": "target.url",
    "endpoint": "target.url",
    "payload": "target.body",
    **dict.fromkeys(("timeoutMs", "timeoutSeconds", "timeoutS"), "target.timeout"),
    "misfirePolicy": "misfire.policy",
    "active": "enabled",
    "enable": "enabled",
    "isEnabled": "enabled",
    "paused": "enabled",
    "status": "enabled",
    "state": "enabled",
    "labels": "tags",
}


class OfTimers(Given):
    """A request about timers."""

    our_words: ClassVar[Mapping[str, str] | None] = WORDS
