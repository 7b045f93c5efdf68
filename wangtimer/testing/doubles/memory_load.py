"""Planned firings of each minute, counted in memory."""

from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryLoad:
    """Table `load`: minute -> firings."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def reserve(self, counts: dict[int, int]) -> dict[int, int]:
        def work() -> dict[int, int]:
            load: dict[int, int] = self._server.table("load")
            before = {minute: load.get(minute, 0) for minute in counts}
            load.update({minute: before[minute] + number for minute, number in counts.items()})
            return before

        return self._server.call(work)
