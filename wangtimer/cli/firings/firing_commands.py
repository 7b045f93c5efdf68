"""`wangtimer firings ...` and `wangtimer load`: show, count, export, request and cancel firings."""

import csv
import json
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import IncrementalNewlineDecoder, StringIO
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import click

from wangtimer.base.spreadsheet_cells import defused
from wangtimer.cli.firings.replay_commands import FILTERS, backfill, filter_of, replay
from wangtimer.cli.terminal.asking import (
    EXIT_CODES,
    CommandRun,
    Failed,
    asking,
    asking_of_any_app,
    which_timer,
)
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import (
    Columns,
    first_of,
    limited,
    printable,
    progress,
    show_how_soon,
    show_line,
    show_pairs,
    show_table,
)
from wangtimer.cli.terminal.parameter_types import FILE, FIRING
from wangtimer.cli.timers.timer_options import options
from wangtimer.client import Firing, FiringHistory
from wangtimer.client.firing_types import Attempt, CancelledFiring, SentRequest
from wangtimer.client.timer_types import Load


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def firings() -> None:
    """Show and request firings; a FIRING is its webhook-id, TIMER-MOMENT: 7-1795207483000."""


@firings.command("list")
@options(*FILTERS)
@limited
@asking
def list_firings(run: CommandRun, limit: int, **wanted: Any) -> None:
    """List firings, latest first."""
    conditions = filter_of(wanted)
    found = first_of(lambda most: run.client.firings(most=most, **conditions), limit)
    run.show_rows(found, _FIRINGS, tells_app=True)


@firings.command()
@click.argument("firing", type=FIRING)
@asking
def show(run: CommandRun, firing: str) -> None:
    """Show a FIRING with each of its attempts."""
    run.show(run.client.get_firing(firing), _show_firing)


@firings.command()
@options(*FILTERS)
@asking
def counts(run: CommandRun, **wanted: Any) -> None:
    """Count firings by status."""
    found = run.client.count_firings(**filter_of(wanted))
    run.show(found, lambda counted: show_pairs(dict(counted)))


@firings.command()
@click.argument("timer")
@asking
def fire(run: CommandRun, timer: str) -> None:
    """Fire a TIMER now, whatever its schedule."""
    run.show(run.client.fire_timer(which_timer(timer)), _show_firing)


@firings.command()
@click.argument("firing", type=FIRING)
@asking
def cancel(run: CommandRun, firing: str) -> None:
    """Cancel a future FIRING: it is skipped."""
    run.show(run.client.cancel_firing(firing), _show_cancelled)


firings.add_command(replay)
firings.add_command(backfill)


class Target(Protocol):
    """Where the lines go."""

    def write(self, piece: bytes, /) -> object:
        """Take a piece of any length."""


class Screen:
    """A terminal; it gets no control characters."""

    def __init__(self) -> None:
        # Lines of CSV end with CR LF.
        self._decoder = IncrementalNewlineDecoder(getincrementaldecoder("utf-8")(), translate=True)

    def write(self, piece: bytes, /) -> None:
        """Print the lines that the piece completes."""
        click.echo(printable(self._decoder.decode(piece)), nl=False)


@firings.command(cls=OnceCommand)
@options(*FILTERS)
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), help="jsonl by default.")
@click.option("--out", type=FILE, help="The file to write; standard output by default.")
@asking
def export(run: CommandRun, form: Literal["jsonl", "csv"] | None, out: Path | None, **wanted: Any) -> None:
    """Export firings, latest first, as JSON Lines or CSV (--json means JSON Lines too).

    In CSV, a text that a spreadsheet would run as a formula has an apostrophe before it.

    The file appears only when it is complete.
    """
    if run.as_json and form == "csv":
        raise click.UsageError("--json and --format csv contradict each other; give one of them")
    found = run.client.firings(**filter_of(wanted))
    with _whole(out) as file, progress() as bar:
        task = bar.add_task("lines", total=None)
        for line in _as_csv(found) if form == "csv" else _as_json_lines(found):
            file.write(line)
            bar.update(task, advance=1)


