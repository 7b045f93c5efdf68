"""`wangtimer bench`: makes one-shot timers at a running service and measures how late their callbacks come."""

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from uuid import uuid4

import click

from wangtimer.cli.terminal.asking import OF_KEY, Failed
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.client import Client, ClientError, Target
from wangtimer.core.errors import WangTimerError
from wangtimer.core.time.zones import DAY_MS
from wangtimer.stack.arrivals import Arrival, Journal
from wangtimer.stack.child import Child, ChildSpec, inherited_environment, launch
from wangtimer.stack.supervisor import wait_for

# Timers made first to see how fast the API makes them. Their moment is a day away; they are deleted like the rest.
PROBES = 40
# How long making all timers may take: by the rate of the probes with a margin, and a start.
ROOM, START_MS = 1.5, 3_000
ARRIVE_WITHIN_S = 30.0
# How long to wait for second deliveries of the last callbacks.
LINGER_S = 1.5
LOOK_S = 0.05
# Of the benchmark's own calls.
THREADS = 16
TIMEOUT_S = 20


class BenchError(WangTimerError):
    """The benchmark could not be carried out."""


class BenchTimers:
    """`with BenchTimers(api_url, app, target_url) as timers: timers.make(moments)`; `app` None: the API key's."""

    def __init__(self, api_url: str, app: str | None, target_url: str) -> None:
        self._api_url = api_url
        self._app = app
        self._target: Target = {"url": target_url, "body": "{}"}
        # Timers of the app that others made stay apart.
        self._prefix = f"bench-{uuid4().hex[:8]}"
        self._numbers = count()
        self._made: list[int] = []
        self._pool = ThreadPoolExecutor(THREADS)
        self._of_thread = threading.local()

    def __enter__(self) -> "BenchTimers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the timers that were made, and make no more."""
        self._pool.shutdown(cancel_futures=True)
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(self._delete, self._made))

    def make(self, moments: Sequence[int]) -> dict[int, int]:
        """Make a one-shot for each moment (ms UTC); return the moments by timer id. Raises `ClientError`."""
        return dict(zip(self._pool.map(self._make_one, moments), moments, strict=True))

    def _make_one(self, moment: int) -> int:
        key = f"{self._prefix}-{next(self._numbers)}"
        made = self._client().create_timer(key=key, schedule={"at": moment}, target=self._target)
        self._made.append(made["id"])
        return made["id"]

    def _delete(self, timer_id: int) -> None:
        self._client().delete_timer(timer_id)

    def _client(self) -> Client:
        held: Client | None = getattr(self._of_thread, "client", None)
        if held is None:
            held = self._of_thread.client = Client(self._api_url, self._app, TIMEOUT_S)
        return held


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts, and lateness of each timer's first callback in ms, ascending."""

    expected: int
    duplicates: int
    lateness_ms: tuple[float, ...]

    @property
    def lost(self) -> int:
        """Timers without a callback."""
        return self.expected - len(self.lateness_ms)

    @property
    def early(self) -> int:
        """Callbacks before their moment."""
        return sum(late < 0 for late in self.lateness_ms)

    @property
    def is_clean(self) -> bool:
        """Say whether every timer called exactly once and not early."""
        return not (self.lost or self.duplicates or self.early)

    def percentile_ms(self, share: float) -> float:
        """Return the lateness that this share of the callbacks does not exceed; NaN without callbacks."""
        if not self.lateness_ms:
            return float("nan")
        return self.lateness_ms[min(len(self.lateness_ms) - 1, int(len(self.lateness_ms) * share))]

    def __str__(self) -> str:
        shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
        lateness = ", ".join(f"{name} {self.percentile_ms(share):.1f}" for name, share in shares.items())
        return (
            f"{self.expected} timers: lost {self.lost}, duplicates {self.duplicates}, early {self.early}; "
            f"lateness in ms: {lateness}"
        )


def judge(moments: Mapping[int, int], arrivals: Sequence[Arrival]) -> Verdict:
    """Compare the arrivals of these timers with their moments (ms UTC) by id. Other arrivals are ignored."""
    wanted = {str(timer_id): moment for timer_id, moment in moments.items()}
    came = [arrival for arrival in arrivals if arrival.timer in wanted]
    first: dict[str, float] = {}
    for arrival in came:
        late = arrival.arrived_at - wanted[arrival.timer]
        first[arrival.timer] = min(late, first.get(arrival.timer, late))
    surplus = sum(number - 1 for number in Counter(arrival.timer for arrival in came).values())
    return Verdict(len(wanted), surplus, tuple(sorted(first.values())))


