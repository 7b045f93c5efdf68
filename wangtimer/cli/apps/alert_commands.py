"""`wangtimer alerts ...`: of which trouble an app is told, and where."""

from typing import Any, get_args

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, CommandRun, asking
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import Columns, show_line, show_table
from wangtimer.cli.timers.timer_options import given
from wangtimer.client.app_types import AlertEvent, AlertKind, AlertPer, AlertRule, AlertTest

_PER_SHOWN = {"timer": "each", "host": "by host"}


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def alerts() -> None:
    """List, set, try and delete alert rules: of which trouble an app is told, by webhook, mail or chat robot."""


@alerts.command("list", cls=OnceCommand, epilog=EXIT_CODES)
@asking
def list_rules(run: CommandRun) -> None:
    """List the app's alert rules, and whether their last message was taken."""
    run.show_rows(run.client.alert_rules(), _RULES)


@alerts.command("set", cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("name")
@click.option("--kind", type=click.Choice(get_args(AlertKind)), required=True, help="How messages go out.")
@click.option("--post-to", metavar="URL", help="Where to post; of a robot the whole URL with its key.")
@click.option("--secret", metavar="SECRET", help="Signs messages for a robot of DingTalk or Feishu.")
@click.option("--to", "addresses", multiple=True, metavar="ADDRESS", help="Mail address; may be repeated.")
@click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice(get_args(AlertEvent)),
    help="What is told; may be repeated.",
)
@click.option(
    "--failures-in-a-row",
    "failuresInARow",
    type=click.IntRange(2, 100),
    help="Tell of as many failed attempts in a row.",
)
@click.option(
    "--late-by",
    "lateBy",
    metavar="SPAN",
    help="Tell of firings that were sent so much later than their moment.",
)
@click.option("--key-prefix", "keyPrefix", metavar="TEXT", help="Tell of timers alone whose key begins so.")
@click.option(
    "--per",
    type=click.Choice(get_args(AlertPer)),
    help="Tell once of all timers of a host (the default), or of each timer.",
)
@click.option("--repeat-after", "repeatAfter", metavar="SPAN", help="Tell again of what goes on for so long.")
@asking
def set_rule(
    run: CommandRun,
    name: str,
    kind: str,
    post_to: str | None,
    secret: str | None,
    addresses: tuple[str, ...],
    **what: Any,
) -> None:
    """Make an alert rule, or replace the one of this name."""
    destination: Any = given({"kind": kind, "url": post_to, "secret": secret, "to": addresses})
    rule = run.client.put_alert_rule(name, destination=destination, **given(what))
    run.show(rule, lambda rule: show_table([rule], _RULES))


@alerts.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("name")
@asking
def delete(run: CommandRun, name: str) -> None:
    """Delete an alert rule, with what it was about to tell."""
    run.client.delete_alert_rule(name)
    run.show({"deleted": name}, lambda _: show_line(f"{name} is deleted"))


@alerts.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("name")
@asking
def test(run: CommandRun, name: str) -> None:
    """Send a test message by an alert rule, and show what its destination answers."""
    run.show(run.client.test_alert_rule(name), _show_test)


def _timers(rule: AlertRule) -> str:
    which = f"{rule['keyPrefix']}..." if rule["keyPrefix"] else "all"
    return f"{which}, {_PER_SHOWN[rule['per']]}"


def _events(rule: AlertRule) -> str:
    events: list[str] = list(rule["events"])
    if rule["failuresInARow"] is not None:
        events.append(f"{rule['failuresInARow']} failures in a row")
    if rule["lateBy"] is not None:
        events.append(f"late by {rule['lateBy']}")
    return ", ".join(events)


def _place(rule: AlertRule) -> str:
    to = rule["destination"]
    return f"{to['kind']} {', '.join(to['to']) or to['url'] or ''}".strip()


_RULES: Columns[AlertRule] = {
    "rule": "name",
    "tells of": _events,
    "timers": _timers,
    "to": _place,
    "last told": "lastToldAt",
    "error": "lastError",
}


def _show_test(found: AlertTest) -> None:
    words = {True: "it was taken", False: "it was not taken", None: "nobody knows yet"}
    why = f": {found['error']}" if found["error"] else ""
    show_line(f"{words[found['isTaken']]}{why}")
    if found["answer"]:
        show_line(f"answer: {found['answer']}")