def _as_json_lines(firings: Iterable[Firing]) -> Iterator[bytes]:
    for firing in firings:
        yield json.dumps(firing, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _as_csv(firings: Iterable[Firing]) -> Iterator[bytes]:
    """Yield a header and one row for each firing (RFC 4180)."""
    held = StringIO()
    writer = csv.DictWriter(held, list(Firing.__annotations__), extrasaction="ignore")
    writer.writeheader()
    yield held.getvalue().encode()
    for firing in firings:
        held.seek(0)
        held.truncate()
        writer.writerow(defused(firing))
        yield held.getvalue().encode()


@contextmanager
def _whole(out: Path | None) -> Iterator[Target]:
    """Yield a file that gets its name once it is complete."""
    if out is None:
        yield Screen() if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.flush()
        return
    part = out.with_name(out.name + ".part")
    try:
        opened = part.open("wb")
    except OSError as error:
        raise click.UsageError(f"--out: {error}") from None
    try:
        with opened as file:
            yield file
        part.replace(out)
    except OSError as error:
        raise Failed(f"--out: {error}") from None
    finally:
        part.unlink(missing_ok=True)


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.option("--minutes", type=click.IntRange(1), help="How far ahead; the planned horizon by default.")
@click.option("--all-apps", is_flag=True, help="Of all apps, even if WANGTIMER_APP names one.")
@asking_of_any_app
def load(run: CommandRun, minutes: int | None, all_apps: bool) -> None:
    """Show the firings planned in each future minute, of all apps or of one."""
    columns: Columns[Any] = {"minute": "minute", "firings": "firings"}
    load: Load[Any] | None = run.of_all_apps(
        partial(run.client.get_load_of_all_apps, minutes=minutes), all_apps
    )
    if load is not None:
        columns = {**columns, "apps": lambda minute: _by_app(minute["apps"])}
    run.show(load or run.client.get_load(minutes=minutes), partial(_show_load, columns=columns))


def _show_load(load: Load[Any], columns: Columns[Any]) -> None:
    show_table(load["items"], columns)
    show_line(f"{load['firings']} in all")


def _by_app(apps: dict[str, int]) -> str:
    largest_first = sorted(apps.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{app} {number}" for app, number in largest_first)


def _show_firing(firing: Firing | FiringHistory) -> None:
    show_pairs(
        {
            "firing": firing["id"],
            "timer": firing.get("timerKey") or "",
            "calls": _calls(firing),
            "moment": firing["fireAt"],
            "kind": firing["kind"],
            "status": firing["status"],
            "late": _ms(firing["latenessMs"]),
            "took": _ms(firing["durationMs"]),
            "attempt": firing["attempt"],
            "next attempt": firing.get("nextAttemptAt", ""),
            "accepted": firing.get("acceptedAt", ""),
            "to be done by": firing.get("ackBy", ""),
            "done": firing.get("doneAt", ""),
            "waited for": firing["waitedFor"],
            "host was failing for": _ms(firing.get("hostFailingMs")),
            "HTTP status": firing["httpStatus"],
            "error": firing["error"],
            "output": firing["output"],
        }
    )
    if "attempts" in firing:
        history = cast(FiringHistory, firing)
        click.echo()
        show_table(history["attempts"], _ATTEMPTS)
        _show_request(history["request"])


def _show_cancelled(firing: CancelledFiring) -> None:
    _show_firing(firing)
    show_how_soon(firing["countsWithin"])


def _show_request(request: SentRequest | None) -> None:
    if request is None:
        return
    click.echo()
    show_line(f"{request['method']} {request['url']} (attempt {request['attempt']}, as it was sent)")
    for name, values in request["headers"].items():
        for value in values:
            show_line(f"{name}: {value}")
    if request["body"]:
        show_line(f"\n{request['body']}")


def _calls(firing: Firing) -> str:
    target = firing.get("target")
    return f"through {target}" if target else firing.get("url") or ""


_FIRINGS: Columns[Firing] = {
    "firing": "id",
    "timer": lambda firing: firing.get("timerKey"),
    "moment": "fireAt",
    "status": "status",
    "late ms": "latenessMs",
    "took ms": "durationMs",
    "attempt": "attempt",
    "HTTP": "httpStatus",
    "waited for": "waitedFor",
    "calls": _calls,
    "error": "error",
}
_ATTEMPTS: Columns[Attempt] = {
    "attempt": "attempt",
    "made": lambda attempt: attempt.get("madeAt", attempt["sentAt"]),
    "late ms": "latenessMs",
    "connect ms": "connectMs",
    "first byte ms": "firstByteMs",
    "took ms": "durationMs",
    "HTTP": "httpStatus",
    "status": "status",
    "error": "error",
}


def _ms(value: int | None) -> str | None:
    return None if value is None else f"{value} ms"
