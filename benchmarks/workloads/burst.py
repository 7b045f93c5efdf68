"""All calls due at one moment: how fast they drain, compared with a bare CurlMulti loop and BullMQ in the same run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.engine_drain import bare_loop
from benchmarks.lateness import drain_rate
from benchmarks.load import Shot, dues_at
from benchmarks.peers import BEST, Peer
from benchmarks.peers.measurement import measure, running
from benchmarks.stand import A_PROCESS_A_CORE, Stand
from benchmarks.workload import PROMISES, Bench, Figure, Measurement

RIVAL = "BullMQ"
# How many calls a second it accepts at least, before the moment.
RIVAL_TAKES_IN, RIVAL_LEAD_MS, RIVAL_PATIENCE_S = 10_000, 3_000, 60.0


def drain(stand: Stand, number: int) -> Measurement:
    """Fire `number` at one moment; return the rate to the last arrival and the time to the last outcome row."""
    moment = stand.start_for(number)
    fired = stand.fire([Shot(due, stand.target.url) for due in dues_at([moment] * number)])
    outcomes_s = (fired.outcomes_at - moment) / 1_000
    return fired.figures() | {
        "calls_per_s": drain_rate(moment, fired.arrivals),
        "last_outcome_s": outcomes_s,
        "outcomes_per_s": number / outcomes_s,
    }


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst. The others run before the deployment starts, so each has the machine for itself."""

    number: int = 100_000
    name: str = "burst"
    measures: str = (
        "100,000 due at one moment, two callback processes, SQL outcome rows written; bare CurlMulti and BullMQ "
        "in the same run"
    )

    @property
    def figures(self) -> Sequence[Figure]:
        """Rates, ratios, and the promises."""
        return (
            Figure("calls_per_s", "/s", at_least=18_000),
            Figure("last_outcome_s", "s"),
            Figure("of_bare_loop", "ratio", at_least=0.35),
            Figure("of_bullmq", "ratio", at_least=1.8),
            Figure("bare_calls_per_s", "/s", more_is_better=True),
            Figure("bullmq_calls_per_s", "/s", more_is_better=True),
            Figure("our_cpu_us_per_firing", "µs"),
            *PROMISES,
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run the others, then ours on a fresh deployment, `runs` times."""
        number = bench.scaled(self.number, 1_000)
        (peer,) = (peer for peer in BEST if peer.name == RIVAL)
        for _ in range(runs):
            bare = bare_loop(bench.target.url, number)["calls_per_s"]
            rival = _drain_of(peer, bench, number)
            with bench.stand(A_PROCESS_A_CORE) as stand:
                ours = drain(stand, number)
            yield {
                **ours,
                "bare_calls_per_s": bare,
                "bullmq_calls_per_s": rival,
                "of_bare_loop": ours["calls_per_s"] / bare,
                # Where it could not run there is no ratio, and the bound is missed.
                "of_bullmq": ours["calls_per_s"] / rival if rival else float("nan"),
            }


def _drain_of(peer: Peer, bench: Bench, number: int) -> float:
    """Return a peer's drain rate; 0 where it cannot run, did not accept all before the moment, or lost some."""
    lead_ms = RIVAL_LEAD_MS + number * 1_000 // RIVAL_TAKES_IN
    try:
        with running(peer, bench.new_directory() / "peer", bench.target):
            fared = measure(peer, bench.target, lambda start: [start] * number, lead_ms, RIVAL_PATIENCE_S)
    except Exception as error:  # ours is still measured
        print(f"{peer.name} ({peer.setting}): {error!r}", flush=True)
        return 0.0
    return fared.calls_per_s if fared.in_time and not fared.punctuality.lost else 0.0


BURST = Burst()
