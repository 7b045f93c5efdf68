"""From a thousand to a million enabled timers, always 100/s due: which costs grow with them."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import text

from benchmarks.inside import run_inside
from benchmarks.lateness import percentile
from benchmarks.load import HOUR_MS, Shot, dues_at, insert_shots, spread
from benchmarks.redis_figures import bytes_apart_from_definitions, members_due
from benchmarks.stand import Stand
from benchmarks.workload import PROMISES, Bench, Figure, Measurement

SIZES = (1_000, 10_000, 100_000, 1_000_000)
RATE, SECONDS, TICKS = 100, 10, 5
# At most this many are due within the hour, the rest on a later day, as most timers of a large deployment are.
DUE_WITHIN_THE_HOUR = 100_000
# They come due after the measurement and within the hour that the migrator plans ahead. So all are planned before the
# measurement, as are the 100/s.
NEAR_FROM_MS, NEAR_TO_MS = 15 * 60_000, 55 * 60_000
DAY_MS, DAYS = 24 * HOUR_MS, 30


@dataclass(slots=True)
class Grown:
    """The measurements at each size, and the number of timers so far."""

    figures: dict[str, float] = field(default_factory=dict)
    enabled: int = 0


@dataclass(frozen=True, slots=True)
class Growth:
    """One deployment grows through the sizes."""

    name: str = "growth"
    measures: str = "1k, 10k, 100k, 1M timers enabled (up to 100k due within an hour), 100/s due at random ms"

    @property
    def figures(self) -> Sequence[Figure]:
        """Figures at the largest size compared with the smallest, memory, and the promises over all sizes."""
        return (
            Figure("late_p99_growth", "times", at_most=1.3),
            Figure("commands_growth", "times", at_most=1.3),
            Figure("largest_rss_mb", "MB", at_most=150),
            Figure("redis_bytes_per_pending", "B", at_most=200),
            Figure("sql_bytes_per_pending", "B"),
            *(Figure(f"late_p99_ms.{size}", "ms") for size in SIZES),
            *(Figure(f"tick_p50_ms.{size}", "ms") for size in SIZES),
            *(Figure(f"store_commands_per_s.{size}", "/s") for size in SIZES),
            *PROMISES,
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Grow a fresh deployment `runs` times."""
        for _ in range(runs):
            with bench.stand() as stand:
                yield self._run(stand, bench)

    def _run(self, stand: Stand, bench: Bench) -> Measurement:
        grown = Grown()
        for size in SIZES:
            _grow_to(stand, grown, bench.scaled(size, 100), bench.scaled(DUE_WITHIN_THE_HOUR, 100))
            _measure_at(stand, grown, size)
            if size == DUE_WITHIN_THE_HOUR:
                _measure_bytes(stand, grown)
        smallest, largest = SIZES[0], SIZES[-1]
        figures = grown.figures
        return (
            figures
            | {
                # nginx logs whole milliseconds: below one, a ratio would be noise.
                "late_p99_growth": max(1.0, figures[f"late_p99_ms.{largest}"])
                / max(1.0, figures[f"late_p99_ms.{smallest}"]),
                "commands_growth": figures[f"store_commands_per_s.{largest}"]
                / figures[f"store_commands_per_s.{smallest}"],
                "largest_rss_mb": max(stand.our_rss_mb().values()),
            }
            | {f"rss_mb.{kind}": mb for kind, mb in stand.our_rss_mb().items()}
        )


def _grow_to(stand: Stand, grown: Grown, size: int, within_the_hour: int) -> None:
    """Add timers until `size` are enabled, and plan their firings within the horizon."""
    now = int(time.time() * 1_000)
    near = max(0, min(size, within_the_hour) - grown.enabled)
    far = size - grown.enabled - near
    moments = [now + random.randrange(NEAR_FROM_MS, NEAR_TO_MS) for _ in range(near)]
    moments += [now + DAY_MS + random.randrange(DAYS * DAY_MS) for _ in range(far)]
    insert_shots(stand.engine, [Shot(due, stand.target.url) for due in dues_at(moments)])
    stand.await_plans()
    grown.enabled = size


def _measure_at(stand: Stand, grown: Grown, size: int) -> None:
    """Fire 100/s, then tick; note lateness, the store's commands and the tick."""
    dues = dues_at(spread(stand.start_for(RATE * SECONDS), SECONDS, RATE))
    of_fire = stand.fire([Shot(due, stand.target.url) for due in dues]).figures()
    ticks = sorted(run_inside(stand.environment(), "tick", str(TICKS))["tick_ms"])
    figures = grown.figures
    figures[f"late_p99_ms.{size}"] = of_fire["late_p99_ms"]
    figures[f"our_cpu_us_per_firing.{size}"] = of_fire["our_cpu_us_per_firing"]
    figures[f"store_commands_per_s.{size}"] = of_fire["store_commands_per_s"]
    figures[f"tick_p50_ms.{size}"] = percentile(ticks, 0.5)
    for promise in PROMISES:
        figures[promise.name] = figures.get(promise.name, 0) + of_fire[promise.name]


def _measure_bytes(stand: Stand, grown: Grown) -> None:
    """Note the memory of a pending firing, without definitions: exact in Redis, estimated by the server in SQL."""
    store = stand.deployment.store.url()
    grown.figures["redis_bytes_per_pending"] = bytes_apart_from_definitions(store) / members_due(store)
    size = text(
        "SELECT (data_length + index_length) / table_rows FROM information_schema.tables "
        "WHERE table_schema = DATABASE() AND table_name = 'firing'"
    )
    with stand.engine.connect() as sql:
        sql.execute(text("ANALYZE TABLE firing"))
        grown.figures["sql_bytes_per_pending"] = float(sql.execute(size).scalar_one())


GROWTH = Growth()
