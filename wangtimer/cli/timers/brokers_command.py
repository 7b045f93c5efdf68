"""`wangtimer brokers`: the message brokers that an app may use, and what it may send there."""

from collections.abc import Mapping, Sequence
from typing import cast

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_table
from wangtimer.client.answer import Listed
from wangtimer.client.app_types import Broker, BrokerRight

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
def brokers(asked: Asked) -> None:
    """Show the message brokers that the app may use, and what it may send there.

    Each line is one right: a message has to fit all of it.
    """
    asked.tell(asked.client.get_brokers(), _show)


def _show(found: Listed[Broker]) -> None:
    rights = [(one, right) for one in found["items"] for right in one["allowed"]]
    show_table(
        rights,
        {
            "broker": lambda one: one[0]["name"],
            "kind": lambda one: one[0]["kind"],
            "may send to": lambda one: _said(one[1]),
        },
    )


def _said(right: BrokerRight) -> str:
    parts = cast(Mapping[str, Sequence[str]], right)
    named = ((words, parts[name]) for name, words in _WORDS.items() if name in parts)
    return "; ".join(
        f"{words} {', '.join(_pattern(one) for one in patterns) or 'none'}" for words, patterns in named
    )


def _pattern(pattern: str) -> str:
    return pattern or '""'
