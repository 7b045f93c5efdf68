"""Lists that end at a limit, and say so where more is there."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import click

Row = TypeVar("Row")

limited = click.option(
    "--limit", type=click.IntRange(0), default=50, show_default=True, help="0: all of them."
)


def first_of(rows: Callable[[int | None], Iterable[Row]], limit: int) -> list[Row]:
    """Return the first `limit` rows, all if it is 0; on stderr, say where there are more.

    `rows` returns at most so many as it is given, all for None.
    """
    found = list(rows(limit + 1 if limit else None))
    if limit and len(found) > limit:
        click.echo(f"there are more than these {limit}: --limit 0 lists all", err=True)
    return found[:limit] if limit else found
