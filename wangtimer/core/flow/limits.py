"""All limits of calls: which of them a call needs permits of, and in which order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wangtimer.core.flow.call_limit import CallLimit, limits_of, limits_to_figures
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.replica_kind import ReplicaKind

# Stands for every host that has no limit of its own.
ANY_HOST = "*"


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Each limit has a lane: who gets no permit of the limit waits there.

    `apps` has the limit of each app; `hosts` that of each host and port, over all apps, and under `ANY_HOST` that of
    every other; `to_one_host`, by app, the limit of its calls to each host.
    """

    apps: Mapping[str, CallLimit] = field(default_factory=dict)
    hosts: Mapping[str, CallLimit] = field(default_factory=dict)
    to_one_host: Mapping[str, CallLimit] = field(default_factory=dict)

    @property
    def has_any(self) -> bool:
        """Whether some call needs a permit."""
        return bool(self.apps or self.hosts or self.to_one_host)

    def lanes_of(self, app: str, host: str) -> list[SharedLane]:
        """Return the lanes of the limits of which a call needs permits: host first, then app."""
        lanes = []
        if self.hosts and (host in self.hosts or ANY_HOST in self.hosts):
            lanes.append(SharedLane.of_host_limit(host))
        if app in self.to_one_host:
            lanes.append(SharedLane.of_app_at_host(app, host))
        if app in self.apps:
            lanes.append(SharedLane.of_limit(app))
        return lanes

    def limit_of(self, lane: SharedLane) -> CallLimit | None:
        """Return the limit for which firings wait in a lane; None if it has none, or no longer."""
        name = lane.name
        match lane.kind:
            case "limit":
                return self.apps.get(name)
            case "host-limit":
                return self.hosts.get(name, self.hosts.get(ANY_HOST))
            case "app-at-host":
                return self.to_one_host.get(name.partition(" ")[2])
        return None


def _to_json(limits: CallLimits) -> dict[str, Any]:
    by_name = {"apps": limits.apps, "hosts": limits.hosts, "toOneHost": limits.to_one_host}
    return {name: limits_to_figures(limits) for name, limits in by_name.items()}


def _from_json(told: Any) -> CallLimits:
    return CallLimits(*(limits_of(told[name]) for name in ("apps", "hosts", "toOneHost")))


CALL_LIMITS = ReplicaKind("limits", _to_json, _from_json, CallLimits())
