"""The types of fields that requests and answers of all paths have: of timers, schedules, calls, firings and lists.

Those of a timer's own fields are made from core's descriptions. Only v1 spells spans of time in another way.
"""

from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, create_model

from wangtimer.api.http.api_models import by_word
from wangtimer.api.http.field_types import GivenMoment, moment, number, plain
from wangtimer.api.http.notify_rules import MOST_URL_CHARACTERS, check_changed_url, check_url
from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.schedules.calendars import NAME_CHARACTERS as CALENDAR_CHARACTERS
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.fields import TAG_CHARACTERS
from wangtimer.core.timers.timer import NAME_CHARACTERS

Model = TypeVar("Model", bound=BaseModel)

# Given as ms UTC.
ShownMoment = Annotated[
    str,
    BeforeValidator(lambda at: show_moment(at) if isinstance(at, int) else at),
    Field(examples=["2026-11-20T18:16:51.123Z"], description="RFC 3339 with ms"),
]

_SHOWN: dict[ValueType, Any] = {
    ValueType.TEXT: str,
    ValueType.NUMBER: int,
    ValueType.MOMENT: ShownMoment,
    ValueType.SPAN: int,
    ValueType.FLAG: bool,
    ValueType.TEXTS: list[str],
    ValueType.PART: dict[str, Any],
}


def with_fields(model: type[Model], fields: dict[str, Any]) -> type[Model]:
    """Return a model with these fields after its own. Each value is a type and a default."""
    return create_model(
        model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
    )


def with_fields_first(model: type[Model], fields: dict[str, Any]) -> type[Model]:
    """Return a model with these fields before its own, each a type and a default."""
    bases: Any = (model, create_model(model.__name__, __base__=model.__bases__[0], **fields))
    made: Any = create_model(
        model.__name__, __base__=bases, __module__=model.__module__, __doc__=model.__doc__
    )
    return cast(type[Model], made)


def given_type(field: ApiField) -> Any:
    """Return the field's type in a request; None stands for an absent field."""
    if field.holds is ValueType.MOMENT:
        return Annotated[GivenMoment, moment(field.description or ""), Field(alias=field.json_name)]
    examples = None if field.example is None else [field.example]
    of, bounds = _given(field)
    return Annotated[
        of, Field(alias=field.json_name, description=field.description, examples=examples, **bounds)
    ]


def _given(field: ApiField) -> tuple[Any, dict[str, Any]]:
    """Return the type and bounds of a field that is not a moment."""
    match field.holds:
        case ValueType.NUMBER | ValueType.SPAN:
            return int | None, {"ge": field.least, "le": field.most}
        case ValueType.FLAG:
            return bool | None, {}
        case ValueType.TEXTS:
            each = Annotated[str, Field(min_length=1, max_length=field.most_of_each), AfterValidator(plain)]
            return list[each] | None, {"max_length": field.most, "fail_fast": True}
        case ValueType.PART:
            return dict[str, Any] | None, {}
        case _ if field.choices is not None:
            return Literal[tuple(word.value for word in field.choices)] | None, {}
        case _:
            return str | None, {"min_length": field.least, "max_length": field.most}


def shown_type(field: ApiField) -> Any:
    """Return the field's type in an answer that leaves the field out when it is None."""
    of = _SHOWN[field.holds] | None
    return Annotated[of, Field(description=field.meaning or field.description)]


def always_shown_type(field: ApiField) -> Any:
    """Return the field's type in an answer that always has it."""
    of = _SHOWN[field.holds] if field.choices is None else field.choices
    return Annotated[of, Field(description=field.meaning)]


# Finding the 10,000th moment of a rare cron takes half a second.
MOST_FIRINGS = 10_000
JITTER = "each moment is delayed by at most this, never past the next one; its delay is always the same"

Timezone = Annotated[
    str | None,
    Field(
        description="IANA zone of cron, of excluded days, and of moments written without an offset; UTC by default",
        examples=["Asia/Shanghai"],
    ),
]
StartAt = Annotated[GivenMoment, moment("nothing fires before")]
EndAt = Annotated[GivenMoment, moment("nothing fires after; then the timer is finished")]
MaxFirings = Annotated[
    int | None,
    Field(
        ge=1,
        le=MOST_FIRINGS,
        description="the timer is finished after this many moments of its schedule, counted from startAt, or else from "
        "the first enable. Moments that pass while it is disabled count",
    ),
]
ExcludeCalendar = Annotated[
    str | None,
    Field(
        max_length=CALENDAR_CHARACTERS,
        description="nothing fires on the days of this calendar: weekends, cn-off-days, or one the app uploaded",
        examples=["weekends"],
    ),
]

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

KindWord = Literal["scheduled", "manual", "backfill"]

ShownKind = Annotated[KindWord, Field(description="planned by its timer's schedule, or requested")]
Lateness = Annotated[int | None, Field(description="first send minus scheduled moment")]
LastOutput = Annotated[str, Field(description="the start of the target's last answer")]
WaitedFor = Annotated[
    str,
    Field(
        description="what its last attempt waits or waited for: a place at its target (`host:` with the host, the "
        "part of it that is called and the app), a connection of its app's share (`app:` and the app), or a limit of "
        "callbacks (`limit:` and the app, "
        "`host-limit:` and the host, `app-at-host:` with both): "
        "then it was throttled, and `latenessMs` says for how long; `pause:all`, or `pause:` with `app:`, `host:` or "
        "`timer:` and a name: an operator had paused that; empty: it did not wait"
    ),
]

# Other schedulers' words for `overlap`.
_OVERLAP = (
    "overlap says what becomes of a firing while another one of the timer is not done: allow, skip, queueOne or "
    "cancelOlder"
)
OF_OVERLAPS = by_word(
    {
        _OVERLAP: "allowOverlap concurrency concurrencyPolicy maxInstances maxConcurrent maxConcurrency coalesce "
        "singleton"
    }
)
# And for `retry`, which not every object has.
RETRY_WORDS = "retries retry retryCount retryPolicy maxRetries maxAttempts attempts backoff"

NameText = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
TagText = Annotated[str, Field(min_length=1, max_length=TAG_CHARACTERS)]
StatusWord = Literal["disabled", "enabled", "finished"]
NextBefore = Annotated[
    GivenMoment,
    BeforeValidator(number),
    moment("only timers whose next moment is at or before this"),
]
