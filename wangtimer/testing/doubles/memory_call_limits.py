"""The limits of apps' calls in memory."""

from collections.abc import Mapping

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryCallLimits:
    """All limits under the one key of a server's table."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def write(self, limits: Mapping[str, CallLimit]) -> None:
        self._server.call(lambda: self._server.table("call_limits").update(all=dict(limits)))

    def read(self) -> Mapping[str, CallLimit] | None:
        found: Mapping[str, CallLimit] | None = self._server.call(
            lambda: self._server.table("call_limits").get("all")
        )
        return found


class MemoryCallRules:
    """The other rules for calls, likewise."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def write(self, rules: CallRules) -> None:
        self._server.call(lambda: self._server.table("call_rules").update(all=rules))

    def read(self) -> CallRules | None:
        found: CallRules | None = self._server.call(lambda: self._server.table("call_rules").get("all"))
        return found
