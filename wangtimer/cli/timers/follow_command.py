"""`wangtimer timers follow`: a timer's outcomes as they come."""

from typing import Any

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking, which_timer
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_json_line, show_line
from wangtimer.cli.terminal.parameter_types import PAST
from wangtimer.client import Firing


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("timer")
@click.option("--since", type=PAST, help="Begin with the outcomes from this moment on: RFC 3339, ms, or 2h.")
@click.option("--most", type=click.IntRange(1), help="End after this many outcomes.")
@asking
def follow(asked: Asked, timer: str, since: Any, most: int | None) -> None:
    """Show the outcomes of a TIMER as they come, one per line; with --json as one JSON object each.

    It ends with exit code 0 on Ctrl-C, after --most outcomes, and when the timer is finished or deleted and none of
    its firings waits for an outcome.
    """
    try:
        for firing in asked.client.follow(which_timer(timer), since=since, most=most):
            if asked.as_json:
                show_json_line(firing)
            else:
                show_line(_line(firing))
    except KeyboardInterrupt:
        # Ends the terminal's line that shows ^C.
        click.echo(err=True)


def _line(firing: Firing) -> str:
    parts = [firing["fireAt"], firing["status"]]
    if firing["latenessMs"] is not None:
        parts.append(f"{firing['latenessMs']} ms late")
    if firing["durationMs"] is not None:
        parts.append(f"took {firing['durationMs']} ms")
    parts.append(f"attempt {firing['attempt']}")
    if firing["httpStatus"] is not None:
        parts.append(f"HTTP {firing['httpStatus']}")
    return "  ".join([*parts, *([firing["error"]] if firing["error"] else [])]).replace("\n", " ")
