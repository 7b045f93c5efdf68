"""The options that say what a timer is."""

from collections.abc import Callable
from typing import Any, cast

import click

from wangtimer.cli.terminal.parameter_types import DURATION, MOMENT
from wangtimer.cli.timers.rule_options import RULE
from wangtimer.client import Callback, CallbackChanges

Command = Callable[..., None]

SCHEDULE = (
    *RULE,
    click.option(
        "--tz", "--timezone", "timezone", help="IANA zone of the cron expression and of excluded days."
    ),
    click.option("--start", "start_at", type=MOMENT, help="Nothing fires before."),
    click.option("--end", "end_at", type=MOMENT, help="Nothing fires after."),
    click.option("--max-firings", type=click.IntRange(1), help="So many moments, then it is finished."),
    click.option("--jitter", "jitter_ms", type=DURATION, help="Each moment is put off by up to so much."),
    click.option("--exclude-calendar", help="Nothing fires on its days: weekends, cn-off-days, ..."),
)
TERMS = (
    click.option(
        "--misfire",
        type=click.Choice(["fire_all", "fire_latest", "skip"]),
        help="What becomes of firings found late.",
    ),
    click.option("--misfire-grace", "misfire_grace_ms", type=DURATION, help="From how late on."),
    click.option(
        "--catchup-window", "catchup_window_ms", type=DURATION, help="Later than this none is made; 0s: none."
    ),
    click.option("--tag", "tags", multiple=True, help="To find it by; again for more."),
    click.option(
        "--retention-days",
        type=click.IntRange(1),
        help="Once finished it is deleted so long after its last moment.",
    ),
    click.option(
        "--delete-after-finish",
        is_flag=True,
        default=None,
        help="It is deleted as soon as it is finished, unless its last firing failed.",
    ),
)
CALL = (
    click.option("--method", type=click.Choice(["GET", "POST", "PUT", "PATCH", "DELETE"], False)),
    click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Again for more."),
    click.option("--body", help="Sent as it is; @FILE reads it from a file."),
)
FILTERS_BUT_NAME = (
    click.option("--name-prefix"),
    click.option("--name-contains", help="In either case."),
    click.option("--status", type=click.Choice(["disabled", "enabled", "finished"])),
    click.option("--tag"),
    click.option("--next-before", type=MOMENT, help="With a moment to come up to this one."),
)
FILTERS = (click.option("--name", help="This very name."), *FILTERS_BUT_NAME)


def options(*wanted: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command these options, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(wanted):
            command = option(command)
        return command

    return decorate


def given(options: dict[str, Any]) -> Any:
    """Return the options that were given."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in options.items()
        if value is not None and value != ()
    }


def callback_of(url: str, method: str | None, headers: tuple[str, ...], body: str | None) -> Callback:
    """Return the call of a timer; wrong use for a header that is none, or a file that cannot be read."""
    return cast(Callback, callback_changes_of(url, method, headers, body))


def callback_changes_of(
    url: str | None,
    method: str | None,
    headers: tuple[str, ...],
    body: str | None,
    dropped_headers: tuple[str, ...] = (),
) -> CallbackChanges:
    """Return those parts of a call that are given; wrong use as above."""
    changes: CallbackChanges = {}
    if url is not None:
        changes["url"] = url
    if method is not None:
        changes["method"] = method
    if headers or dropped_headers:
        changes["header"] = dict.fromkeys(dropped_headers) | _read_headers(headers)
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
