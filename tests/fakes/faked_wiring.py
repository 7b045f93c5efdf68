"""The production wiring over fakes of SQL and doubles of Redis: a process of a world."""

from types import SimpleNamespace
from typing import Any

from tests.fakes.memory_demands import MemoryDemands
from tests.fakes.memory_firing_lists import MemoryFiringLists
from tests.fakes.memory_firings import MemoryFirings
from tests.fakes.memory_signing_store import MemorySigningStore
from tests.fakes.memory_target_store import MemoryTargetStore
from tests.fakes.memory_timers import MemoryTimers
from wangtimer.base.settings import Settings
from wangtimer.core.alerts.alert_place import AlertedApps
from wangtimer.core.egress.way_out import WaysOut
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.pauses import Pauses
from wangtimer.store.redis.quotas import Granted
from wangtimer.testing.doubled_wiring import DoubledWiring
from wangtimer.testing.doubles import MemoryServer


def sql_fakes(server: MemoryServer) -> dict[str, Any]:
    """Return the parts that stand for those of SQL."""
    return {
        "timers": MemoryTimers(server),
        "firings": MemoryFirings(server),
        "firing_lists": MemoryFiringLists(server),
        "demands": MemoryDemands(server),
        "signing_store": MemorySigningStore(server),
        "target_store": MemoryTargetStore(server),
    }


class GrantAll:
    """Grants what is wanted."""

    def take(self, app: str, wanted: int) -> Granted:
        """Return all of it."""
        return Granted(app, wanted)

    def give_back(self, granted: Granted, used: int) -> None:
        """Keep no count."""


class FakedWiring(DoubledWiring):
    """There is no database and no Redis: what no fake and no double stands for is never asked."""

    def __init__(self, settings: Settings, clock: Any, redis: MemoryServer, fakes: dict[str, Any]) -> None:
        super().__init__(settings, clock, redis)
        vars(self).update(
            fakes,
            database=None,
            redis=None,
            tls=SimpleNamespace(fault_of=lambda _app: ""),
            apps=SimpleNamespace(queues=dict, retries=dict),
            limits_in_sql=SimpleNamespace(all=CallLimits),
            pauses=SimpleNamespace(of_calls=Pauses),
            disabled_hosts=SimpleNamespace(keys=frozenset),
            ways_out_in_sql=SimpleNamespace(mark=lambda: "", read=lambda: WaysOut("", {})),
            alert_rules=SimpleNamespace(alerted=AlertedApps),
            copy_refreshers=(),
            rules_follower=SimpleNamespace(may_plan=lambda: True),
            replay_quota=GrantAll(),
        )
