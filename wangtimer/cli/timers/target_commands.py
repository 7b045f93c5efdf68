"""`wangtimer targets ...`: calls in one place, which timers name; `wangtimer brokers`: to which they may send."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, CommandRun, asking
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import Columns, show_how_soon, show_line, show_pairs, show_table
from wangtimer.cli.timers.timer_options import CALL, RETRY, FieldOption, call_of, options, timer_fields
from wangtimer.cli.timers.timer_tables import further
from wangtimer.client import NotFound
from wangtimer.client.app_types import Broker, BrokerRight
from wangtimer.client.timer_fields import NamedTargetPatch, described
from wangtimer.client.timer_types import ChangedTarget, NamedTarget
from wangtimer.client.transport import Listed

_FIELDS = tuple(FieldOption("target", field) for field in described(NamedTargetPatch).values())
_CLEARED = {option.field.name: option for option in _FIELDS if option.field.about.can_be_cleared}
_VERSION = click.option(
    "--version", type=click.IntRange(1), help="Refuse if the target has changed since this version."
)


# What a target is instead of a URL, by its option: its field, what the option names, and further options of parts.
_KINDS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "celery": ("celery", "broker", {"queue": "queue"}),
    "messages": (
        "queue",
        "broker",
        {
            "exchange": "exchange",
            "routing_key": "routingKey",
            "stream": "stream",
            "max_length": "maxLength",
            "list_name": "list",
        },
    ),
    "consumers": ("consumers", "group", {"fallback_url": "fallbackUrl"}),
}
_KIND_OPTIONS = (
    click.option(
        "--celery", metavar="BROKER", help="Instead of a URL: Celery workers of a broker run tasks."
    ),
    click.option("--queue", help="The queue of those workers; celery by default."),
    click.option("--messages", metavar="BROKER", help="Instead of a URL: a broker gets messages."),
    click.option("--exchange", help="Of RabbitMQ, with --routing-key."),
    click.option("--routing-key"),
    click.option("--stream", help="Of Redis."),
    click.option("--max-length", type=click.IntRange(1), help="Of a stream, about."),
    click.option("--list", "list_name", help="Of Redis."),
    click.option(
        "--consumers", metavar="GROUP", help="Instead of a URL: consumers that connect get firings."
    ),
    click.option("--fallback-url", help="What is called while no consumer is connected."),
)


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def targets() -> None:
    """List, show, set and delete named targets: calls in one place, which timers go through."""


@targets.command("list", cls=OnceCommand, epilog=EXIT_CODES)
@asking
def list_targets(run: CommandRun) -> None:
    """List the app's targets."""
    run.show_rows(run.client.targets(), _TARGETS)


@targets.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("name")
@asking
def show(run: CommandRun, name: str) -> None:
    """Show a whole target, and how many timers name it."""
    run.show(run.client.get_target(name), _show)


