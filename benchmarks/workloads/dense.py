"""Every-second timers at the default settings: Redis' memory, lateness, and the recovery from a flush."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import redis
from sqlalchemy import text

from benchmarks.lateness import percentile
from benchmarks.load import insert_crons
from benchmarks.stand import A_PROCESS_A_CORE, LINGER_S, Stand
from benchmarks.target import Arrival
from benchmarks.workload import Bench, Figure, Measurement
from wangtimer.core.flow.slicing import MINUTE_MS

LOOK_S = 0.5
# Their first moment is this far ahead, as if they were enabled a minute before.
FIRST_IN_MS = 60_000


@dataclass(frozen=True, slots=True)
class Dense:
    """`timers` timers of `period_s`, evenly spread, for `seconds`; then, if wanted, one FLUSHDB.

    With the flush, `timers_more` timers are added, so that planning has work meanwhile.
    """

    name: str
    measures: str
    timers: int
    seconds: int
    bounds: tuple[Figure, ...]
    flushes: bool = False
    period_s: int = 1
    timers_more: int = 0

    @property
    def figures(self) -> Sequence[Figure]:
        """Lateness, memory and planning with this workload's bounds, and losses."""
        own = {figure.name: figure for figure in self.bounds}
        names = {
            "late_p50_ms": "ms",
            "late_p99_ms": "ms",
            "late_max_ms": "ms",
            "planned_s": "s",
            "redis_mb": "MB",
            "our_cpu_percent": "% of a core",
        }
        if self.flushes:
            names |= {
                "minute_back_s": "s",
                "window_back_s": "s",
                "late_after_flush_ms": "ms",
                "pending": "firings",
            }
        if self.timers_more:
            names |= {"planned_meanwhile_s": "s"}
        figures = [own.get(name, Figure(name, unit)) for name, unit in names.items()]
        return (*figures, Figure("lost", "firings", at_most=0, is_strict=True), Figure("duplicates", "calls"))

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on a fresh deployment each time, as planned firings of one run would burden the next."""
        for _ in range(runs):
            with bench.stand(A_PROCESS_A_CORE) as stand:
                yield self._run(stand, bench.scaled(self.timers, 100), bench.scaled(self.seconds, 20))

    def _run(self, stand: Stand, timers: int, seconds: int) -> Measurement:
        watched = Watched(stand)
        first = int(time.time() + FIRST_IN_MS / 1_000) * 1_000
        began_at = time.monotonic()
        self._insert(stand, timers, first)
        watched.until(lambda: not stand.is_left_to_plan(), 600)
        planned_s = time.monotonic() - began_at
        # Firings that come due while timers are still being planned count too.
        watched.until(lambda: time.time() * 1_000 >= first, FIRST_IN_MS)
        start, cpu = first, stand.read_cpu()
        end = max(start, int(time.time()) * 1_000) + seconds * 1_000
        watched.until(lambda: time.time() * 1_000 >= end, seconds + 1)
        used = cpu.until(stand.read_cpu())
        mended: dict[str, float] = (
            self._flush(stand, watched, timers // self.period_s) if self.flushes else {}
        )
        counted_to = int(time.time()) * 1_000 if self.flushes else end
        stand.tend_for(LINGER_S + 5)
        arrivals = stand.target.arrivals()
        calm = [one for one in arrivals if start <= one.due_ms < end]
        late = sorted(one.late_ms for one in calm)
        ours_s = sum(s for kind, s in used.items() if not kind.startswith(("redis", "mariadb", "nginx")))
        since_flush = [one.late_ms for one in arrivals if end <= one.due_ms < counted_to]
        return (
            {
                "late_p50_ms": percentile(late, 0.5),
                "late_p99_ms": percentile(late, 0.99),
                "late_max_ms": late[-1],
                "planned_s": planned_s,
                "redis_mb": watched.most_mb,
                "our_cpu_percent": ours_s / seconds * 100,
            }
            | ({"late_after_flush_ms": max(since_flush)} if since_flush else {})
            | mended
            | _completeness(arrivals, start, counted_to, timers // self.period_s)
        )

    def _insert(self, stand: Stand, timers: int, first: int) -> None:
        """Insert timers whose moments begin at `first` or within a period after it, ms UTC."""
        for second in range(self.period_s):
            moment = first + second * 1_000
            cron = (
                "* * * * * *"
                if self.period_s == 1
                else f"{moment // 1_000 % self.period_s}/{self.period_s} * * * * *"
            )
            insert_crons(stand.engine, cron, timers // self.period_s, stand.target.url, moment)

    def _flush(self, stand: Stand, watched: "Watched", rate: int) -> dict[str, float]:
        """Flush the store; return the times until it holds the next 60 s, the whole window, and all is planned.

        Firings are added in the order of their moments: the 60 s are there once the last second has `rate` firings.
        """
        url = stand.deployment.store.url()
        with stand.engine.connect() as sql:
            pending = sql.execute(text("SELECT COUNT(*) FROM firing WHERE status = 'pending'")).scalar_one()
        with closing(redis.Redis.from_url(url, decode_responses=True)) as client:
            window_end = _fed(client)
            flushed_at = time.time() * 1_000
            client.flushdb()
            if self.timers_more:
                # After the firings counted as due, so these cannot count as lost.
                self._insert(stand, self.timers_more, int(flushed_at) // 60_000 * 60_000 + 20 * 60_000)
            marks = watched.first_seen(
                {
                    "minute_back_s": lambda: _due_in_second(client, flushed_at + 59_000) >= rate,
                    "window_back_s": lambda: _fed(client) >= window_end,
                }
                | ({"planned_meanwhile_s": lambda: not stand.is_left_to_plan()} if self.timers_more else {}),
                600,
            )
        return {"pending": pending} | marks


class Watched:
    """Lets a stand run, and records the most memory that its Redis servers used together, MB."""

    def __init__(self, stand: Stand) -> None:
        self._stand = stand
        self._urls = [stand.deployment.store.url(), stand.deployment.broker.url()]
        self.most_mb = 0.0

    def until(self, is_over: Callable[[], bool], most_s: float) -> float:
        """Watch the memory until `is_over`; return how long that took, s. Raises `TimeoutError`."""
        began_at = time.monotonic()
        while not is_over():
            if time.monotonic() - began_at > most_s:
                raise TimeoutError(f"not over within {most_s:.0f} s")
            self.most_mb = max(self.most_mb, sum(map(_used_mb, self._urls)))
            self._stand.tend_for(LOOK_S)
        return time.monotonic() - began_at

    def first_seen(self, marks: Mapping[str, Callable[[], bool]], most_s: float) -> dict[str, float]:
        """Watch until each mark has been true once; return the seconds until each was. Raises `TimeoutError`."""
        began_at, seen = time.monotonic(), dict[str, float]()

        def are_all_seen() -> bool:
            for name, is_true in marks.items():
                if name not in seen and is_true():
                    seen[name] = time.monotonic() - began_at
            return len(seen) == len(marks)

        self.until(are_all_seen, most_s)
        return seen


def _used_mb(url: str) -> float:
    with closing(redis.Redis.from_url(url)) as client:
        return float(client.info("memory")["used_memory"]) / 1e6


def _due_in_second(client: "redis.Redis", moment: float) -> int:
    """Return how many firings Redis holds of the second of this moment, ms UTC."""
    first = int(moment) // 1_000 * 1_000
    slices = client.scan_iter(f"wt:{{{first // MINUTE_MS}:*}}:due", count=10_000)
    return sum(client.zcount(str(name), first, first + 999) for name in slices)


def _fed(client: "redis.Redis") -> int:
    return int(client.get("wt:{agenda}:fed") or 0)


def _completeness(arrivals: Sequence[Arrival], start: int, end: int, timers: int) -> dict[str, float]:
    """Count the firings due from `start` to `end` (ms UTC) that never came, and that came more than once."""
    seen = Counter((one.due_ms, one.id) for one in arrivals if start <= one.due_ms < end)
    wanted = timers * ((end - start) // 1_000)
    return {"lost": wanted - len(seen), "duplicates": seen.total() - len(seen)}


DENSE = Dense(
    "dense",
    "1,000 timers of one second for 60 s at the shipped settings, then one FLUSHDB",
    timers=1_000,
    seconds=60,
    bounds=(
        Figure("late_p99_ms", "ms", at_most=90),
        Figure("planned_s", "s", at_most=30),
        Figure("redis_mb", "MB", at_most=250),
        Figure("minute_back_s", "s", at_most=10),
        Figure("window_back_s", "s", at_most=400),
    ),
    flushes=True,
)
DENSE_5000 = Dense(
    "dense5000",
    "5,000 timers of one second for 10 minutes at the shipped settings",
    timers=5_000,
    seconds=600,
    bounds=(Figure("late_p99_ms", "ms", at_most=200), Figure("redis_mb", "MB", at_most=300)),
)
DENSE_10000 = Dense(
    "dense10000",
    "10,000 timers of one second for 2 minutes at the shipped settings",
    timers=10_000,
    seconds=120,
    bounds=(Figure("late_max_ms", "ms", at_most=1_000), Figure("redis_mb", "MB", at_most=500)),
)
FLUSHED = Dense(
    "flushed",
    "84,000 timers of one minute (1,400 due a second, ten million pending) for 60 s; one FLUSHDB, 6,000 more",
    timers=84_000,
    seconds=60,
    bounds=(
        Figure("late_p99_ms", "ms", at_most=90),
        Figure("minute_back_s", "s", at_most=10),
        Figure("window_back_s", "s", at_most=75),
    ),
    flushes=True,
    period_s=60,
    timers_more=6_000,
)
