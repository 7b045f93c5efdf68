"""A timer's fields in requests and answers, without its schedule and call. Core describes them."""

from collections.abc import Mapping
from typing import Any

from wangtimer.api.asked.field_models import Model, always_shown_type, given_type, shown_type, with_fields
from wangtimer.core.api_field import ApiField, Shown
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.timer import Timer

# Other schedulers' words for `overlap`.
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
    "overlap says what becomes of a firing while another one of the timer is not done: allow, skip, queueOne or "
    "cancelOlder",
)
_ASKED = tuple(one for field in FIELDS for one in field.asked)
_OF_COMPATIBLE_PATHS = tuple(one for one in _ASKED if not one.is_of_v1_only)
# In v1 under their own names; what has another place there stands in a model of its own.
OF_V1 = tuple(one for one in _ASKED if not one.v1)


def taking_fields(model: type[Model]) -> type[Model]:
    """Return a request's model of the compatible paths with their fields behind its own; none of them is required."""
    return _taking(model, _OF_COMPATIBLE_PATHS)


def taking_v1_fields(model: type[Model]) -> type[Model]:
    """Return a request's model of v1 with the fields that have the same name there, after its own."""
    return _taking(model, OF_V1)


def showing_fields(model: type[Model]) -> type[Model]:
    """Return an answer's model of the compatible paths with their fields behind its own."""
    return _showing(model, _OF_COMPATIBLE_PATHS, {Shown.ALWAYS})


def showing_v1_fields(model: type[Model]) -> type[Model]:
    """Return an answer's model of v1 with the fields that have the same name there, after its own."""
    return _showing(model, OF_V1, {Shown.ALWAYS, Shown.ALWAYS_IN_V1})


def shown_values(timer: Timer) -> dict[str, Any]:
    """Return the fields as the compatible paths show them, by name."""
    values = _values(timer)
    return {one.name: _brief(values[one.name], one.shown) for one in _OF_COMPATIBLE_PATHS}


def shown_v1_values(timer: Timer) -> dict[str, Any]:
    """Return the fields that have the same name in v1 as v1 shows them."""
    values = _values(timer)
    return {one.name: values[one.name] for one in OF_V1}


def _values(timer: Timer) -> dict[str, Any]:
    return {name: value for field in FIELDS for name, value in field.shown(timer.value_of(field)).items()}


def _brief(value: Any, shown: Shown) -> Any:
    return value or None if shown is Shown.ALWAYS_IN_V1 else value


def _taking(model: type[Model], fields: tuple[ApiField, ...]) -> type[Model]:
    return with_fields(model, {one.name: (given_type(one), None) for one in fields})


def _showing(model: type[Model], fields: tuple[ApiField, ...], always: set[Shown]) -> type[Model]:
    return with_fields(
        model,
        {
            one.name: (always_shown_type(one), ...) if one.shown in always else (shown_type(one), None)
            for one in fields
        },
    )
