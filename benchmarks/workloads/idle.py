"""Nothing is due: commands a second on both Redis servers, and CPU."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.load import Shot, dues_at, insert_shots
from benchmarks.redis_figures import CommandCounter
from benchmarks.stand import SERVERS, Stand
from benchmarks.workload import Bench, Figure, Measurement, on_one_stand

DAY_MS = 86_400_000
TIMERS = 10_000


@dataclass(frozen=True, slots=True)
class Idle:
    """Ten thousand timers are enabled, all due tomorrow."""

    seconds: int = 20
    name: str = "idle"
    measures: str = "10,000 timers due tomorrow, nothing due now, for 20 s"

    @property
    def figures(self) -> Sequence[Figure]:
        """Commands by MONITOR; CPU of our processes and of the servers, % of a core."""
        return (
            Figure("store_commands_per_s", "/s", at_most=5),
            Figure("broker_commands_per_s", "/s", at_most=30),
            Figure("our_cpu_percent", "% of a core", at_most=3),
            Figure("servers_cpu_percent", "% of a core"),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment."""
        stand = bench.stand()
        seconds = bench.scaled(self.seconds, 5)
        has_timers = False

        def run(running: Stand) -> Measurement:
            nonlocal has_timers
            if not has_timers:
                _insert_timers(running, bench.scaled(TIMERS, 100))
                has_timers = True
            return self._run(running, seconds)

        return on_one_stand(stand, runs, run)

    def _run(self, stand: Stand, seconds: int) -> Measurement:
        it = stand.deployment
        cpu = stand.read_cpu()
        stand.tend_for(seconds)
        used = cpu.until(stand.read_cpu())
        # Separate from the above, as MONITOR costs the servers CPU.
        counters = {
            name: CommandCounter(server.url())
            for name, server in (("store", it.store), ("broker", it.broker))
        }
        stand.tend_for(seconds)
        commands = {f"{name}_commands_per_s": counter.stop() / seconds for name, counter in counters.items()}
        servers_s = sum(used[kind] for kind in SERVERS)
        return commands | {
            "our_cpu_percent": (sum(used.values()) - servers_s) / seconds * 100,
            "servers_cpu_percent": servers_s / seconds * 100,
        }


def _insert_timers(stand: Stand, number: int) -> None:
    tomorrow = int(time.time() * 1_000) + DAY_MS
    dues = dues_at(range(tomorrow, tomorrow + number))
    insert_shots(stand.engine, [Shot(due, stand.target.url) for due in dues])
    # Wait until the sweep has looked at the new timers once.
    stand.tend_for(10)


IDLE = Idle()
