"""How apps sign, in memory, as executors read it."""

from collections.abc import Iterable

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import new_key
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemorySigningStore:
    """Table `signing` of SQL: app -> its signing."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def needed(self, apps: Iterable[str], now: int) -> Readable[str, AppSigning]:
        asked = list(apps)

        def work() -> Readable[str, AppSigning]:
            table = self._server.table("signing")
            for app in asked:
                table.setdefault(app, AppSigning.unmade(app).with_a_secret(new_key(), now))
            return Readable({app: table[app] for app in asked})

        return self._server.call(work)
