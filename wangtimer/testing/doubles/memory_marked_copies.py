"""Copies of what apps have beside their timers, in memory: the newer version wins, each change gives another mark."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from wangtimer.store.redis.marked_copies import MARK_FIELD, Copy
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryMarkedCopies:
    """Table `signing`: field -> the copy of the highest version; "" -> the mark."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server
        self._marks = 0

    def put(self, copies: Iterable[Copy]) -> None:
        for one in copies:
            self._server.call(partial(self._put, one))

    def _put(self, one: Copy) -> None:
        table = self._server.table("signing")
        held = table.get(one.field)
        if held is None or (held != one and held.version <= one.version):
            self._marks += 1
            table |= {one.field: one, MARK_FIELD: f"{id(self)} {self._marks}"}

    def get(self, fields: Sequence[str]) -> tuple[str | None, Iterator[Copy]]:
        def work() -> tuple[str | None, Iterator[Copy]]:
            table = self._server.table("signing")
            return table.get(MARK_FIELD), iter([table[field] for field in fields if field in table])

        return self._server.call(work)

    def drop(self, field: str) -> None:
        self._server.call(lambda: self._server.table("signing").pop(field, None))
