"""`wangtimer firings export`: firings as CSV or JSON Lines, into a file or a pipe."""

import csv
import json
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import IncrementalNewlineDecoder, StringIO
from pathlib import Path
from typing import Any, Literal, Protocol

import click

from wangtimer.cli.firings.firing_options import FILTERS, filter_of
from wangtimer.cli.terminal.asking import Asked, Failed, asking
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import printable, progress
from wangtimer.cli.timers.timer_options import options
from wangtimer.client import Firing
from wangtimer.spreadsheet_cells import defused


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


@click.command(cls=OnceCommand)
@options(*FILTERS)
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), help="jsonl by default.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; standard output by default.",
)
@asking
def export(asked: Asked, form: Literal["jsonl", "csv"] | None, out: Path | None, **wanted: Any) -> None:
    """Export firings, latest first, as JSON Lines or CSV (--json means JSON Lines too).

    In CSV, a text that a spreadsheet would run as a formula has an apostrophe before it.

    The file appears only when it is complete.
    """
    if asked.as_json and form == "csv":
        raise click.UsageError("--json and --format csv contradict each other; give one of them")
    found = asked.client.firings(**filter_of(wanted))
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
