"""Only planning: every-minute timers, an hour ahead, into SQL and Redis by one migrate process."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from benchmarks.inside import run_inside
from benchmarks.load import insert_crons
from benchmarks.processes import read_cpu
from benchmarks.stand import servers_alone
from benchmarks.workload import Bench, Figure, Measurement
from wangtimer.store.sql.database import Database

# Two steps are the horizon: one hour.
STEP_S = 1_800


@dataclass(frozen=True, slots=True)
class Plan:
    """Only the servers and one planning process run; nothing fires."""

    timers: int = 10_000
    name: str = "plan"
    measures: str = "10,000 timers, every minute, one hour ahead: 600,000 firings (--scale 10: 6,000,000)"

    @property
    def figures(self) -> Sequence[Figure]:
        """The rate, and what it costs."""
        return (
            Figure("firings_per_s", "/s", at_least=70_000),
            Figure("migrate_cpu_us_per_firing", "µs"),
            Figure("mariadb_cpu_us_per_firing", "µs"),
            Figure("redis_cpu_us_per_firing", "µs"),
            Figure("with_gaps", "timers", at_most=0, is_strict=True),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Plan on new servers each time."""
        for _ in range(runs):
            with TemporaryDirectory(prefix="plan-", dir=bench.directory) as directory:
                yield self._run(Path(directory), bench.scaled(self.timers, 100))

    def _run(self, directory: Path, timers: int) -> Measurement:
        with servers_alone(directory, "plan") as (told, servers):
            url = told["WANGTIMER_DATABASE_URL"]
            _make_timers(url, timers)
            cpu = read_cpu(servers)
            took = run_inside(told | {"WANGTIMER_STEP_S": str(STEP_S)}, "plan")
            used = cpu.until(read_cpu(servers))
            rows, whole = _planned(url)
            return {
                "firings": rows,
                "firings_per_s": rows / took["seconds"],
                "migrate_cpu_us_per_firing": took["cpu_s"] / rows * 1e6,
                "mariadb_cpu_us_per_firing": used["mariadb"] / rows * 1e6,
                "redis_cpu_us_per_firing": used["redis"] / rows * 1e6,
                "with_gaps": timers - whole,
            }


def _make_timers(url: str, number: int) -> None:
    with closing(Database(url, pool_size=1)) as database:
        database.create_tables()
        next_minute = (int(time()) // 60 + 1) * 60_000
        insert_crons(database.engine, "* * * * *", number, "http://127.0.0.1:9/", next_minute)


def _planned(url: str) -> tuple[int, int]:
    """Return the number of firings, and of timers that have one for each minute of at least a step."""
    spans = (
        "SELECT COUNT(*) AS firings, (MAX(fire_at) - MIN(fire_at)) / 60000 + 1 AS minutes "
        "FROM firing GROUP BY timer_id"
    )
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as sql:
        rows = sql.execute(
            text(
                f"SELECT SUM(firings), SUM(firings = minutes AND minutes >= :least) FROM ({spans}) AS spans"
            ),
            {"least": STEP_S // 60},
        ).one()
    return int(rows[0]), int(rows[1])


PLAN = Plan()
