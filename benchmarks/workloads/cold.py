"""Hosts that were never called before, far away and over TLS: how late the first byte of a request leaves."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.first_bytes import FirstBytes
from benchmarks.lateness import percentile
from benchmarks.load import Shot, dues_at, spread
from benchmarks.stand import A_PROCESS_A_CORE, Stand
from benchmarks.target import DOMAIN
from benchmarks.workload import PROMISES, Bench, Figure, Measurement, on_one_stand
from tests.callback.name_server import NameServer
from tests.servers.distant import HOST, Distant

RATE = 50
ONE_WAY_MS, LOOK_UP_MS = 30, 20
# Idle connections are closed after 4 s, the default, and a look a second finds them.
CLOSED_WITHIN_S = 6.0


@dataclass(frozen=True, slots=True)
class Cold:
    """Each firing calls a host of its own, once; the relay in front of the target holds back each byte."""

    hosts: int = 500
    name: str = "cold"

    @property
    def measures(self) -> str:
        """What is done."""
        return (
            f"{self.hosts} TLS hosts called once each, {RATE}/s at random ms; a relay adds {ONE_WAY_MS} ms each way, a "
            f"look-up takes {LOOK_UP_MS} ms"
        )

    @property
    def figures(self) -> Sequence[Figure]:
        """The lateness of the first byte: when the kernel had it, before the relay held it back."""
        return (
            Figure("late_p50_ms", "ms"),
            Figure("late_p99_ms", "ms", at_most=5),
            Figure("late_max_ms", "ms"),
            Figure("connections_per_firing", "ratio", at_most=1, is_strict=True),
            Figure("left_open", "connections", at_most=0, is_strict=True),
            *PROMISES,
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment; each run has hosts of its own."""
        hosts = bench.scaled(self.hosts, 50)
        first = FirstBytes(re.compile(rb"h(\d+)\." + re.escape(DOMAIN.encode())))
        with (
            NameServer(takes_s=LOOK_UP_MS / 1_000) as names,
            Distant(bench.target.tls_port, ONE_WAY_MS / 1_000, first.hear) as relay,
        ):
            stand = bench.stand(
                A_PROCESS_A_CORE,
                callback_name_servers=names.address,
                callback_ca_file=str(bench.target.authority),
            )
            yield from on_one_stand(stand, runs, lambda stand: self._run(stand, names, relay, first, hosts))

    def _run(
        self, stand: Stand, names: NameServer, relay: Distant, first: FirstBytes, hosts: int
    ) -> Measurement:
        dues = dues_at(spread(stand.start_for(hosts), hosts / RATE, RATE))
        called = {due: f"h{due.id}.{DOMAIN}" for due in dues}
        names.addresses.update((name, [HOST]) for name in called.values())
        before = relay.accepted
        fired = stand.fire(
            [Shot(due, f"https://{name}:{relay.port}/callback") for due, name in called.items()]
        )
        stand.tend_for(CLOSED_WITHIN_S)
        left = first.left()
        late = sorted(left[str(due.id)] - due.at_ms for due in dues if str(due.id) in left)
        return fired.figures() | {
            "late_p50_ms": percentile(late, 0.5),
            "late_p99_ms": percentile(late, 0.99),
            "late_p999_ms": percentile(late, 0.999),
            "late_max_ms": percentile(late, 1.0),
            "early": sum(each < 0 for each in late),
            "lost": len(dues) - len(late),
            "connections_per_firing": (relay.accepted - before) / len(dues),
            "left_open": relay.open,
        }


COLD = Cold()
