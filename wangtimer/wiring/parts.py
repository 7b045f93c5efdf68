"""Parts of a process: each is built at its first use, of those that the parameters of its class name."""

from collections.abc import Callable
from functools import cached_property
from inspect import signature
from threading import RLock
from typing import Any, Protocol, Self, TypeVar, overload

from wangtimer.base.settings import Settings

Part = TypeVar("Part", covariant=True)
Value = TypeVar("Value")
Owner = TypeVar("Owner", covariant=True)
SETTINGS = {
    *Settings.model_fields,
    *(name for name, of in vars(Settings).items() if isinstance(of, property | cached_property)),
}


class Parts:
    """What a process is made of."""

    settings: Settings
    building: RLock

    def make(self, made: Callable[..., Value], **given: object) -> Value:
        """Return what a class or function makes of what is given, and of what else its parameters name.

        A parameter is given the part of its name, else the setting of its name, else its default, else an instance of
        its class, which is made the same way and is a part from then on. Raises TypeError where that is none of ours.
        """
        arguments = dict(given)
        for name, parameter in signature(made, eval_str=True).parameters.items():
            if name in given:
                continue
            if name in vars(self) or hasattr(type(self), name):
                arguments[name] = getattr(self, name)
            elif name in SETTINGS:
                arguments[name] = getattr(self.settings, name)
            elif parameter.default is parameter.empty:
                arguments[name] = vars(self)[name] = self._made_for(made, name, parameter.annotation)
        return made(**arguments)

    def _made_for(self, made: Callable[..., Any], name: str, of: Any) -> object:
        needs = f"{made.__name__} needs {name}: {of}; no part and no setting is named so"
        if not of.__module__.startswith("wangtimer.") or getattr(of, "_is_protocol", False):
            raise TypeError(needs)
        try:
            return self.make(of)
        except (TypeError, AttributeError) as error:
            raise TypeError(f"{needs}, and none can be made: {error}") from error


class once(cached_property[Part]):  # noqa: N801 - reads as the decorator it is
    """A part built at its first use, by one of the threads that want it first: by a function, or of a class."""

    def __init__(self, built: Callable[..., Part], /, **given: Callable[[Any], object]) -> None:
        def make(parts: Parts) -> Part:
            return parts.make(built, **{name: value(parts) for name, value in given.items()})

        super().__init__(make if isinstance(built, type) else built)

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Part: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> Self | Part:
        if not isinstance(instance, Parts):
            return self
        with instance.building:
            return super().__get__(instance, owner)


class PartOf(Protocol[Owner]):
    """Makes a part: of a class, and what its parameters do not name; or by one expression."""

    @overload
    def __call__(self, of: type[Value], /, **given: Callable[[Owner], object]) -> once[Value]: ...

    @overload
    def __call__(self, build: Callable[[Owner], Value], /) -> once[Value]: ...
