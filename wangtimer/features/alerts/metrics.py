"""What Prometheus is told of the messages of alerts."""

from typing import Protocol

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from wangtimer.core.time.clock import Clock
from wangtimer.store.sql.alert_messages import AlertMessages

# A message is overdue once it has been due for longer, and so many are counted at most.
OVERDUE_AFTER_MS, COUNTED_AT_MOST = 60_000, 10_000


class AlertParts(Protocol):
    """The parts of a process that are asked."""

    clock: Clock
    alert_messages: AlertMessages


def of_sql(parts: AlertParts) -> list[Metric]:
    """Return how many are overdue."""
    now = int(parts.clock.now_ms())
    return [
        GaugeMetricFamily(
            "wangtimer_overdue_alerts",
            f"Messages of alerts due over {OVERDUE_AFTER_MS // 1_000} s ago, not sent "
            f"(counted up to {COUNTED_AT_MOST})",
            parts.alert_messages.overdue(now, OVERDUE_AFTER_MS, COUNTED_AT_MOST),
        )
    ]
