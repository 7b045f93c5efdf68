"""The stores that are one table each, in memory: load, workers of own queues, texts of replicas, copies with a mark."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from wangtimer.store.redis.marked_copies import MARK_FIELD, Copy
from wangtimer.testing.doubles.memory_server import MemoryServer, at_once


class MemoryLoad:
    """Planned firings of each minute. Table `load`: minute -> firings."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    @at_once
    def reserve(self, counts: dict[int, int]) -> dict[int, int]:
        load: dict[int, int] = self._server.table("load")
        before = {minute: load.get(minute, 0) for minute in counts}
        load.update({minute: before[minute] + number for minute, number in counts.items()})
        return before


class MemoryQueueWorkers:
    """Which own queues have a callback process. Table `queue_workers`: queue -> when one was last there, ms UTC."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    @at_once
    def note(self, queues: Iterable[str]) -> None:
        now = int(self._server.now_ms())
        self._server.table("queue_workers").update(dict.fromkeys(queues, now))

    def seen(self) -> dict[str, int]:
        return self._server.call(lambda: dict(self._server.table("queue_workers")))


class MemoryReplicaTexts:
    """The texts of replicas. Table `replicas`: name -> text."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def write(self, name: str, text: str) -> None:
        self._server.call(lambda: self._server.table("replicas").update({name: text}))

    def read(self, names: Sequence[str]) -> list[str | None]:
        return self._server.call(lambda: [self._server.table("replicas").get(name) for name in names])


class MemoryMarkedCopies:
    """Copies of what apps have beside their timers: the newer version wins, each change gives another mark.

    Table `signing`: field -> the copy of the highest version; "" -> the mark.
    """

    def __init__(self, server: MemoryServer) -> None:
        self._server = server
        self._marks = 0

    def put(self, copies: Iterable[Copy]) -> None:
        for copy in copies:
            self._server.call(partial(self._put, copy))

    def _put(self, copy: Copy) -> None:
        table = self._server.table("signing")
        held = table.get(copy.field)
        if held is None or (held != copy and held.version <= copy.version):
            self._marks += 1
            table |= {copy.field: copy, MARK_FIELD: f"{id(self)} {self._marks}"}

    @at_once
    def get(self, fields: Sequence[str]) -> tuple[str | None, Iterator[Copy]]:
        table = self._server.table("signing")
        return table.get(MARK_FIELD), iter([table[field] for field in fields if field in table])

    def drop(self, field: str) -> None:
        self._server.call(lambda: self._server.table("signing").pop(field, None))
