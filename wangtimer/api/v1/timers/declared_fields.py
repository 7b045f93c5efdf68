"""The fields of a timer, its call and its schedule in requests and answers of v1: core describes them.

What a kind of schedule or a field of a timer declares in core is taken and shown, without a name of it here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from wangtimer.api.http.api_models import by_word
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.refusals import bad_schedule, bad_value
from wangtimer.api.timer_terms.schedule_reading import BOUNDS
from wangtimer.api.timer_terms.timer_field_types import (
    JITTER,
    EndAt,
    ExcludeCalendar,
    MaxFirings,
    Model,
    StartAt,
    Timezone,
    always_shown_type,
    given_type,
    shown_type,
    with_fields,
    with_fields_first,
)
from wangtimer.api.v1.value_types import GivenDuration, Span, Text, duration, read_duration_field
from wangtimer.core.api_field import MOST_SPAN_MS, ApiField, Shown, ValueType
from wangtimer.core.kinds.kinds import KINDS, asked_fields, kind_of, shown_fields
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.time.durations import show_duration
from wangtimer.core.timers.call_options import CallForm, Timeouts
from wangtimer.core.timers.fields import FIELDS, FORM, NUMBERED, TIMEOUTS
from wangtimer.core.timers.timer import Timer

_OF_CALLS = (*TIMEOUTS.asked, *FORM.asked)
# How long a call may take and how it is written; and what of that no named target has.
OF_CALLS = tuple(field for field in _OF_CALLS if field.name != NUMBERED)
OF_TIMERS_ALONE = tuple(field for field in _OF_CALLS if field.name == NUMBERED)
# Those that stand in a timer under their own names; what has another place there stands in a model of its own.
OF_TIMERS = tuple(asked for field in FIELDS for asked in field.asked if not asked.v1)
OF_MISFIRES = tuple(
    api_field for field in FIELDS for api_field in field.asked if api_field.v1.startswith("misfire.")
)
# By the name in core: those of which exactly one says what the rule is, and those that are spans of time.
ASKED_BY = {field.name: field.place for kind in KINDS for field in kind.asked_by}
SPANS = {field.name: field.place for field in asked_fields() if field.holds is ValueType.SPAN}

_SHOWN: dict[ValueType, Any] = {
    ValueType.TEXT: str,
    ValueType.NUMBER: int,
    ValueType.MOMENT: Text,
    ValueType.SPAN: Span,
    ValueType.FLAG: bool,
}


def taking(model: type[Model], fields: Sequence[ApiField] = OF_CALLS) -> type[Model]:
    """Return a request's model with these fields after its own; none is required."""
    return with_fields(model, {field.name: (_given(field), None) for field in fields})


def showing(model: type[Model], fields: Sequence[ApiField] = OF_CALLS) -> type[Model]:
    """Return an answer's model with these fields after its own; each is shown where it is set."""
    return with_fields(model, {field.name: (_shown(field), None) for field in fields})


def showing_timers(model: type[Model]) -> type[Model]:
    """Return an answer's model with the fields that stand in a timer itself after its own."""
    shown = {
        field.name: (shown_type(field), None)
        if field.shown is Shown.WHERE_SET
        else (always_shown_type(field), ...)
        for field in OF_TIMERS
    }
    return with_fields(model, shown)


def taking_rules(model: type[Model]) -> type[Model]:
    """Return a request's model with the fields of every kind of rule before its own; none is required.

    `{asked}` in its docstring becomes the names of those of which one says what the rule is.
    """
    model.__doc__ = (model.__doc__ or "").format(asked=", ".join(f"`{name}`" for name in ASKED_BY.values()))
    return with_fields_first(model, {field.name: (_given(field), None) for field in asked_fields()})


