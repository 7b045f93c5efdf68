"""What processes are told of apps and calls, in memory."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Generic, TypeVar

from wangtimer.core.alerts.alerted_apps import AlertedApps
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.store.redis.told_rules import ToldForCalls
from wangtimer.testing.doubles.memory_server import MemoryServer

Rules = TypeVar("Rules")


class MemoryTold(Generic[Rules]):
    """All that is told under the one key of a server's table."""

    table: ClassVar[str]

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def write(self, rules: Rules) -> None:
        kept = dict(rules) if isinstance(rules, Mapping) else rules
        self._server.call(lambda: self._server.table(self.table).update(all=kept))

    def read(self) -> Rules | None:
        found: Rules | None = self._server.call(lambda: self._server.table(self.table).get("all"))
        return found


class MemoryCallLimits(MemoryTold[Mapping[str, CallLimit]]):
    """The limits of apps' calls."""

    table = "call_limits"


class MemoryCallRules(MemoryTold[CallRules]):
    """The other rules for calls."""

    table = "call_rules"


class MemoryAlertedApps(MemoryTold[AlertedApps]):
    """Who has rules of alerts."""

    table = "alerted_apps"


class MemoryToldForCalls:
    """All, as a callback process reads them; there are no ways out."""

    def __init__(
        self,
        limits: MemoryTold[Mapping[str, CallLimit]],
        rules: MemoryTold[CallRules],
        alerted: MemoryTold[AlertedApps],
    ) -> None:
        self._limits, self._rules, self._alerted = limits, rules, alerted

    def read(self) -> ToldForCalls:
        return ToldForCalls(self._limits.read(), self._rules.read(), alerted=self._alerted.read())


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
