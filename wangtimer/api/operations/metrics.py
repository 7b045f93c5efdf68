"""What a Prometheus reads: firings that are long due and have no outcome, parked outcomes, queues."""

from collections.abc import Callable, Iterable

from flask import Response
from flask_openapi.openapi import OpenAPI
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from wangtimer.store.redis.bad_record import MOST, PRESENT_MS
from wangtimer.wiring import Wiring

# A firing is silent once it has been due for longer than any lease, sweep and retry pause together.
SILENT_AFTER_MS = 60_000
COUNTED_AT_MOST = 10_000


def add_metrics(app: OpenAPI, wiring: Callable[[], Wiring]) -> None:
    """Serve `GET /metrics`; its figures are those of the stores, so any one API process speaks for all."""

    def metrics() -> Response:
        return Response(exposition(wiring()), content_type=CONTENT_TYPE_LATEST)

    app.add_url_rule("/metrics", view_func=metrics)


def exposition(wiring: Wiring) -> bytes:
    """Read the stores and return the figures as text; raises `StoreAway`."""
    registry = CollectorRegistry()
    now = int(wiring.clock.now_ms())
    overdue = wiring.firings.overdue(now - SILENT_AFTER_MS, COUNTED_AT_MOST)
    oldest_s = 0.0 if overdue.oldest_due_at is None else (now - overdue.oldest_due_at) / 1_000
    _gauge(
        registry,
        "wangtimer_overdue_firings",
        f"Firings due over {SILENT_AFTER_MS // 1_000} s ago without an outcome (counted up to {COUNTED_AT_MOST})",
        overdue.number,
    )
    _gauge(registry, "wangtimer_oldest_overdue_seconds", "How long the oldest of them has been due", oldest_s)
    _gauge(
        registry,
        "wangtimer_parked_outcomes",
        "Outcomes that wait in Redis for SQL",
        wiring.outbox.count(),
    )
    _gauge(
        registry,
        "wangtimer_parked_share",
        "What they take of WANGTIMER_OUTBOX_MB: from 0.5 on arming slows down, at 1 nothing is armed",
        wiring.outbox.bytes() / (wiring.settings.outbox_mb * 1_000_000),
    )
    fed_until = wiring.window.fed_until()
    held_s = 0.0 if fed_until is None else max(0.0, (fed_until - now) / 1_000)
    _gauge(
        registry,
        "wangtimer_window_seconds",
        "How far ahead Redis holds every firing: under WANGTIMER_WINDOW_S while it is filled again after a loss",
        held_s,
    )
    _gauge(
        registry,
        "wangtimer_waiting_chunks",
        "Chunks in the callback queue",
        wiring.broker.waiting_chunks(),
    )
    _gauge(
        registry,
        "wangtimer_bad_timers",
        f"Timers that a process could not read, judge or plan within {PRESENT_MS // 60_000} min (up to {MOST})",
        wiring.bad_timers.present(),
    )
    notes = CounterMetricFamily(
        "wangtimer_bad_timer_notes",
        "How often a process noted such a timer, once a minute for each at most",
        wiring.bad_timers.notes(),
    )
    registry.register(_Collected(notes))
    return generate_latest(registry)


class _Collected(Collector):
    """A counter that stands elsewhere: one of this process would say that it began with this look."""

    def __init__(self, family: CounterMetricFamily) -> None:
        self._family = family

    def collect(self) -> Iterable[CounterMetricFamily]:
        return [self._family]


def _gauge(registry: CollectorRegistry, name: str, meaning: str, value: float) -> None:
    Gauge(name, meaning, registry=registry).set(value)
