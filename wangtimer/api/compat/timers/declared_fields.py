"""The fields of a timer and of its rule in requests and answers of xTimer's paths. Core describes them."""

from collections.abc import Iterable
from typing import Any

from wangtimer.api.asked.field_models import Model, always_shown_type, given_type, shown_type, with_fields
from wangtimer.core.api_field import Shown
from wangtimer.core.kinds.kinds import KINDS, asked_fields, shown_fields
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.timer import Timer

_FIELDS = tuple(one for field in FIELDS for one in field.asked if not one.is_of_v1_only)


def taking_fields(model: type[Model]) -> type[Model]:
    """Return a request's model with the fields of a timer after its own; none is required."""
    return with_fields(model, {one.name: (given_type(one), None) for one in _FIELDS})


def showing_fields(model: type[Model]) -> type[Model]:
    """Return an answer's model with the fields of a timer after its own."""
    shown = {
        one.name: (always_shown_type(one), ...) if one.shown is Shown.ALWAYS else (shown_type(one), None)
        for one in _FIELDS
    }
    return with_fields(model, shown)


def shown_values(timer: Timer) -> dict[str, Any]:
    """Return the fields of a timer as these paths show them, by name."""
    values = {name: value for field in FIELDS for name, value in field.shown(timer.value_of(field)).items()}
    return {
        one.name: values[one.name] or None if one.shown is Shown.ALWAYS_IN_V1 else values[one.name]
        for one in _FIELDS
    }


def taking_rules(model: type[Model]) -> type[Model]:
    """Return a request's model with the fields of every kind of rule after its own; none is required."""
    return with_fields(model, {field.name: (given_type(field), None) for field in asked_fields()})


def showing_rules(model: type[Model]) -> type[Model]:
    """Return an answer's model with the fields of every kind of rule after its own. An answer shows one kind's."""
    return with_fields(model, {field.name: (shown_type(field), None) for field in shown_fields()})


def naming_rules(model: type[Model]) -> type[Model]:
    """Return a model with field names put into its docstring: of requests for `{asked}`, of answers for `{shown}`."""
    shown = (" and ".join(_quoted(field.json_name for field in kind.shown_by)) for kind in KINDS)
    model.__doc__ = (model.__doc__ or "").format(
        asked=", ".join(_quoted(field.json_name for kind in KINDS for field in kind.asked_by)),
        shown=", or ".join(shown),
    )
    return model


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]
