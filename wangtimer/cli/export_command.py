"""`wangtimer firings export`: firings as CSV or JSON Lines, into a file or a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

import click

from wangtimer.cli.asking import Asked, Failed, asking
from wangtimer.cli.firing_options import FILTERS, filter_of
from wangtimer.cli.output import progress
from wangtimer.cli.timer_options import options


@click.command()
@options(*FILTERS)
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File; standard output else.")
@asking
def export(asked: Asked, form: Literal["jsonl", "csv"], out: Path | None, **wanted: Any) -> None:
    """Take firings away, latest first, as JSON Lines or CSV (--json is JSON Lines too).

    A file is there whole or not at all.
    """
    found = asked.client.export_firings(format=form, **filter_of(asked, wanted))
    with _whole(out) as file, progress() as bar:
        task = bar.add_task("lines", total=None)
        for piece in found:
            file.write(piece)
            bar.update(task, advance=piece.count(b"\n"))


@contextmanager
def _whole(out: Path | None) -> Iterator[BinaryIO]:
    """Yield a file that gets its name once all is in it."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    part = out.with_name(out.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(out)
    except OSError as error:
        raise Failed(f"--out: {error}") from None
    finally:
        part.unlink(missing_ok=True)
