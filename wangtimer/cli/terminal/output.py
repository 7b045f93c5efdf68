"""The output of commands: JSON or tables. Tables are coloured on a terminal and plain in a pipe or file."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from wangtimer.client.values import read_span

Row = TypeVar("Row")
# A column says which field of a row it shows, or how its value is made of a row.
Columns = Mapping[str, str | Callable[[Row], object]]

# The width without a terminal: nothing is cut or wrapped.
PLAIN_COLUMNS = 10_000_000
# Once Redis has been told, a change takes effect for every moment that is not on its way.
AT_ONCE_MS = 1_000


def show_json(data: object) -> None:
    """Print data as JSON. Non-Latin scripts stay readable; control characters are escaped."""
    click.echo(_json(data, indent=2))


def show_json_line(data: object) -> None:
    """Print data as JSON on one line."""
    click.echo(_json(data, separators=(",", ":")))


def _json(data: object, **form: Any) -> str:
    """Return data as JSON; as ASCII where standard output does not have all signs."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    return _harmless(json.dumps(data, ensure_ascii=not is_unicode, **form))


def _harmless(text: str) -> str:
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def show_table(rows: Iterable[Row], columns: Columns[Row]) -> None:
    """Print a line for each row below the names of the columns; None is a dash."""
    is_terminal = sys.stdout.isatty()
    table = Table(box=SIMPLE_HEAD if is_terminal else None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        fields: Any = row
        table.add_row(
            *(
                _cell(fields[column] if isinstance(column, str) else column(row))
                for column in columns.values()
            )
        )
    _print(table, is_terminal)


def show_rows(rows: list[Row], columns: Columns[Row], as_json: bool) -> None:
    """Print rows as JSON, or as a table."""
    if as_json:
        show_json(rows)
    else:
        show_table(rows, columns)


def show_pairs(pairs: Mapping[str, object]) -> None:
    """Print each name with its value, one per line; None is a dash."""
    is_terminal = sys.stdout.isatty()
    table = Table(box=None, show_header=False, pad_edge=False)
    for _ in ("name", "value"):
        table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(Text(name, "bold" if is_terminal else ""), _cell(value))
    _print(table, is_terminal)


def show_line(text: str) -> None:
    """Print one line of text without control characters."""
    click.echo(printable(text))


def show_how_soon(counts_within: str | None) -> None:
    """Print how soon a change takes effect, unless it is at once; None: not known."""
    if counts_within is not None and read_span(counts_within) > AT_ONCE_MS:
        show_line(f"it takes effect within {counts_within}; an earlier moment may still fire as before")


def progress() -> Progress:
    """Return a progress bar on standard error; it shows nothing where that is not a terminal."""
    console = Console(stderr=True)
    parts = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}"),
        TimeElapsedColumn(),
    )
    return Progress(*parts, console=console, transient=True, disable=not console.is_terminal)


def printable(text: str) -> str:
    """Return text without control characters: a target's answer must not control the terminal."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else "\N{REPLACEMENT CHARACTER}" for sign in text
    )


def _cell(value: Any) -> Text:
    if value is None or value == "":
        return Text("-")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    return Text(printable(str(value)).replace("\n", " "))


def _print(table: Table, is_terminal: bool) -> None:
    if is_terminal:
        Console().print(table)
        return
    console = Console(width=PLAIN_COLUMNS, no_color=True, force_terminal=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


limited = click.option(
    "--limit", type=click.IntRange(0), default=50, show_default=True, help="0: all of them."
)


def first_of(rows: Callable[[int | None], Iterable[Row]], limit: int) -> list[Row]:
    """Return the first `limit` rows, all if it is 0; stderr says where there are more. `rows` takes a most, or None."""
    found = list(rows(limit + 1 if limit else None))
    if limit and len(found) > limit:
        click.echo(f"there are more than these {limit}: --limit 0 lists all", err=True)
    return found[:limit] if limit else found
