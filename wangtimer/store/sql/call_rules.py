"""The rules for calls that callback processes are told, from SQL."""

from dataclasses import dataclass, replace

from wangtimer.core.flow.call_rules import CallRules
from wangtimer.store.sql.app_limits import AppLimits
from wangtimer.store.sql.apps import AppStore
from wangtimer.store.sql.disabled_hosts import DisabledHostStore
from wangtimer.store.sql.host_limits import HostLimitStore
from wangtimer.store.sql.pauses import PauseStore


@dataclass(frozen=True, slots=True)
class CallRuleSource:
    """Reads what is paused or disabled, limits of target hosts, and apps' retry policies."""

    pauses: PauseStore
    hosts: HostLimitStore
    limits: AppLimits
    apps: AppStore
    disabled_hosts: DisabledHostStore

    def of_calls(self) -> CallRules:
        """Return the rules; raises `StoreAway`."""
        return replace(
            self.pauses.of_calls(),
            hosts=self.hosts.of_calls(),
            to_one_host=self.limits.of_calls_to_one_host(),
            retries=self.apps.retries(),
            disabled_hosts=self.disabled_hosts.keys(),
        )
