"""What xTimer's callers may say of a timer.

Null is the same as absent. Exception: in a change, null removes the value.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from wangtimer.api.asked.asked_timer import AskedChange, AskedTimer
from wangtimer.api.asked.shared_types import (
    JITTER,
    OF_OVERLAPS,
    Body,
    ChangedBody,
    ChangedUrl,
    EndAt,
    ExcludeCalendar,
    MaxFirings,
    StartAt,
    Timezone,
    Url,
)
from wangtimer.api.compat.timers.declared_fields import taking_fields, taking_rules
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import (
    ChangedHeaders,
    ChangedMethod,
    Given,
    Headers,
    Method,
    Name,
)
from wangtimer.api.http.refusals import Refused
from wangtimer.core.timers.timer import Notify

MOST_JITTER_MS = 3_600_000

_ENABLING = "a new timer is disabled; enable it with POST /api/timer/v1/enable"
_ATTEMPTS = "POST /v1/timers has retry, which says how often a call is tried; leave it out here"
_TIMEOUT = (
    "the deployment's setting WANGTIMER_CALLBACK_TIMEOUT_MS says how long a call may take; leave it out"
)
# Words of other schedulers, and where WangTimer has what they mean.
_OF_ATTEMPTS: Mapping[str, str] = dict.fromkeys(
    ("retries", "retry", "retryCount", "retryPolicy", "maxRetries", "maxAttempts", "attempts", "backoff"),
    _ATTEMPTS,
)
_OF_THE_DEPLOYMENT: Mapping[str, str] = {
    **_OF_ATTEMPTS,
    **dict.fromkeys(("timeout", "timeoutMs", "timeoutSeconds", "timeoutS"), _TIMEOUT),
}
_OF_A_TIMER: Mapping[str, str] = {
    **dict.fromkeys(("enable", "enabled", "isEnabled", "active", "isActive"), _ENABLING),
    **OF_OVERLAPS,
    **_OF_THE_DEPLOYMENT,
}


def check_new_status(status: int | None) -> int | None:
    """Return the status that a request gives a new timer; raises `Refused` for enabled."""
    if status in (None, 0, 1):
        return status
    raise Refused(
        ErrorCode.BAD_VALUE,
        "status",
        f"{str(status)[:30]}, but a new timer is disabled",
        "leave it out, and enable it with POST /api/timer/v1/enable",
    )


class NotifyParam(Given):
    """The HTTP call to make at each moment."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_THE_DEPLOYMENT

    url: Url
    method: Method = "POST"
    header: Annotated[Headers, Field(default_factory=tuple)]
    body: Body = None

    @property
    def call(self) -> Notify:
        """The call."""
        return Notify(self.url, self.method, self.header, self.body or "")


class NotifyChange(Given):
    """Changes of the HTTP call (RFC 7396): a field that is absent stays, null gives it its default."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_THE_DEPLOYMENT

    url: ChangedUrl = None
    method: ChangedMethod = None
    header: ChangedHeaders = None
    body: ChangedBody = None

    @property
    def given(self) -> dict[str, Any]:
        """What is given of the call, by the names in core."""
        names = {"header": "headers"}
        return {names.get(name, name): getattr(self, name) for name in self.model_fields_set}


@taking_rules
class RuleFields(Given):
    """The rule: one field that asks for a kind, and the details of that kind."""


class ScheduleFields(RuleFields):
    """When the timer fires: a rule, and its bounds if it recurs."""

    timezone: Timezone = None
    start_at: StartAt = None
    end_at: EndAt = None
    max_firings: MaxFirings = None
    jitter_ms: Annotated[int | None, Field(ge=0, le=MOST_JITTER_MS, description=JITTER)] = None
    exclude_calendar: ExcludeCalendar = None

    @property
    def given_schedule(self) -> dict[str, Any]:
        """What is given of the schedule, by the names in core."""
        names = self.model_fields_set & ScheduleFields.model_fields.keys()
        return {name: getattr(self, name) for name in names}


@taking_fields
class TermFields(ScheduleFields):
    """The schedule and the timer's other fields that can be changed."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_A_TIMER

    @property
    def given_fields(self) -> dict[str, Any]:
        """What is given of the other fields, by the names in core."""
        names = self.model_fields_set & TermFields.model_fields.keys() - ScheduleFields.model_fields.keys()
        return {name: getattr(self, name) for name in names}


class TimerTerms(TermFields):
    """A whole timer without its app."""

    name: Name
    creator: Annotated[str | None, Field(description="accepted from xTimer's clients, and ignored")] = None
    status: Annotated[
        int | None,
        Field(
            description="xTimer's clients write 0 or 1: disabled, as every new timer is",
            json_schema_extra={"minimum": 0, "maximum": 1},
        ),
        AfterValidator(check_new_status),
    ] = None
    notify_type: Annotated[
        int | None,
        Field(
            alias="notify_type",
            description="1 is HTTP, the only value, as xTimer's web page sends it",
            ge=1,
            le=1,
        ),
    ] = None
    notify: Annotated[NotifyParam, Field(alias="notifyHTTPParam")]

    @property
    def asked(self) -> AskedTimer:
        """The timer that is asked for."""
        return AskedTimer(self.name, self.given_schedule, self.notify.call, self.given_fields)


class ChangedTerms(TermFields):
    """Changes of a timer: a field that is absent stays; null removes a bound or the tags."""

    name: Name | None = None
    notify: Annotated[NotifyChange | None, Field(alias="notifyHTTPParam")] = None

    @property
    def asked(self) -> AskedChange:
        """The change that is asked for."""
        call = None if self.notify is None else self.notify.given
        return AskedChange(self.name, self.given_schedule, call, self.given_fields)
