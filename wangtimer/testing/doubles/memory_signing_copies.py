"""Copies of how apps sign, in memory: the newer version wins, and each change gives another mark."""

from collections.abc import Iterable, Sequence

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.store.redis.signing_copies import MARK_FIELD, Copies
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemorySigningCopies:
    """Table `signing`: app -> its signing; "" -> the mark."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server
        self._marks = 0

    def put(self, signings: Iterable[AppSigning]) -> None:
        for one in signings:
            self._server.call(lambda one=one: self._put(one))  # type: ignore[misc]

    def get(self, apps: Sequence[str]) -> Copies:
        def work() -> Copies:
            table = self._server.table("signing")
            return Copies(table.get(MARK_FIELD), {app: table[app] for app in apps if app in table})

        return self._server.call(work)

    def _put(self, one: AppSigning) -> None:
        table = self._server.table("signing")
        held = table.get(one.app)
        if held is None or (held != one and held.version <= one.version):
            self._marks += 1
            table |= {one.app: one, MARK_FIELD: f"{id(self)} {self._marks}"}
