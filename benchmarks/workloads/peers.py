"""Every peer in its best setting, and WangTimer, with the same three loads in the same run."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.lateness import drain_rate
from benchmarks.load import Shot, dues_at, each_second, spread
from benchmarks.peers import BEST, Peer
from benchmarks.peers.measurement import Fared, measure, running
from benchmarks.results import Result
from benchmarks.stand import Stand
from benchmarks.workload import Bench, Figure, Measurement

RATE, SECONDS, BURST = 1_000, 5, 10_000
# A peer gets a start to accept calls, and at least this long for each, as some accept them faster than their workers
# fetch them. Where the first load took longer, it gets twice that.
LEAD_MS, FIRST_MS_A_CALL = 3_000, 1.0
# Calls that come later than this are lost.
PATIENCE_S = 30.0
OURS = "WangTimer"
MEASURES = (
    "steady_p50_ms",
    "steady_p99_ms",
    "ticking_p50_ms",
    "ticking_p99_ms",
    "calls_per_s",
    "cpu_us_per_call",
    "lost",
    "early",
)
_HIGHER_IS_BETTER = ("calls_per_s",)


def variant(peer: Peer) -> str:
    """Return the name of the peer with its setting, as in the table."""
    return f"{peer.name} ({peer.setting})"


def variants_in(result: Result) -> list[str]:
    """Return the systems of a result, with their settings, ours first."""
    prefix = f"{MEASURES[0]}."
    found = [name.removeprefix(prefix) for name in result.runs[0] if name.startswith(prefix)]
    return sorted(found, key=lambda variant: (variant != OURS, variant))


@dataclass(frozen=True, slots=True)
class PeersBeside:
    """A measurement has each peer's figures as `figure.peer (setting)`."""

    name: str = "peers"
    measures: str = "1,000/s for 5 s at random ms, 1,000 at each full second for 5 s, 10,000 at one moment"

    @property
    def figures(self) -> Sequence[Figure]:
        """One of each measure for each peer, without bounds."""
        who = [OURS, *(variant(peer) for peer in BEST)]
        return [
            Figure(f"{measure}.{one}", _unit(measure), more_is_better=measure in _HIGHER_IS_BETTER)
            for one in who
            for measure in MEASURES
        ]

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Try them all, one after the other, `runs` times."""
        for _ in range(runs):
            figures = _named(OURS, _ours(bench))
            for peer in BEST:
                theirs = _theirs_if_any(peer, bench)
                print(json.dumps({"peer": variant(peer), **theirs}), flush=True)
                figures |= _named(variant(peer), theirs)
            yield figures


def _unit(measure: str) -> str:
    endings = {"_ms": "ms", "per_s": "/s", "per_call": "µs"}
    return next((unit for ending, unit in endings.items() if measure.endswith(ending)), "calls")


def _named(who: str, figures: Measurement) -> dict[str, float]:
    return {f"{measure}.{who}": figures[measure] for measure in MEASURES}


def _theirs_if_any(peer: Peer, bench: Bench) -> Measurement:
    """Return a peer's figures; NaN where it cannot run, so that the others are still measured."""
    try:
        return _theirs(peer, bench)
    except Exception as error:
        print(f"{variant(peer)}: {error!r}", flush=True)
        return dict.fromkeys(MEASURES, float("nan"))


def _theirs(peer: Peer, bench: Bench) -> Measurement:
    """Return a peer's figures; NaN for a load that it did not accept before the first moment."""
    seconds, number = bench.scaled(SECONDS, 3), bench.scaled(BURST, 500)
    with running(peer, bench.new_directory() / "peer", bench.target):
        steady = _fare(peer, bench, lambda start: spread(start, seconds, RATE), FIRST_MS_A_CALL)
        ms_a_call = max(FIRST_MS_A_CALL, 2 * steady.accepted_s * 1_000 / (seconds * RATE))
        ticking = _fare(peer, bench, lambda start: each_second(start, seconds, RATE), ms_a_call)
        burst = _fare(peer, bench, lambda start: [start] * number, ms_a_call)
    loads = (steady, ticking, burst)
    return {
        "steady_p50_ms": _if_in_time(steady, steady.punctuality.p50_ms),
        "steady_p99_ms": _if_in_time(steady, steady.punctuality.p99_ms),
        "ticking_p50_ms": _if_in_time(ticking, ticking.punctuality.p50_ms),
        "ticking_p99_ms": _if_in_time(ticking, ticking.punctuality.p99_ms),
        "calls_per_s": _if_in_time(burst, burst.calls_per_s),
        "cpu_us_per_call": sum(steady.cpu_s_per_1000.values()) * 1_000,
        "lost": sum(load.punctuality.lost for load in loads),
        "early": sum(load.punctuality.early for load in loads),
    }


def _fare(peer: Peer, bench: Bench, moments: Callable[[int], list[int]], ms_a_call: float) -> Fared:
    lead_ms = LEAD_MS + int(len(moments(0)) * ms_a_call)
    return measure(peer, bench.target, moments, lead_ms, PATIENCE_S)


def _if_in_time(fared: Fared, figure: float) -> float:
    return figure if fared.in_time else float("nan")


def _ours(bench: Bench) -> Measurement:
    seconds, number = bench.scaled(SECONDS, 3), bench.scaled(BURST, 500)
    with bench.stand() as stand:
        steady = _fire(stand, spread(stand.start_for(seconds * RATE), seconds, RATE))
        ticking = _fire(stand, each_second(stand.start_for(seconds * RATE), seconds, RATE))
        burst = _fire(stand, [stand.start_for(number)] * number)
    runs = (steady, ticking, burst)
    return {
        "steady_p50_ms": steady["late_p50_ms"],
        "steady_p99_ms": steady["late_p99_ms"],
        "ticking_p50_ms": ticking["late_p50_ms"],
        "ticking_p99_ms": ticking["late_p99_ms"],
        "calls_per_s": burst["calls_per_s"],
        "cpu_us_per_call": steady["cpu_us_per_call"],
        "lost": sum(run["lost"] for run in runs),
        "early": sum(run["early"] for run in runs),
    }


def _fire(stand: Stand, moments: list[int]) -> dict[str, float]:
    # From the hand-over on and without the target, as for the peers. Broker, store and SQL count.
    before = stand.read_cpu()
    fired = stand.fire([Shot(due, stand.target.url) for due in dues_at(moments)])
    used = before.until(stand.read_cpu())
    cpu_s = sum(seconds for kind, seconds in used.items() if kind != "nginx")
    return fired.figures() | {
        "calls_per_s": drain_rate(moments[0], fired.arrivals),
        "cpu_us_per_call": cpu_s / len(moments) * 1e6,
    }


PEERS_BESIDE = PeersBeside()
