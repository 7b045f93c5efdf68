"""Metrics for Prometheus: firings long due without an outcome, parked outcomes, queues, parts that are away."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from math import inf

import structlog
from flask import Response
from flask_openapi.openapi import OpenAPI
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from wangtimer.api.operations.health import LastTick, Probe
from wangtimer.core.errors import StoreAway
from wangtimer.core.features import added
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.redis.bad_record import MOST, PRESENT_MS
from wangtimer.wiring import Wiring

log = structlog.get_logger()

# A firing is silent once it has been due longer than any lease, sweep and retry pause together.
SILENT_AFTER_MS = 60_000
COUNTED_AT_MOST = 10_000
# Later than any certificate or key expires, ms UTC.
ENDLESS_MS = 2**53
# Prometheus gives a scrape 10 s by default. A frozen part takes its own time-out, SQL up to 10 s.
READ_WITHIN_S = 5.0


def add_metrics(app: OpenAPI, wiring: Callable[[], Wiring]) -> None:
    """Serve `GET /metrics`; any API process answers for all. Figures not read within `READ_WITHIN_S` are left out."""
    last_tick = LastTick(wiring)
    sources = {
        "wangtimer_sql_up": Probe(lambda: _of_sql(wiring())),
        "wangtimer_store_up": Probe(lambda: _of_store(wiring(), last_tick)),
        "wangtimer_broker_up": Probe(lambda: _of_broker(wiring())),
    }

    def metrics() -> Response:
        return Response(_exposition(sources), content_type=CONTENT_TYPE_LATEST)

    app.add_url_rule("/metrics", view_func=metrics)


class _Collected(Collector):
    """Figures from elsewhere. A counter of this process would seem to start with this scrape."""

    def __init__(self, figures: list[Metric]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        return self._figures


def _exposition(sources: dict[str, Probe[list[Metric]]]) -> bytes:
    """Return as text the figures of the sources that answer in time, and for each source whether it did."""
    asked = {up: probe.ask() for up, probe in sources.items()}
    wait(asked.values(), READ_WITHIN_S)
    figures: list[Metric] = []
    for up, answer in asked.items():
        source_figures = _told(up, answer)
        figures.append(
            GaugeMetricFamily(up, "1: it answered; 0: its figures are left out", source_figures is not None)
        )
        figures += source_figures or []
    registry = CollectorRegistry()
    registry.register(_Collected(figures))
    return generate_latest(registry)


def _told(source: str, answer: Future[list[Metric]]) -> list[Metric] | None:
    """Return a source's figures; None where they could not be read in time."""
    if not answer.done():
        log.warning("figures_unread", source=source, error="no answer in time")
        return None
    error = answer.exception()
    if error is None:
        return answer.result()
    # The text of any other error may hold a statement's values.
    said = str(error) if isinstance(error, StoreAway) else type(error).__name__
    log.warning("figures_unread", source=source, error=said)
    return None


def _of_sql(wiring: Wiring) -> list[Metric]:
    now = _now_ms(wiring.clock)
    if now is None:
        wiring.check_sql()
        return []
    overdue = wiring.firings.overdue(now - SILENT_AFTER_MS, COUNTED_AT_MOST)
    unplanned = wiring.timers.first_unplanned()
    ending = wiring.client_certificates.ending(ENDLESS_MS, 1)
    ending_keys = wiring.api_keys.ending(now + 1, ENDLESS_MS, 1)
    oldest_s = 0.0 if overdue.oldest_due_at is None else (now - overdue.oldest_due_at) / 1_000
    return [
        GaugeMetricFamily(
            "wangtimer_overdue_firings",
            f"Firings due over {SILENT_AFTER_MS // 1_000} s ago without an outcome (counted up to {COUNTED_AT_MOST}); "
            "not those that wait for a target, a limit or a pause",
            overdue.number,
        ),
        GaugeMetricFamily(
            "wangtimer_oldest_overdue_seconds", "How long the oldest overdue firing has been due", oldest_s
        ),
        GaugeMetricFamily(
            "wangtimer_pauses", "What operators paused and have not let go on", wiring.pauses.count()
        ),
        GaugeMetricFamily(
            "wangtimer_planning_lag_seconds",
            "How long the oldest moment that is not planned yet has been due",
            0.0 if unplanned is None else max(0, now - unplanned) / 1_000,
        ),
        GaugeMetricFamily(
            "wangtimer_purge_lag_seconds",
            "For how long the oldest settled firing has been past its retention",
            purge_lag_ms(wiring, now) / 1_000,
        ),
        GaugeMetricFamily(
            "wangtimer_client_certificate_seconds_left",
            "Until the first client certificate of an app expires, below 0 once it has; +Inf where no app has one",
            (ending[0].expires_at - now) / 1_000 if ending else inf,
        ),
        GaugeMetricFamily(
            "wangtimer_api_key_seconds_left",
            "Until the first API key expires that has not yet; +Inf where none will",
            ((ending_keys[0].expires_at or 0) - now) / 1_000 if ending_keys else inf,
        ),
        *_added("of_sql", wiring),
    ]


