"""Parts of a process: each is built at its first use, of others."""

from collections.abc import Callable
from functools import cached_property
from threading import RLock
from typing import Any, Protocol, Self, TypeVar, overload

Part = TypeVar("Part", covariant=True)
Value = TypeVar("Value")
Owner = TypeVar("Owner", covariant=True)


class Parts:
    """What a process is made of."""

    building: RLock


class once(cached_property[Part]):  # noqa: N801 - reads as the decorator it is
    """A part built at its first use, by one of the threads that want it first."""

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
    """Makes a part that one expression builds of others; its class says what it is."""

    def __call__(self, build: Callable[[Owner], Value], /) -> once[Value]:
        """Return the part."""