def showing_rules(model: type[Model]) -> type[Model]:
    """Return an answer's model with the fields of every kind of rule before its own; a rule has those of its kind.

    `{shown}` in its docstring becomes their names.
    """
    names = (" and ".join(f"`{field.place}`" for field in kind.shown_by if field.is_in_v1) for kind in KINDS)
    model.__doc__ = (model.__doc__ or "").format(shown=", or ".join(names))
    shown = (field for field in shown_fields() if field.is_in_v1)
    return with_fields_first(model, {field.name: (_shown(field), None) for field in shown})


def fields_given(part: BaseModel, fields: Sequence[ApiField] = _OF_CALLS) -> dict[str, Any]:
    """Return what a request gives of these fields, by their names in core, spans in ms; raises `Refused`."""
    given = part.model_fields_set
    return {field.name: _read(getattr(part, field.name), field) for field in fields if field.name in given}


def call_fields_shown(timeouts: Timeouts, form: CallForm) -> dict[str, Any]:
    """Return the values of the fields of calls."""
    return TIMEOUTS.shown(timeouts) | FORM.shown(form)


def shown_values(timer: Timer) -> dict[str, Any]:
    """Return the values of all fields of a timer, by their names in core."""
    return {name: value for field in FIELDS for name, value in field.shown(timer.value_of(field)).items()}


def shown_rule(rule: Rule) -> dict[str, Any]:
    """Return what an answer shows of a rule, by the names in core; its zone where it recurs."""
    kind = kind_of(rule)
    values = kind.shown(rule)
    shown = {field.name: values[field.name] for field in kind.shown_by if field.is_in_v1}
    return shown if rule.only_moment is not None else shown | {"timezone": rule.timezone}


def _read(value: Any, field: ApiField) -> Any:
    if value is None or field.holds is not ValueType.SPAN:
        return value
    span_ms = read_duration_field(value, field.place)
    if field.least is None or field.most is None or field.least <= span_ms <= field.most:
        return span_ms
    bounds = f"{show_duration(field.least)} to {show_duration(field.most)}"
    if field.most == MOST_SPAN_MS:
        bounds = f"{show_duration(field.least)} or more"
    raise bad_value(field.place, f"it is {value[:30]}", f"write {bounds}")


def _given(field: ApiField) -> Any:
    description = field.v1_description or field.description or ""
    if field.holds is ValueType.SPAN:
        of: Any = Annotated[GivenDuration, duration(description, str(field.v1_example or field.example))]
    else:
        of = given_type(replace(field, description=description))
    return Annotated[of, Field(alias=_name(field))]


def _shown(field: ApiField) -> Any:
    of = (
        _SHOWN[field.holds] if field.choices is None else Literal[tuple(word.value for word in field.choices)]
    )
    examples = None if field.example is None or field.holds is ValueType.FLAG else [field.example]
    return Annotated[of | None, Field(alias=_name(field), description=field.meaning, examples=examples)]


def _name(field: ApiField) -> str:
    return field.place.rpartition(".")[2]


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
            raise bad_schedule(
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
    **{
        asked.json_name: asked.v1
        for field in FIELDS
        for asked in field.asked
        if "." in asked.v1 and asked.name != "misfire"
    },
    **by_word(
        {
            "schedule.cron": "cronExpression expression",
            "schedule.every": "interval",
            "schedule.delay": "delaySeconds",
            "schedule.startAt": "startTime",
            "schedule.endAt": "endTime expireAt",
            "schedule.at": "runAt fireAt",
            "schedule.timezone": "tz zone",
            "schedule.maxFirings": "maxRuns repeatCount",
            "schedule.excludeCalendar": "calendar",
            "target": "callback webhook notify",
            "target.url": "callbackUrl endpoint",
            "target.body": "payload",
            "target.timeout": "timeoutMs timeoutSeconds timeoutS",
            "misfire.policy": "misfirePolicy",
            "enabled": "active enable isEnabled paused status state",
            "tags": "labels",
        }
    ),
}


class OfTimers(Given):
    """A request about timers."""

    our_words: ClassVar[Mapping[str, str] | None] = WORDS
