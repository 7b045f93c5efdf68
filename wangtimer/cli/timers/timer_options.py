"""Options that select timers, and options of a timer's call."""

from collections.abc import Callable
from typing import Any

import click

from wangtimer.cli.terminal.parameter_types import MOMENT
from wangtimer.client import TargetPatch

Command = Callable[..., None]

CALL = (
    click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Again for more."),
    click.option("--body", help="Sent as it is; @FILE reads it from a file."),
)
FILTERS_BUT_KEY = (
    click.option("--key-prefix"),
    click.option("--key-contains", help="In either case."),
    click.option("--status", type=click.Choice(["disabled", "enabled", "finished"])),
    click.option("--tag"),
    click.option("--next-before", type=MOMENT, help="Timers whose next moment is at or before this."),
)
FILTERS = (click.option("--key", help="This very key."), *FILTERS_BUT_KEY)
_SPELLED = {"key_prefix": "keyPrefix", "key_contains": "keyContains", "next_before": "nextBefore"}


def options(*wanted: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command these options, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(wanted):
            command = option(command)
        return command

    return decorate


def given(options: dict[str, Any]) -> Any:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None and value != ()}


def filter_of(options: dict[str, Any]) -> Any:
    """Return the given conditions in v1's form."""
    return {_SPELLED.get(name, name): value for name, value in given(options).items()}


def target_changes(
    url: str | None, headers: tuple[str, ...], body: str | None, dropped_headers: tuple[str, ...] = ()
) -> TargetPatch:
    """Return the given parts of a call; raises a usage error for a bad header or an unreadable file."""
    changes: TargetPatch = {}
    if url is not None:
        changes["url"] = url
    if headers or dropped_headers:
        changes["headers"] = dict.fromkeys(dropped_headers) | _read_headers(headers)
    if body is not None:
        changes["body"] = _read_body(body)
    return changes


def _read_headers(headers: tuple[str, ...]) -> dict[str, str | list[str]]:
    found: dict[str, list[str]] = {}
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon:
            raise click.UsageError(f"--header: {header!r} has no colon; write NAME:VALUE")
        found.setdefault(name.strip(), []).append(value.strip())
    return dict(found)


def _read_body(body: str) -> str:
    if not body.startswith("@"):
        return body
    try:
        with open(body[1:], encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--body: {error}") from None
