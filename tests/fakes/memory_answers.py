"""The kept answers in memory; nothing writes them there."""

from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryAnswers:
    """Table `answers`, always empty: timers in memory keep no answer."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def purge(self, now: int, limit: int) -> int:
        return self._server.call(lambda: 0)
