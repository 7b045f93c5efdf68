"""Copies of how apps sign, in memory: the newer version wins, and each change gives another mark."""

from collections.abc import Iterable, Sequence
from typing import Any

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.store.redis.marked_copies import MARK_FIELD
from wangtimer.store.redis.signing_copies import Copies
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryMarkedCopies:
    """Table `signing`: key -> the one of the highest version; "" -> the mark."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server
        self._marks = 0

    def put(self, key: Any, one: Any) -> None:
        """Write a copy unless a newer one is there."""

        def work() -> None:
            table = self._server.table("signing")
            held = table.get(key)
            if held is None or (held != one and held.version <= one.version):
                self._marks += 1
                table |= {key: one, MARK_FIELD: f"{id(self)} {self._marks}"}

        self._server.call(work)

    def get(self, keys: Sequence[Any]) -> tuple[str | None, dict[Any, Any]]:
        """Return the mark, and those of these that are there."""

        def work() -> tuple[str | None, dict[Any, Any]]:
            table = self._server.table("signing")
            return table.get(MARK_FIELD), {key: table[key] for key in keys if key in table}

        return self._server.call(work)

    def drop(self, key: Any) -> None:
        """Forget a copy."""
        self._server.call(lambda: self._server.table("signing").pop(key, None))


class MemorySigningCopies:
    """By app."""

    def __init__(self, server: MemoryServer) -> None:
        self._copies = MemoryMarkedCopies(server)

    def put(self, signings: Iterable[AppSigning]) -> None:
        for one in signings:
            self._copies.put(one.app, one)

    def get(self, apps: Sequence[str]) -> Copies:
        return Copies(*self._copies.get(apps))
