"""Which own queues have a callback process, in memory."""

from collections.abc import Iterable

from wangtimer.testing.doubles.memory_server import MemoryServer


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
