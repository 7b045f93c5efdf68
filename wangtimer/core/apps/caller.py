"""Who sends a request, and so makes the changes of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from wangtimer.core.apps.scopes import Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """The key of a request, and what it may do.

    `app` is the app whose key it is; None: the caller may act for every app, and names it. `key_id` is None where the
    request needed no key; `name` then says why. `address` is the far end of the connection.
    """

    key_id: str | None
    name: str
    app: str | None
    scopes: frozenset[Scope]
    address: str

    def may(self, scope: Scope) -> bool:
        """Tell whether it has this scope."""
        return scope in self.scopes


# Of this thread. Nobody calls where a stage of the service works: its changes are its own.
_calling: ContextVar[Caller | None] = ContextVar("calling", default=None)


@contextmanager
def calling(caller: Caller | None) -> Iterator[None]:
    """Let the changes of the block be on record as this caller's; None: as nobody's."""
    token = _calling.set(caller)
    try:
        yield
    finally:
        _calling.reset(token)


def begin_call(caller: Caller | None) -> None:
    """Let the changes of this thread be on record as this caller's from now on; None: as nobody's."""
    _calling.set(caller)


def who_calls() -> Caller | None:
    """Return whose changes this thread makes; None: a stage's of the service."""
    return _calling.get()
