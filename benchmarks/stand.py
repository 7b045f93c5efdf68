"""The stand of a workload: the whole deployment, the target, and the measuring of both."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from benchmarks.lateness import Punctuality
from benchmarks.load import Shot, dues_at, insert_shots, spread
from benchmarks.processes import CpuReading, largest_rss_mb, read_cpu
from benchmarks.redis_figures import commands_processed
from benchmarks.target import LINES_WITHIN_S, Arrival, Target
from tests.e2e.deployment import PROCESSES, Deployment
from tests.servers.mariadb import MariaDBServer
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.base.settings import ENV_PREFIX, Settings

# The tests' MariaDB is small so that it starts fast. This one has the memory that a DBA would give it. Commits stay
# durable.
MARIADB_ROOM = {"innodb_buffer_pool_size": 1 << 30, "innodb_log_file_size": 512 << 20}


@contextmanager
def servers_alone(directory: Path, database: str) -> Iterator[tuple[dict[str, str], dict[str, list[int]]]]:
    """Run MariaDB and a Redis for one process that is measured; yield its settings, and the servers' pids by name."""
    for name in ("sql", "store"):
        (directory / name).mkdir()
    with MariaDBServer(directory / "sql") as sql, RedisServer(redis_program(), directory / "store") as store:
        for name, value in MARIADB_ROOM.items():
            sql.run(f"SET GLOBAL {name} = {value}")
        told = {"WANGTIMER_DATABASE_URL": sql.create_database(database), "WANGTIMER_STORE_URL": store.url()}
        yield told, {"mariadb": [sql.process.pid], "redis": [store.process.pid]}


# As the README recommends for two cores; the workload `scale` shows other numbers.
A_PROCESS_A_CORE = {"callback": 2}
SERVERS = ("redis-store", "redis-broker", "mariadb", "nginx")

# How long making timers takes: a start, and a time for each (rows, plan, Redis). Once a larger load has shown its real
# time, that is used with a margin.
MAKING_MS, MAKING_MS_A_TIMER, TELLING_LOAD, MAKING_ROOM = 5_000, 0.8, 1_000, 1.5
# After a (re)connect everything is verified in SQL for this long. Workloads begin after that.
SETTLED_IN_S = 12.0
WARM_SECONDS, WARM_RATE, WARM_TRIES = 3, 100, 3
ARRIVE_WITHIN_S = 60.0
OUTCOMES_WITHIN_S = 60.0
# How long to wait for second deliveries of the last calls, and for lines that nginx buffers.
LINGER_S = 1.0 + LINES_WITHIN_S
# Firings are armed 1.5 s before their moment at the earliest, so counting begins before that.
EARLIEST_LOOK_MS = 1_600
LOOK_S = 0.1
PLANNED_WITHIN_S = 300.0
# After a plan's commit the migrator tells Redis, which is not part of the load. It has finished when it uses less than
# this share of a core.
QUIET_S, QUIET_SHARE = 0.5, 0.1


class MadeTooLate(Exception):
    """The timers were made after the first should have been armed, so their lateness would come from making them."""


@dataclass(frozen=True, slots=True)
class Fired:
    """The result of a load: arrivals, CPU seconds by kind of process, and the last outcome row (ms UTC, to 0.1 s)."""

    shots: Sequence[Shot]
    arrivals: Sequence[Arrival]
    cpu_s: Mapping[str, float]
    store_commands_per_s: float
    outcomes_at: float
    not_succeeded: int

    def figures(self) -> dict[str, float]:
        """Return lateness, losses and CPU over all shots."""
        punctual = Punctuality.of([shot.due.id for shot in self.shots], self.arrivals)
        others = {
            "not_succeeded": self.not_succeeded,
            "store_commands_per_s": self.store_commands_per_s,
        }
        return punctual.figures() | others | self.cpu_figures()

    def cpu_figures(self) -> dict[str, float]:
        """Return CPU seconds per 1,000 firings by kind of process, and µs per firing of all our processes."""
        number = len(self.shots)
        ours_s = sum(seconds for kind, seconds in self.cpu_s.items() if kind in PROCESSES)
        each = {f"cpu_s_per_1000.{kind}": s / number * 1_000 for kind, s in self.cpu_s.items()}
        return {"our_cpu_us_per_firing": ours_s / number * 1e6} | each


