"""The parts of a process are built by the names of parameters: what mypy cannot see of that is seen here."""

from collections.abc import Callable, Iterator
from inspect import get_annotations, signature
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin

import pytest
from celery import Celery

from wangtimer.base.settings import Settings
from wangtimer.core.time.clock import Clock
from wangtimer.wiring import Wiring, once

MOST = 8
# Meant: each of these classes has several parts.
MADE_TWICE = {"NoteTeller", "Replica", "SharedCopies", "SliceStore"}
DEFAULTS_KEPT = {
    "AlertTrial.waiting",
    "AppDirectory.monotonic",
    "BegunFirings.sleep",
    "EgressWatch.look_up",
    "KeyRing.monotonic",
    "LaneBudget.least",
    "RedisConnection.monotonic",
    "RedisConnection.timeout_s",
    "Room.patience_s",
}
Value = TypeVar("Value")
# What each part is made of: what makes it, the parameter and its annotation, and what it is given.
Given = tuple[Callable[..., object], str, object, object]


class NotedWiring(Wiring):
    """The production wiring; nothing is started, and nothing of it asks a server as it is built."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, Celery("wangtimer", set_as_current=False))
        self.given: list[Given] = []

    def make(self, made: Callable[..., Value], **given: object) -> Value:
        def noting(**arguments: object) -> Value:
            parameters = signature(made, eval_str=True).parameters
            self.given += [
                (made, name, parameters[name].annotation, value) for name, value in arguments.items()
            ]
            return made(**arguments)

        noting.__name__ = made.__name__
        noting.__signature__ = signature(made, eval_str=True)  # type: ignore[attr-defined]
        return super().make(noting, **given)

    def _start_threads(self, executor: object) -> None:
        """Return: they would ask servers."""


def fits(value: object, annotation: Any) -> bool:
    """Tell whether a value is of the class that an annotation names, or has what its protocol says."""
    if annotation in (Any, object):
        return True
    if isinstance(annotation, UnionType):
        return any(fits(value, of) for of in get_args(annotation))
    origin = get_origin(annotation) or annotation
    if getattr(origin, "_is_protocol", False):
        return all(hasattr(value, name) for name in names_of(origin))
    return isinstance(value, (int, float) if origin is float else origin)


def names_of(protocol: type) -> Iterator[str]:
    for of in protocol.__mro__[:-1]:
        yield from (name for name in (*get_annotations(of), *vars(of)) if not name.startswith("_"))


@pytest.fixture(scope="module")
def wiring(tmp_path_factory: pytest.TempPathFactory) -> NotedWiring:
    database: Path = tmp_path_factory.mktemp("wiring") / "wangtimer.db"
    settings = Settings(database_url=f"sqlite:///{database}", egress="any")
    parts = NotedWiring(settings)
    for name in dir(Wiring):
        if isinstance(getattr(Wiring, name), once):
            getattr(parts, name)
    return parts


def test_each_part_is_given_what_its_parameters_are_annotated_with(wiring: NotedWiring) -> None:
    assert len(wiring.given) > 300
    wrong = {
        f"{made.__name__}({name}: {annotation})": type(value)
        for made, name, annotation, value in wiring.given
        if not fits(value, annotation)
    }
    assert wrong == {}


def test_no_part_of_a_process_is_made_of_more_than_eight(wiring: NotedWiring) -> None:
    """In any room: values that no part is given whole, as rows, may have more."""
    made_of = {made: len(signature(made).parameters) for made, *_ in wiring.given}
    assert {made.__name__: number for made, number in made_of.items() if number > MOST} == {}


def test_a_parameter_of_which_no_part_can_be_made_is_named(wiring: NotedWiring) -> None:
    class Late:
        def __init__(self, late_ms: int) -> None:
            """Be late."""

    with pytest.raises(TypeError, match=r"Late needs late_ms: .*int.*; no part and no setting is named so"):
        wiring.make(Late)


def test_no_class_is_made_twice_because_a_parameter_is_named_otherwise(wiring: NotedWiring) -> None:
    made: dict[type, set[int]] = {}
    for value in vars(wiring).values():
        if type(value).__module__.startswith("wangtimer."):
            made.setdefault(type(value), set()).add(id(value))
    assert {of.__name__ for of, parts in made.items() if len(parts) > 1} == MADE_TWICE


def test_a_default_is_kept_only_where_that_is_meant(wiring: NotedWiring) -> None:
    """A parameter with a default whose name is misspelt would be given no setting."""
    given = {(made, name) for made, name, *_ in wiring.given}
    kept = {
        f"{made.__name__}.{name}"
        for made, *_ in wiring.given
        for name in signature(made).parameters
        if (made, name) not in given and not name.startswith("_")
    }
    assert kept == DEFAULTS_KEPT


def test_what_needs_a_part_that_cannot_be_made_is_named_too(wiring: NotedWiring) -> None:
    class Late:
        def __init__(self, clok: Clock) -> None:
            """Be late."""

    with pytest.raises(TypeError, match=r"Late needs clok: .*Clock.*; no part and no setting is named so"):
        wiring.make(Late)
