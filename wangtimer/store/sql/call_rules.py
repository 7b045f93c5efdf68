"""The rules for calls that callback processes are told, from SQL."""

from dataclasses import dataclass, replace

from wangtimer.core.flow.call_rules import CallRules
from wangtimer.store.sql.app_limits import AppLimits
from wangtimer.store.sql.host_limits import HostLimitStore
from wangtimer.store.sql.pauses import PauseStore


@dataclass(frozen=True, slots=True)
class CallRuleSource:
    """Reads what operators paused, and the limits of target hosts."""

    pauses: PauseStore
    hosts: HostLimitStore
    apps: AppLimits

    def of_calls(self) -> CallRules:
        """Return the rules; raises `StoreAway`."""
        return replace(
            self.pauses.of_calls(), hosts=self.hosts.of_calls(), to_one_host=self.apps.of_calls_to_one_host()
        )
