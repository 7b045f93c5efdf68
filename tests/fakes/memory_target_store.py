"""Named targets, in memory, as executors read them."""

from collections.abc import Collection

from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.named_target import NamedTarget, TargetKey
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryTargetStore:
    """Table `targets` of SQL: app and name -> the target."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def put(self, target: NamedTarget) -> None:
        self._server.call(lambda: self._server.table("targets").update({target.key: target}))

    def stored(self, keys: Collection[TargetKey]) -> Readable[TargetKey, NamedTarget]:
        def work() -> Readable[TargetKey, NamedTarget]:
            table = self._server.table("targets")
            return Readable({key: table[key] for key in keys if key in table})

        return self._server.call(work)
