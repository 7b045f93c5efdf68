"""The fakes' Redis or SQL server: tables that can be away, be lost, or go back in time."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial, wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from wangtimer.core.errors import StoreAway
from wangtimer.testing.doubles.hand_clock import HandClock

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class MemoryServer:
    """Tables by name; stores `call` it one at a time. `loses_answers`: a call takes effect, then raises."""

    def __init__(self, name: str, clock: HandClock) -> None:
        self.name = name
        self.loses_answers = False
        self.reconnects = 1
        self._clock = clock
        self._tables: dict[str, dict[Any, Any]] = {}
        self._is_away = False
        self._connected_at = clock.monotonic()
        self._lock = RLock()

    @property
    def away(self) -> bool:
        """Whether every call raises `StoreAway`."""
        return self._is_away

    @away.setter
    def away(self, is_away: bool) -> None:
        if self._is_away and not is_away:
            self._connected_at = self._clock.monotonic()
            self.reconnects += 1
        self._is_away = is_away

    @property
    def seconds_since_reconnect(self) -> float:
        """Seconds since the server was last away, or since the start."""
        return self._clock.monotonic() - self._connected_at

    def now_ms(self) -> float:
        """Return the server's own time, ms UTC. Keys expire by it, not by the clients' clocks."""
        return self._clock.now_ms()

    def call(self, work: Callable[[], Result]) -> Result:
        """Run one script or transaction. `work` must raise before its first change, or not at all."""
        with self._lock:
            if self.away:
                raise StoreAway(self.name, "switched away by the test")
            answer = work()
            if self.loses_answers:
                raise StoreAway(self.name, "answer lost by the test")
            return answer

    def table(self, name: str) -> dict[Any, Any]:
        """Return a table; it is empty if it was never written or is lost."""
        return self._tables.setdefault(name, {})

    def lose(self, *names: str) -> None:
        """Forget these tables, or all data."""
        with self._lock:
            for name in names or tuple(self._tables):
                self._tables.pop(name, None)

    def snapshot(self) -> dict[str, dict[Any, Any]]:
        """Return all current data, for `restore`."""
        with self._lock:
            return deepcopy(self._tables)

    def restore(self, snapshot: dict[str, dict[Any, Any]]) -> None:
        """Go back to a snapshot."""
        with self._lock:
            self._tables = deepcopy(snapshot)


class OnServer(Protocol):
    """A store of a server."""

    _server: MemoryServer


Store = TypeVar("Store", bound=OnServer)


def at_once(
    method: Callable[Concatenate[Store, Arguments], Result],
) -> Callable[Concatenate[Store, Arguments], Result]:
    """Make a method of a store one script or transaction of its server, as `MemoryServer.call` runs it."""

    @wraps(method)
    def call(store: Store, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        return store._server.call(partial(method, store, *args, **named))

    return call
