"""What callers may say of a timer, by the names of the compatible paths.

Null is the same as absent. Exception: in a change, null removes the value.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from wangtimer.api.asked.bound_types import JITTER, EndAt, ExcludeCalendar, MaxFirings, StartAt, Timezone
from wangtimer.api.asked.owned_fields import taking_fields
from wangtimer.api.asked.rule_fields import taking_rules
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import (
    ChangedHeaders,
    ChangedMethod,
    Given,
    Headers,
    Method,
    Name,
)
from wangtimer.api.http.notify_rules import MOST_URL_CHARACTERS, check_changed_url, check_url
from wangtimer.api.http.refusals import Refused

MOST_JITTER_MS = 3_600_000

_ENABLING = "a new timer is disabled; enable it with POST /api/timer/v1/enable"
_ATTEMPTS = "POST /v1/timers has retry, which says how often a call is tried; leave it out here"
_TIMEOUT = (
    "the deployment's setting WANGTIMER_CALLBACK_TIMEOUT_MS says how long a call may take; leave it out"
)
_OVERLAP = (
    "overlap says what becomes of a firing while another one of the timer is not done: allow, skip, queueOne or "
    "cancelOlder"
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
OF_OVERLAPS: Mapping[str, str] = dict.fromkeys(
    (
        "allowOverlap",
        "concurrency",
        "concurrencyPolicy",
        "maxInstances",
        "maxConcurrent",
        "maxConcurrency",
        "coalesce",
        "singleton",
    ),
    _OVERLAP,
)
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


# The length of a URL is in the schema for readers; `check_url` says it better.
_URL = {"minLength": 1, "maxLength": MOST_URL_CHARACTERS}
Url = Annotated[
    str,
    Field(
        description="http or https, ASCII, no user name in it",
        json_schema_extra=dict(_URL),
        examples=["https://shop.example/orders/expire"],
    ),
    AfterValidator(check_url),
]
ChangedUrl = Annotated[
    str | None,
    Field(
        description="as in a new timer; null is refused, since every call has a URL",
        json_schema_extra=dict(_URL),
    ),
    AfterValidator(check_changed_url),
]
Body = Annotated[str | None, Field(description="sent as it is, in UTF-8", examples=['{"order":7}'])]
ChangedBody = Annotated[str | None, Field(description="null: none")]


class NotifyParam(Given):
    """The HTTP call to make at each moment."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_THE_DEPLOYMENT

    url: Url
    method: Method = "POST"
    header: Annotated[Headers, Field(default_factory=tuple)]
    body: Body = None


class NotifyChange(Given):
    """Changes of the HTTP call (RFC 7396): a field that is absent stays, null gives it its default."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_THE_DEPLOYMENT

    url: ChangedUrl = None
    method: ChangedMethod = None
    header: ChangedHeaders = None
    body: ChangedBody = None


@taking_rules
class RuleFields(Given):
    """The rule: one field that asks for a kind, and the details of that kind."""


class ScheduleFields(RuleFields):
    """When the timer fires: a rule, and its bounds if it recurs."""

    timezone: Timezone = None
    start_at: StartAt = None
    end_at: EndAt = None
    max_firings: MaxFirings = None
    jitter_ms: Annotated[int | None, Field(alias="jitterMs", ge=0, le=MOST_JITTER_MS, description=JITTER)] = (
        None
    )
    exclude_calendar: ExcludeCalendar = None


@taking_fields
class TermFields(ScheduleFields):
    """The schedule and the timer's other fields that can be changed."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_A_TIMER


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
        Field(description="1 is HTTP, the only value, as xTimer's web page sends it", ge=1, le=1),
    ] = None
    notify: Annotated[NotifyParam, Field(alias="notifyHTTPParam")]


class ChangedTerms(TermFields):
    """Changes of a timer: a field that is absent stays; null removes a bound or the tags."""

    name: Name | None = None
    notify: Annotated[NotifyChange | None, Field(alias="notifyHTTPParam")] = None
