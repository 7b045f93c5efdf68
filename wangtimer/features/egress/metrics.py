"""What Prometheus is told of connections that were refused."""

from typing import Protocol

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily

from wangtimer.store.redis.process_marks import RefusalCount


class EgressParts(Protocol):
    """The parts of a process that are asked."""

    refusal_count: RefusalCount


def of_store(parts: EgressParts) -> list[Metric]:
    """Return how many were refused."""
    return [
        CounterMetricFamily(
            "wangtimer_egress_refusals",
            "Connections that WANGTIMER_EGRESS refused, once for each address tried",
            parts.refusal_count.total(),
        )
    ]
