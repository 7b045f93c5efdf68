"""`wangtimer pause ...`, `wangtimer resume ...`, `wangtimer pauses`."""

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, operating
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_line, show_pairs, show_table
from wangtimer.client.app_types import Pause

KINDS = ("all", "app", "host", "timer")


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("subject", required=False)
@click.option("--reason", default="", help="Why, for whoever lists the pauses.")
@operating
def pause(asked: Asked, kind: str, subject: str | None, reason: str) -> None:
    """Pause all, an app NAME, a target's host NAME:PORT, or a timer ID; for operators.

    From 5 s on no call of it begins. When it goes on, what came due follows the misfire policies of its timers.
    """
    asked.tell(asked.client.pause(_name(kind, subject), reason=reason), _show)


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("subject", required=False)
@operating
def resume(asked: Asked, kind: str, subject: str | None) -> None:
    """Let go on what is paused: all, an app NAME, a target's host NAME:PORT, or a timer ID; for operators."""
    name = _name(kind, subject)
    asked.client.resume(name)
    asked.tell({"name": name}, lambda _: show_line(f"{name} goes on"))


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@operating
def pauses(asked: Asked) -> None:
    """List what is paused; for operators."""
    asked.tell(list(asked.client.pauses()), _show_all)


def _name(kind: str, subject: str | None) -> str:
    if (kind == "all") == (subject is not None):
        raise click.UsageError(
            "write all, or app, host or timer with a name: app shop, host shop.test:443, timer 17"
        )
    return kind if subject is None else f"{kind}:{subject}"


def _show(one: Pause) -> None:
    show_pairs({"paused": one["name"], "app": one["app"], "since": one["since"], "reason": one["reason"]})


def _show_all(found: list[Pause]) -> None:
    show_table(found, {"paused": "name", "app": "app", "since": "since", "reason": "reason"})
