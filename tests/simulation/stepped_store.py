"""A store as one process reaches it: every call of a method is one step of the simulated world."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.simulation.fault import IN_PIECES
from tests.simulation.simulator import REDIS_TIMEOUT_MS, SQL_TIMEOUT_MS, Process, Step

# What a store does without asking its server.
WITHOUT_A_STEP = frozenset({"outbox.read"})
KEEPER_TIMEOUT_MS = 1_000


class SteppedStore:
    """Stands for the store `name`; `server` is where it lives, "redis" or "sql"."""

    def __init__(
        self, process: Process, name: str, store: Any, server: str, timeout_ms: float | None = None
    ) -> None:
        self._process = process
        self._name = name
        self._store = store
        self._server = server
        self._timeout_ms = timeout_ms or (REDIS_TIMEOUT_MS if server == "redis" else SQL_TIMEOUT_MS)

    @property
    def seconds_since_reconnect(self) -> float:
        """Seconds since this process last opened a connection to Redis."""
        return (self._process.sim.now_ms - self._process.connected_at_ms) / 1_000

    @property
    def reconnects(self) -> int:
        """How often this process has opened a connection to Redis."""
        return self._process.redis_connects

    def __getattr__(self, attribute: str) -> Any:
        method = getattr(self._store, attribute)
        label = f"{self._name}.{attribute}"
        stepped = method if label in WITHOUT_A_STEP else self._stepped(label, method)
        self.__dict__[attribute] = stepped
        return stepped

    def _stepped(self, label: str, method: Callable[..., Any]) -> Callable[..., Any]:
        sim, server, timeout_ms = self._process.sim, self._server, self._timeout_ms
        in_pieces = label in IN_PIECES

        def call(*arguments: Any, **named: Any) -> Any:
            half = (_half(arguments[0]), *arguments[1:]) if in_pieces else None
            return sim.step(Step(label, server, method, arguments, named, half, timeout_ms))

        return call


def _half(items: Any) -> Any:
    """The first half, as when a connection broke within a pipeline."""
    assert isinstance(items, Iterable)
    listed = list(items.items()) if isinstance(items, Mapping) else list(items)
    half = listed[: len(listed) // 2]
    return dict(half) if isinstance(items, Mapping) else half