@targets.command("set", cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("name")
@click.option(
    "--target",
    "url_to_call",
    metavar="URL",
    help="The URL to call. A new target needs one, or --celery, --messages, --consumers.",
)
@options(*_KIND_OPTIONS, *(option.click_option() for option in (*_FIELDS, *RETRY)), *CALL)
@click.option(
    "--drop-header", "dropped", multiple=True, metavar="HEADER", help="Remove this header; may be repeated."
)
@click.option(
    "--clear",
    multiple=True,
    type=click.Choice(["headers", "body", "retry", *_CLEARED]),
    help="Remove this field; may be repeated.",
)
@_VERSION
@asking
def set_target(
    run: CommandRun, name: str, clear: tuple[str, ...], version: int | None, **fields: Any
) -> None:
    """Make a target, or change the given fields of it; the rest stays. It counts for all timers that name it."""
    changes = call_of(fields) | _kind(fields)
    for option in _FIELDS:
        if (value := fields.get(option.parameter)) not in (None, ()):
            changes[option.field.name] = list(value) if isinstance(value, tuple) else value
    if retry := timer_fields(fields).get("retry"):
        changes["retry"] = retry
    if twice := changes.keys() & set(clear):
        raise click.UsageError(f"--clear {min(twice)}: it is given too")
    changes |= dict.fromkeys(clear)
    if not changes:
        raise click.UsageError("no change is given; wangtimer targets set --help lists the fields")
    run.show(_set(run, name, version, changes), _show_changed)


@targets.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("name")
@_VERSION
@asking
def delete(run: CommandRun, name: str, version: int | None) -> None:
    """Delete a target that no timer names."""
    run.client.delete_target(name, version=version)
    run.show({"deleted": name}, lambda _: show_line(f"{name} is deleted"))


def _kind(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a target is instead of a URL, in v1's form; raises a usage error for parts of nothing."""
    found: dict[str, Any] = {}
    for option, (field, of, parts) in _KINDS.items():
        inner = {name: fields[part] for part, name in parts.items() if fields[part] is not None}
        if fields[option] is not None:
            found[field] = {of: fields[option], **inner}
        elif inner:
            raise click.UsageError(f"{' and '.join(sorted(inner))} is of a target with --{option}")
    return found


def _set(run: CommandRun, name: str, version: int | None, changes: Any) -> ChangedTarget:
    try:
        return run.client.patch_target(name, version=version, **changes)
    except NotFound:
        if version is not None or changes.keys().isdisjoint(
            ("url", *(field for field, _, _ in _KINDS.values()))
        ):
            raise
        return run.client.put_target(name, **changes)


def _show(target: NamedTarget) -> None:
    headers = [f"{name}: {value}" for name, values in target["headers"].items() for value in values]
    pairs: dict[str, object] = {
        "target": target["name"],
        "calls": _call(target),
        "headers": "; ".join(headers),
        "body": target["body"],
        **further((option for option in _FIELDS if option.field.name != "method"), {"target": target}),
        **further(RETRY, target),
        "timers": target.get("timers"),
        "version": target["version"],
        "created": target["createdAt"],
        "updated": target["updatedAt"],
    }
    show_pairs({name: value for name, value in pairs.items() if value not in (None, "")})


def _show_changed(changed: ChangedTarget) -> None:
    _show(changed)
    show_how_soon(changed["countsWithin"])


def _call(target: NamedTarget) -> str:
    if "celery" in target:
        return f"Celery: {target['celery']['broker']}, queue {target['celery']['queue']}"
    if "consumers" in target:
        fallback = target["consumers"].get("fallbackUrl")
        return f"consumers: {target['consumers']['group']}{f', else {fallback}' if fallback else ''}"
    if "queue" in target:
        return ", ".join(f"{name} {value}" for name, value in target["queue"].items())
    return f"{target['method']} {target['url']}"


_TARGETS: Columns[NamedTarget] = {
    "target": "name",
    "calls": _call,
    "timeout": lambda target: target.get("timeout"),
    "updated": "updatedAt",
}


_WORDS = {
    "exchanges": "exchanges",
    "routingKeys": "routing keys",
    "streams": "streams",
    "lists": "lists",
    "celeryQueues": "Celery queues",
    "celeryTasks": "Celery tasks",
}


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@asking
def brokers(run: CommandRun) -> None:
    """Show the message brokers that the app may use, and what it may send there.

    Each line is one right: a message has to fit all of it.
    """
    run.show(run.client.get_brokers(), _show_rights)


def _show_rights(found: Listed[Broker]) -> None:
    rows = [
        {"broker": broker["name"], "kind": broker["kind"], "may send to": _said(right)}
        for broker in found["items"]
        for right in broker["allowed"]
    ]
    show_table(rows, {name: name for name in ("broker", "kind", "may send to")})


def _said(right: BrokerRight) -> str:
    parts = cast(Mapping[str, Sequence[str]], right)
    named = ((words, parts[name]) for name, words in _WORDS.items() if name in parts)
    return "; ".join(
        f"{words} {', '.join(_pattern(pattern) for pattern in patterns) or 'none'}"
        for words, patterns in named
    )


def _pattern(pattern: str) -> str:
    return pattern or '""'
