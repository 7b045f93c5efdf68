"""Only the purge: settled firings of one-shots that are all past their retention, deleted by one migrate process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from benchmarks.inside import run_inside
from benchmarks.processes import read_cpu
from benchmarks.stand import servers_alone
from benchmarks.workload import Bench, Figure, Measurement
from wangtimer.base.settings import Settings
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.upgrade import add_missing, patient_connection

# The firings that 200 million a day have in so many ms.
A_DAY = 200_000_000
ROWS_A_STATEMENT = 100_000
# Of each so many rows one has another status: an unsettled one is passed over, and stays.
UNSETTLED_EVERY = 10_000


@dataclass(frozen=True, slots=True)
class Purge:
    """Only the servers and one process run; nothing fires."""

    firings: int = 1_000_000
    name: str = "purge"
    measures: str = (
        "1,000,000 settled firings past their retention, as 200 million one-shots a day leave them; "
        "one purge after another until none is left"
    )

    @property
    def figures(self) -> Sequence[Figure]:
        """The rate, what it costs, and how far it is behind in the end."""
        return (
            Figure("rows_per_s", "/s", at_least=12_000),
            Figure("migrate_cpu_us_per_row", "µs"),
            Figure("mariadb_cpu_us_per_row", "µs"),
            Figure("lag_s_before", "s"),
            Figure("lag_s_after", "s", at_most=0, is_strict=True),
            Figure("wrongly_kept_or_gone", "rows", at_most=0, is_strict=True),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Purge new servers each time."""
        for _ in range(runs):
            with TemporaryDirectory(prefix="purge-", dir=bench.directory) as directory:
                yield self._run(Path(directory), bench.scaled(self.firings, 1_000))

    def _run(self, directory: Path, firings: int) -> Measurement:
        with servers_alone(directory, "purge") as (told, servers):
            url = told["WANGTIMER_DATABASE_URL"]
            unsettled = _fill(url, firings)
            cpu = read_cpu(servers)
            took = run_inside(told, "purge")
            used = cpu.until(read_cpu(servers))
            rows = firings - unsettled
            with create_engine(url, poolclass=NullPool).connect() as left:
                kept = left.execute(text("SELECT COUNT(*) FROM firing")).scalar_one()
            return {
                "rows": rows,
                "rows_per_s": rows / took["seconds"],
                "migrate_cpu_us_per_row": took["cpu_s"] / rows * 1e6,
                "mariadb_cpu_us_per_row": used["mariadb"] / rows * 1e6,
                "lag_s_before": took["lag_s_before"],
                "lag_s_after": took["lag_s_after"],
                "wrongly_kept_or_gone": abs(kept - unsettled) + abs(took["purged"] - rows),
            }


def _fill(url: str, number: int) -> int:
    """Write so many firings, the last of them an hour past its retention; return how many are not settled."""
    ended = int(time() * 1_000) - Settings().retention_days * DAY_MS - 3_600_000
    columns = "fire_at, timer_id, bucket, kind, status, due_at, attempt, first_sent_at, sent_at, http_status"
    with patient_connection(url) as sql:
        list(add_missing(sql))
        for first in range(0, number, ROWS_A_STATEMENT):
            last = min(first + ROWS_A_STATEMENT, number) - 1
            moment = f"{ended} - ({number} - seq) * {DAY_MS} DIV {A_DAY}"
            status = f"IF(seq % {UNSETTLED_EVERY} = 1, 'pending', 'succeeded')"
            # MariaDB's own table of numbers.
            rows = f"SELECT {moment}, seq + 1, seq % 8, 'scheduled', {status}, {moment}, 1, {moment}, {moment}, 204"
            sql.execute(text(f"INSERT INTO firing ({columns}) {rows} FROM seq_{first}_to_{last}"))
    return len(range(1, number, UNSETTLED_EVERY))


PURGE = Purge()