class Stand:
    """`with Stand(directory, target, {"callback": 2}, step_s=1800) as stand: stand.fire(shots)`."""

    def __init__(
        self,
        directory: Path,
        target: Target,
        copies: Mapping[str, int] | None = None,
        **settings: str | int,
    ) -> None:
        self.target = target
        self.directory = directory
        self.deployment = Deployment(directory, copies, **settings)
        self._stack = ExitStack()
        self._making_ms_a_timer = MAKING_MS_A_TIMER

    def __enter__(self) -> "Stand":
        with ExitStack() as started:
            started.callback(shutil.rmtree, self.directory, ignore_errors=True)
            started.enter_context(self.deployment)
            self._prepare()
            # All went well: the started processes stay until the end.
            self._stack = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start_for(self, timers: int) -> int:
        """Return the full second (ms UTC) at which a load of this many timers can begin."""
        ready_at = time.time() * 1_000 + MAKING_MS + timers * self._making_ms_a_timer
        return int(ready_at // 1_000 + 1) * 1_000

    def make(self, shots: Sequence[Shot]) -> None:
        """Insert the timers, and wait until they are planned."""
        began_at = time.monotonic()
        insert_shots(self.engine, shots)
        self.await_plans()
        if len(shots) >= TELLING_LOAD:
            self._making_ms_a_timer = MAKING_ROOM * (time.monotonic() - began_at) * 1_000 / len(shots)

    def await_plans(self) -> None:
        """Return once the deployment's migrator has planned all firings due within a step."""
        ends_at = time.monotonic() + PLANNED_WITHIN_S
        while self.is_left_to_plan():
            if time.monotonic() > ends_at:
                raise TimeoutError(f"the migrator left timers unplanned for {PLANNED_WITHIN_S:.0f} s")
            self.tend_for(LOOK_S)

    def fire(self, shots: Sequence[Shot], meanwhile: Callable[[], None] = lambda: None) -> Fired:
        """Make the timers, let them fire while `meanwhile` runs, and wait for arrivals and rows.

        Raises `MadeTooLate` where making them took too long.
        """
        moments = [shot.due.at_ms for shot in shots]
        start, end = min(moments), max(moments)
        self.target.forget()
        self.make(shots)
        if time.time() * 1_000 > start - EARLIEST_LOOK_MS:
            raise MadeTooLate(f"making {len(shots)} timers took too long")
        self._let_migrator_end((start - EARLIEST_LOOK_MS) / 1_000)
        cpu, commands, began_at = self.read_cpu(), self._commands(), time.monotonic()
        meanwhile()
        self.tend_for(end / 1_000 - time.time())
        self._await_arrivals(len(shots))
        outcomes_at = self._await_outcomes(start, end)
        used = cpu.until(self.read_cpu())
        commands_per_s = (self._commands() - commands) / (time.monotonic() - began_at)
        self.tend_for(LINGER_S)
        return Fired(
            shots,
            self.target.arrivals(),
            used,
            commands_per_s,
            outcomes_at,
            self._not_succeeded(start, end),
        )

    def pids(self) -> dict[str, list[int]]:
        """Return the process ids by kind: the Procfile's names without numbers, and the servers'."""
        kinds: dict[str, list[int]] = {}
        for name, child in self.deployment.supervisor.children().items():
            kinds.setdefault(name.rstrip("0123456789"), []).append(child.pid)
        it = self.deployment
        servers = (it.store.process.pid, it.broker.process.pid, it.sql.process.pid, self.target.pid)
        return kinds | {kind: [pid] for kind, pid in zip(SERVERS, servers, strict=True)}

    def read_cpu(self) -> CpuReading:
        """Return the CPU seconds used so far."""
        return read_cpu(self.pids())

    def our_rss_mb(self) -> dict[str, float]:
        """Return the memory of the largest process of each of our kinds, MB."""
        return {kind: mb for kind, mb in largest_rss_mb(self.pids()).items() if kind in PROCESSES}

    def tend_for(self, seconds: float) -> None:
        """Let it run."""
        if seconds > 0:
            self.deployment.tend_for(seconds)

    def environment(self) -> dict[str, str]:
        """Return the environment of the deployment's processes."""
        return self.deployment.environment(int(self.deployment.api_url.rpartition(":")[2]))

    def _prepare(self) -> None:
        """Give SQL its memory, and return once every process is warm and has long been connected to Redis."""
        began = time.monotonic()
        for name, value in MARIADB_ROOM.items():
            self.deployment.sql.run(f"SET GLOBAL {name} = {value}")
        self.engine = create_engine(self.deployment.database_url, poolclass=NullPool)
        told = {name.removeprefix(ENV_PREFIX).lower(): value for name, value in self.environment().items()}
        self._step_s = Settings.model_validate(told).step_s
        self._warm_up()
        self.tend_for(SETTLED_IN_S - (time.monotonic() - began))

    def _warm_up(self) -> None:
        """Let every process open its connections and load its scripts, as the first time is slow."""
        for _ in range(WARM_TRIES):
            moments = spread(self.start_for(WARM_SECONDS * WARM_RATE), WARM_SECONDS, WARM_RATE)
            with suppress(MadeTooLate):
                self.fire([Shot(due, self.target.url) for due in dues_at(moments)])
                return

    def is_left_to_plan(self) -> bool:
        """Tell whether a timer is still to be planned further ahead."""
        horizon = int((time.time() + self._step_s) * 1_000)
        unplanned = text("SELECT 1 FROM timer WHERE status = 'enabled' AND plan_by <= :horizon LIMIT 1")
        with self.engine.connect() as sql:
            return sql.execute(unplanned, {"horizon": horizon}).first() is not None

    def _let_migrator_end(self, latest: float) -> None:
        """Wait until the deployment's migrator rests, at most until this moment (s UTC)."""
        used_s = QUIET_S
        while used_s > QUIET_SHARE * QUIET_S and (left_s := latest - time.time()) > 0:
            before = self.read_cpu()
            self.tend_for(min(QUIET_S, left_s))
            used_s = before.until(self.read_cpu())["migrate"]

    def _commands(self) -> int:
        return commands_processed(self.deployment.store.url())

    def _await_arrivals(self, number: int) -> None:
        arrived, ends_at = self.target.watch(), time.monotonic() + ARRIVE_WITHIN_S
        tend_until = self.deployment.supervisor.tend_until
        tend_until(lambda: arrived() >= number or time.monotonic() > ends_at)

    def _await_outcomes(self, start: int, end: int) -> float:
        """Return the moment from which no firing of the load was pending; infinity where one stays pending."""
        pending = text(
            "SELECT 1 FROM firing FORCE INDEX (firing_due) "
            "WHERE status = 'pending' AND due_at BETWEEN :start AND :end LIMIT 1"
        )
        ends_at = time.monotonic() + OUTCOMES_WITHIN_S
        while time.monotonic() < ends_at:
            with self.engine.connect() as sql:
                if sql.execute(pending, {"start": start, "end": end + 60_000}).first() is None:
                    return time.time() * 1_000
            self.tend_for(LOOK_S)
        return float("inf")

    def _not_succeeded(self, start: int, end: int) -> int:
        others = text(
            "SELECT COUNT(*) FROM firing WHERE fire_at BETWEEN :start AND :end AND status <> 'succeeded'"
        )
        with self.engine.connect() as sql:
            return int(sql.execute(others, {"start": start, "end": end}).scalar_one())
