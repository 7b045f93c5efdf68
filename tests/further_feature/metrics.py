"""How much is kept."""

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from tests.further_feature.firing import Parts
from tests.further_feature.kept_words import count


def of_sql(parts: Parts) -> list[Metric]:
    return [GaugeMetricFamily("wangtimer_words", "What targets said", count(parts.database))]
