"""How long a call may take and how it is written: fields of requests and answers, as core describes them."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

from wangtimer.api.asked.field_models import Model, with_fields
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused
from wangtimer.api.v1.durations import GivenDuration, duration, read_duration_field
from wangtimer.api.v1.shown import Span
from wangtimer.core.api_field import ApiField, ValueType
from wangtimer.core.time.durations import show_duration
from wangtimer.core.timers.call_form import CallForm
from wangtimer.core.timers.fields import FORM, NUMBERED, TIMEOUTS
from wangtimer.core.timers.timeouts import Timeouts

_ALL = (*TIMEOUTS.asked, *FORM.asked)
OF_CALLS = tuple(one for one in _ALL if one.name != NUMBERED)
OF_TIMERS_ALONE = tuple(one for one in _ALL if one.name == NUMBERED)


def taking(model: type[Model], fields: Sequence[ApiField] = OF_CALLS) -> type[Model]:
    """Return a request's model with these fields after its own; none is required."""
    return with_fields(model, {one.name: (_given(one), None) for one in fields})


def showing(model: type[Model], fields: Sequence[ApiField] = OF_CALLS) -> type[Model]:
    """Return an answer's model with these fields after its own; each is shown where it is set."""
    return with_fields(model, {one.name: (_shown(one), None) for one in fields})


def call_fields_given(target: BaseModel) -> dict[str, Any]:
    """Return what a request gives of these fields, by their names in core, spans in ms; raises `Refused`."""
    given = target.model_fields_set
    return {one.name: _read(getattr(target, one.name), one) for one in _ALL if one.name in given}


def call_fields_shown(timeouts: Timeouts, form: CallForm) -> dict[str, Any]:
    """Return the values of these fields as answers show them."""
    values = TIMEOUTS.shown(timeouts) | FORM.shown(form)
    return {one.name: values[one.name] for one in _ALL}


def _read(value: Any, field: ApiField) -> Any:
    if value is None or field.holds is not ValueType.SPAN:
        return value
    span_ms = read_duration_field(value, field.place)
    if field.least is None or field.most is None or field.least <= span_ms <= field.most:
        return span_ms
    bounds = f"{show_duration(field.least)} to {show_duration(field.most)}"
    raise Refused(ErrorCode.BAD_VALUE, field.place, f"it is {value[:30]}", f"write {bounds}")


def _given(field: ApiField) -> Any:
    alias = field.place.rpartition(".")[2]
    if field.holds is ValueType.SPAN:
        return Annotated[
            GivenDuration, duration(field.description or "", str(field.example)), Field(alias=alias)
        ]
    examples = None if field.example is None else [field.example]
    return Annotated[bool | None, Field(alias=alias, description=field.description, examples=examples)]


def _shown(field: ApiField) -> Any:
    alias, is_span = field.place.rpartition(".")[2], field.holds is ValueType.SPAN
    return Annotated[
        (Span if is_span else bool) | None,
        Field(
            alias=alias,
            description=field.meaning,
            examples=[field.example] if is_span else None,
        ),
    ]
