"""What processes are told of apps, in memory."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Generic, TypeVar

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.testing.doubles.memory_server import MemoryServer

Told = TypeVar("Told")


class MemoryToldByApp(Generic[Told]):
    """All that is told under the one key of a server's table."""

    table: ClassVar[str]

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def write(self, told: Mapping[str, Told]) -> None:
        self._server.call(lambda: self._server.table(self.table).update(all=dict(told)))

    def read(self) -> Mapping[str, Told] | None:
        found: Mapping[str, Told] | None = self._server.call(
            lambda: self._server.table(self.table).get("all")
        )
        return found


class MemoryCallLimits(MemoryToldByApp[CallLimit]):
    """The limits of apps' calls."""

    table = "call_limits"


class MemoryAppQueues(MemoryToldByApp[str]):
    """The names of apps' own queues."""

    table = "app_queues"


class MemoryQueueWorkers:
    """Table `queue_workers`: queue -> when a process of it was last there, ms UTC."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def note(self, queues: Iterable[str]) -> None:
        def work() -> None:
            now = int(self._server.now_ms())
            self._server.table("queue_workers").update(dict.fromkeys(queues, now))

        self._server.call(work)

    def seen(self) -> dict[str, int]:
        return self._server.call(lambda: dict(self._server.table("queue_workers")))
