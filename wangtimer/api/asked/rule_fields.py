"""The fields of a rule in requests and answers. Each kind of rule declares its own."""

from collections.abc import Iterable

from wangtimer.api.asked.field_models import Model, given_type, shown_type, with_fields
from wangtimer.core.kinds.kinds import KINDS, asked_fields, shown_fields


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
