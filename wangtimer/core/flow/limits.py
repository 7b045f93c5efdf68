"""All limits of calls: which of them a call needs permits of, and in which order."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.call_rules import ANY_HOST, CallRules
from wangtimer.core.flow.slicing import SharedLane


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Each limit has a lane: who gets no permit of the limit waits there."""

    apps: Mapping[str, CallLimit] = field(default_factory=dict)
    rules: CallRules = field(default_factory=CallRules)

    @property
    def has_any(self) -> bool:
        """Whether some call needs a permit, or is paused."""
        rules = self.rules
        return bool(self.apps or rules.hosts or rules.to_one_host or rules.pauses.names)

    def lanes_of(self, app: str, host: str) -> list[SharedLane]:
        """Return the lanes of the limits of which a call needs permits: host first, then app."""
        rules, lanes = self.rules, []
        if rules.hosts and (host in rules.hosts or ANY_HOST in rules.hosts):
            lanes.append(SharedLane.of_host_limit(host))
        if app in rules.to_one_host:
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
                return self.rules.hosts.get(name, self.rules.hosts.get(ANY_HOST))
            case "app-at-host":
                return self.rules.to_one_host.get(name.partition(" ")[2])
        return None
