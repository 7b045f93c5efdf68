"""`wangtimer bench`: makes one-shot timers at a running service and measures how late their callbacks come."""

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from wangtimer.cli.bench.bench_timers import BenchTimers
from wangtimer.cli.bench.bench_verdict import judge
from wangtimer.cli.terminal.asking import OF_KEY, Failed
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.client import Client, ClientError
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


class BenchError(WangTimerError):
    """The benchmark could not be carried out."""


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