def _added(source: str, wiring: Wiring) -> list[Metric]:
    """Return the figures of features that are read from this source."""
    return [figure for figures_of in added("metrics", source) for figure in figures_of(wiring)]


def purge_lag_ms(wiring: Wiring, now: int) -> int:
    """Return for how long the oldest settled firing has been past its retention, ms; `now` in ms UTC."""
    kept_since = now - wiring.settings.retention_days * DAY_MS
    oldest = wiring.firings.oldest_settled(kept_since, COUNTED_AT_MOST)
    return 0 if oldest is None else kept_since - oldest


def _now_ms(clock: Clock) -> int | None:
    """Return ms since 1970 by Redis' clock; None where Redis has never told this process the time."""
    try:
        return int(clock.now_ms())
    except StoreAway:
        return None


def _of_store(wiring: Wiring, last_tick: LastTick) -> list[Metric]:
    fed_until = wiring.window.fed_until()
    held_s = 0.0 if fed_until is None else max(0.0, (fed_until - wiring.clock.now_ms()) / 1_000)
    return [
        GaugeMetricFamily(
            "wangtimer_seconds_since_tick",
            "Since a scheduler last looked for what is due, which it does each second while a beat runs",
            last_tick.seconds_since(),
        ),
        GaugeMetricFamily(
            "wangtimer_parked_outcomes", "Outcomes that wait in Redis for SQL", wiring.outbox.count()
        ),
        GaugeMetricFamily(
            "wangtimer_parked_share",
            "Share of WANGTIMER_OUTBOX_MB in use: from 0.5 on arming slows down, at 1 nothing is armed",
            wiring.outbox.bytes() / (wiring.settings.outbox_mb * 1_000_000),
        ),
        _memory(wiring.store_memory.parts()),
        GaugeMetricFamily(
            "wangtimer_window_seconds",
            "How far ahead Redis holds every planned firing; below WANGTIMER_WINDOW_S while it refills after a loss",
            held_s,
        ),
        GaugeMetricFamily(
            "wangtimer_target_waiting_firings",
            "Firings that wait in Redis for a place at their target, or for their app's share of all places",
            wiring.lanes.waiting_for_targets(),
        ),
        GaugeMetricFamily(
            "wangtimer_throttled_firings",
            "Firings that wait in Redis for a limit of calls, of an app or a target host",
            wiring.lanes.throttled(),
        ),
        GaugeMetricFamily(
            "wangtimer_paused_firings",
            "Firings that wait in Redis since an operator paused them",
            wiring.lanes.paused(),
        ),
        GaugeMetricFamily(
            "wangtimer_consumer_groups",
            "Groups with consumers that are connected to a stream",
            wiring.consumers_seen.count(),
        ),
        GaugeMetricFamily(
            "wangtimer_consumers_waiting_share",
            "Share of WANGTIMER_CONSUMERS_WAITING_MB in use by firings that wait for consumers",
            wiring.consumers_seen.waiting_bytes() / (wiring.settings.consumers_waiting_mb * 1_000_000),
        ),
        GaugeMetricFamily(
            "wangtimer_unserved_queues",
            "Own queues of apps for which no callback process is there: what comes due for these apps waits",
            len(wiring.app_queues.unserved()),
        ),
        GaugeMetricFamily(
            "wangtimer_bad_timers",
            f"Timers that a process could not read, judge or plan within {PRESENT_MS // 60_000} min (up to {MOST})",
            wiring.bad_timers.present(),
        ),
        CounterMetricFamily(
            "wangtimer_bad_timer_notes",
            "How often a process noted such a timer, once a minute for each at most",
            wiring.bad_timers.notes(),
        ),
        *_added("of_store", wiring),
    ]


def _memory(parts: Mapping[str, int]) -> Metric:
    figure = GaugeMetricFamily(
        "wangtimer_store_memory_bytes", "What the store's Redis uses its memory for", labels=("part",)
    )
    for part, used in parts.items():
        figure.add_metric((part,), used)
    return figure


def _of_broker(wiring: Wiring) -> list[Metric]:
    # The length is 0 where the broker does not know it.
    wiring.check_broker()
    queues = range(len(wiring.settings.own_queues.names) + 1)
    return [
        GaugeMetricFamily(
            "wangtimer_waiting_chunks",
            "Chunks in the callback queue with most: the common one, or an own queue of apps",
            max(map(wiring.broker.waiting_chunks, queues)),
        )
    ]
