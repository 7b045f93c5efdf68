"""What Prometheus is told of hosts that fail."""

from collections.abc import Iterable
from itertools import islice
from typing import Protocol

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from wangtimer.core.flow.slicing import parted
from wangtimer.core.messages.message_place import shown_host
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.failing_hosts import FailingHost, FailingHostRecord
from wangtimer.store.sql.disabled_hosts import DisabledHostStore

# Failing hosts with a series of their own.
MOST_HOSTS = 20


class HostParts(Protocol):
    """The parts of a process that are asked."""

    clock: Clock
    failing_hosts: FailingHostRecord
    disabled_hosts: DisabledHostStore


def of_sql(parts: HostParts) -> list[Metric]:
    """Return how many hosts are disabled."""
    number = parts.disabled_hosts.count()
    return [GaugeMetricFamily("wangtimer_disabled_hosts", "Hosts that are disabled, counted by app", number)]


def of_store(parts: HostParts) -> list[Metric]:
    """Return which hosts fail, and for how long."""
    return _of_failing_hosts(parts.failing_hosts.present(), parts.clock.now_ms())


def _of_failing_hosts(present: Iterable[FailingHost], now_ms: float) -> list[Metric]:
    """Return the figures of hosts, `present` sorted by since when; of its parts that fail only the first says it."""
    since: dict[tuple[str, str], int] = {}
    for host in present:
        since.setdefault((host.app, shown_host(parted(host.origin)[0])), host.since)
    failing_s = GaugeMetricFamily(
        "wangtimer_host_failing_seconds",
        f"For how long a host, or a part of it, has failed each call of an app: the {MOST_HOSTS} failing longest",
        labels=("app", "host"),
    )
    for key, began in islice(since.items(), MOST_HOSTS):
        failing_s.add_metric(key, max(0.0, (now_ms - began) / 1_000))
    return [
        GaugeMetricFamily(
            "wangtimer_failing_hosts", "Hosts that fail each call of an app, counted by app", len(since)
        ),
        failing_s,
    ]