@click.command(cls=OnceCommand)
@click.option(
    "--api", "api_url", default="http://127.0.0.1:5000", show_default=True, help="The service's API."
)
@click.option("--rate", type=click.IntRange(1), default=100, show_default=True, help="Firings a second.")
@click.option("--seconds", type=click.IntRange(1), default=10, show_default=True, help="For how long.")
@click.option(
    "--burst",
    type=click.IntRange(1),
    help="This many timers due at one moment, instead of --rate and --seconds.",
)
@click.option(
    "--listen",
    default="127.0.0.1",
    show_default=True,
    help="Address of this machine on which callbacks are received; callback workers must reach it.",
)
@click.option("--app", envvar="WANGTIMER_APP", show_envvar=True, help=f"The app of the timers. {OF_KEY}")
def bench(api_url: str, rate: int, seconds: int, burst: int | None, listen: str, app: str | None) -> None:
    """Make one-shot timers, receive their callbacks, print their lateness, delete the timers.

    Lateness is the receiver's clock minus the moment, so both machines' clocks must agree. Exits with 1 where a firing
    was lost, doubled or early.
    """
    try:
        Client(api_url, app).close()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    offsets = [0] * burst if burst else [random.randrange(seconds * 1_000) for _ in range(rate * seconds)]
    try:
        with _receiver(listen) as (url, journal), BenchTimers(api_url, app, url) as timers:
            moments = _make(timers, offsets)
            verdict = judge(moments, _listen(journal, moments))
    except ClientError as error:
        raise Failed(str(error)) from error
    click.echo(str(verdict))
    sys.exit(0 if verdict.is_clean else 1)


def _make(timers: BenchTimers, offsets: list[int]) -> dict[int, int]:
    """Make a timer for each offset (ms) from a start late enough for all; return their moments by id."""
    began_at = time.monotonic()
    timers.make([_now_ms() + DAY_MS] * PROBES)
    each_ms = (time.monotonic() - began_at) * 1_000 / PROBES
    start = int(_now_ms() + START_MS + len(offsets) * each_ms * ROOM)
    click.echo(
        f"making {len(offsets)} timers, {1_000 / each_ms:.0f} a second; due in {(start - _now_ms()) // 1_000} s"
    )
    moments = timers.make([start + offset for offset in offsets])
    if _now_ms() > start:
        raise BenchError("the API made timers more slowly than at the beginning; ask for fewer")
    return moments


def _listen(journal: Journal, moments: dict[int, int]) -> list[Arrival]:
    """Return the callbacks that arrive until every moment has one, and shortly after."""
    ends_at = max(moments.values()) / 1_000 + ARRIVE_WITHIN_S
    arrivals: list[Arrival] = []
    missing = {str(timer_id) for timer_id in moments}
    while missing and time.time() < ends_at:
        time.sleep(LOOK_S)
        fresh = list(journal.new_arrivals())
        missing -= {arrival.timer for arrival in fresh}
        arrivals += fresh
    time.sleep(LINGER_S)
    return arrivals + list(journal.new_arrivals())


@contextmanager
def _receiver(host: str) -> Iterator[tuple[str, Journal]]:
    """Run the receiver as a process of its own; yield its URL and its journal."""
    with tempfile.TemporaryDirectory(prefix="wangtimer-bench-") as made:
        directory = Path(made)
        out = directory / "requests.jsonl"
        argv = (
            sys.executable,
            "-m",
            "wangtimer.stack.receiver",
            "--host",
            host,
            "--port",
            "0",
            "--out",
            str(out),
        )
        spec = ChildSpec("receiver", argv, directory / "receiver.log", directory, inherited_environment())
        child = launch(spec)
        try:
            yield f"http://{host}:{_port_of(child)}/bench", Journal(out)
        finally:
            child.bury()


def _port_of(child: Child) -> int:
    log = child.spec.log
    if (
        not wait_for(lambda: child.has_ended() or log.read_text().endswith("\n"), seconds=10)
        or child.has_ended()
    ):
        raise BenchError(f"the receiver cannot listen, see --listen: {child.last_words()}")
    return int(log.read_text())


def _now_ms() -> int:
    return int(time.time() * 1_000)
