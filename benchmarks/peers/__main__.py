"""Run every variant of every peer against one nginx, and print a JSON line and a table row for each.

    python -m benchmarks.peers [--peer BullMQ] [--spread-rate 1000] [--seconds 10] [--burst 20000]

There are three loads, each on a freshly started peer: moments at random ms; as many due together at each full second;
a burst due at one moment. Each line has the machine's load average, since others may use the machine too.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.load import each_second, spread
from benchmarks.peers import PEERS, Peer
from benchmarks.peers.measurement import Fared, Load, measure, running
from benchmarks.target import Target

# The time until the first moment: a start, and a time for each call to be handed over and accepted.
LEAD_MS = 3_000
_ROW = "{peer:<28} {setting:<62} {load:<8} {p50:>8} {p99:>8} {max:>8} {rate:>8} {cpu:>8} {lost:>6} {twice:>6}"
_HEADINGS = _ROW.format(
    peer="peer", setting="setting", load="load", p50="p50 ms", p99="p99 ms", max="max ms",
    rate="calls/s", cpu="CPU/1000", lost="lost", twice="twice",
)  # fmt: skip


def main() -> None:
    """Measure what the command line asks for."""
    chosen = _arguments()
    loads = _loads(chosen)
    # So that all started processes end properly, and their directory is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(_HEADINGS, flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as made, Target(Path(made) / "target") as target:
        numbers = count()
        for peer in _variants(chosen.peer, chosen.variant):
            for load in loads:
                directory = Path(made) / f"run{next(numbers)}"
                failed += not _try(peer, load, directory, target, chosen)
    sys.exit(min(failed, 1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the peers of the benchmarks.")
    parser.add_argument("--peer", choices=sorted({peer.name for peer in PEERS}))
    parser.add_argument("--variant", type=int, help="only this one of the settings, from 1 on")
    parser.add_argument("--spread-rate", type=int, default=1_000, help="calls a second")
    parser.add_argument("--seconds", type=int, default=10, help="of spread and of full seconds")
    parser.add_argument("--burst", type=int, default=20_000, help="calls due at one moment")
    parser.add_argument(
        "--accept-rate", type=int, default=1_000, help="calls a second that a peer takes in ahead"
    )
    parser.add_argument("--wait", type=float, default=60.0, help="seconds that the last calls may be late")
    parser.add_argument("--load", choices=("spread", "ticking", "burst"))
    return parser.parse_args()


def _loads(chosen: argparse.Namespace) -> list[Load]:
    loads = [
        Load("spread", partial(spread, seconds=chosen.seconds, rate=chosen.spread_rate)),
        Load("ticking", partial(each_second, seconds=chosen.seconds, number=chosen.spread_rate)),
        Load("burst", lambda start: [start] * chosen.burst),
    ]
    return [load for load in loads if chosen.load in (None, load.name)]


def _variants(name: str | None, number: int | None) -> Sequence[Peer]:
    named = [peer for peer in PEERS if name in (None, peer.name)]
    return named if number is None else named[number - 1 : number]


def _try(peer: Peer, load: Load, directory: Path, target: Target, chosen: argparse.Namespace) -> bool:
    """Measure and report. A peer that cannot run (a package is missing) does not stop the others."""
    try:
        _report(peer, load, _run(peer, load, directory, target, chosen))
    except Exception as error:
        print(f"{peer.name}, {peer.setting}, {load.name}: {error}", file=sys.stderr, flush=True)
        return False
    return True


def _run(peer: Peer, load: Load, directory: Path, target: Target, chosen: argparse.Namespace) -> Fared:
    lead_ms = LEAD_MS + len(load.moments(0)) * 1_000 // chosen.accept_rate
    with running(peer, directory, target):
        return measure(peer, target, load.moments, lead_ms, chosen.wait)


def _report(peer: Peer, load: Load, fared: Fared) -> None:
    who = {"peer": peer.name, "setting": peer.setting, "source": peer.source, "load": load.name}
    print(json.dumps(who | fared.figures() | {"load_average": os.getloadavg()[0]}))
    punctuality = fared.punctuality
    row = _ROW.format(
        peer=peer.name,
        setting=peer.setting[:62],
        load=load.name,
        p50=punctuality.p50_ms,
        p99=punctuality.p99_ms,
        max=punctuality.max_ms,
        rate=round(fared.calls_per_s),
        cpu=round(sum(fared.cpu_s_per_1000.values()), 3),
        lost=punctuality.lost,
        twice=punctuality.duplicates,
    )
    print(row + ("" if fared.in_time else "  (accepted too late)"), flush=True)


if __name__ == "__main__":
    main()
