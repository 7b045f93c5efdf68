"""Options that select timers, and options of a timer's call."""

import json
from collections.abc import Callable
from typing import Any

import click

from wangtimer.cli.terminal.parameter_types import MOMENT

Command = Callable[..., None]

CALL = (
    click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Again for more."),
    click.option("--body", help="Sent as it is; @FILE reads it from a file."),
)
TASK = (
    click.option("--task", help="The Celery task to run; --through names a target of Celery."),
    click.option("--args", metavar="JSON", help="""Its arguments, as in '[42]'."""),
    click.option("--kwargs", metavar="JSON", help="""Its arguments by name, as in '{"all": true}'."""),
    click.option("--queue", help="Another queue than the target's."),
)
FILTERS_BUT_KEY = (
    click.option("--key-prefix"),
    click.option("--key-contains", help="In either case."),
    click.option("--status", type=click.Choice(["disabled", "enabled", "finished"])),
    click.option("--tag"),
    click.option("--next-before", type=MOMENT, help="Timers whose next moment is at or before this."),
    click.option("--host", help="Timers that call this host, or HOST:PORT, themselves or through a target."),
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


def call_of(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a call out of all options, and return what was given of the call in v1's form.

    Raises a usage error for a bad header or an unreadable file.
    """
    url, body, headers = (options.pop(name) for name in ("url_to_call", "body", "headers"))
    dropped = options.pop("dropped", ())
    changes: dict[str, Any] = {}
    if url is not None:
        changes["url"] = url
    if headers or dropped:
        changes["headers"] = dict.fromkeys(dropped) | _read_headers(headers)
    if body is not None:
        changes["body"] = _read_body(body)
    return changes


def task_of(options: dict[str, Any]) -> Any:
    """Take the options of a task out of all options, and return the task in v1's form; None where there is none."""
    task, args, kwargs, queue = (options.pop(name) for name in ("task", "args", "kwargs", "queue"))
    if task is None:
        for name, value in (("args", args), ("kwargs", kwargs), ("queue", queue)):
            if value is not None:
                raise click.UsageError(f"--{name} is of a Celery task: name the task with --task")
        return None
    return given(
        {
            "task": task,
            "args": _read_json("--args", args, list),
            "kwargs": _read_json("--kwargs", kwargs, dict),
            "queue": queue,
        }
    )


def _read_json(option: str, text: str | None, kind: type) -> Any:
    try:
        found = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        found = text
    if text is not None and not isinstance(found, kind):
        example = "[42]" if kind is list else '{"all": true}'
        raise click.UsageError(f"{option}: {text!r} is not JSON as in '{example}'")
    return found


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
        with open(body[1:], encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--body: {error}") from None
