"""What operators set for calls, beside the limits of apps."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from wangtimer.core.flow.call_limit import CallLimit, limits_of, limits_to_figures
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.retry import RetryPolicy, readable_policies

# Stands for every host that has no limit of its own.
ANY_HOST = "*"


@dataclass(frozen=True, slots=True)
class CallRules:
    """The rules of all calls: what is paused, and the limits of calls to target hosts.

    `hosts` has the limit of each host and port, over all apps; `ANY_HOST` that of every other. `to_one_host` has, by
    app, the limit of its calls to each host. `retries` has, by app, when its failed calls are made again, where neither
    a timer nor its target says so. `disabled_hosts` are those that an app's calls reach no more.
    """

    pauses: Pauses = field(default_factory=Pauses)
    hosts: Mapping[str, CallLimit] = field(default_factory=dict)
    to_one_host: Mapping[str, CallLimit] = field(default_factory=dict)
    retries: Mapping[str, RetryPolicy] = field(default_factory=dict)
    disabled_hosts: frozenset[HostKey] = frozenset()


def rules_to_text(rules: CallRules) -> str:
    """Return the rules as Redis holds them."""
    told = {
        "pauses": sorted(rules.pauses.names),
        "hosts": limits_to_figures(rules.hosts),
        "toOneHost": limits_to_figures(rules.to_one_host),
        "retries": {app: policy.text() for app, policy in rules.retries.items()},
        "disabledHosts": sorted(rules.disabled_hosts),
    }
    return json.dumps(told, separators=(",", ":"))


def rules_from_text(text: str) -> CallRules:
    """Read back what `rules_to_text` wrote; of a later format what is known here. Raises `ValueError`."""
    try:
        told = json.loads(text)
        pauses = Pauses(frozenset(map(str, told.get("pauses", ()))))
        return CallRules(
            pauses,
            limits_of(told.get("hosts", {})),
            limits_of(told.get("toOneHost", {})),
            readable_policies(told.get("retries", {})),
            frozenset((str(app), str(origin)) for app, origin in told.get("disabledHosts", ())),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no rules of calls: {error}") from error
