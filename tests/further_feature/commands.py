"""`wangtimer words`."""

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, CommandRun, asking
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.client.transport import Call

COMMANDS = {"words": (__name__, "Show what targets said.")}


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@asking
def words(run: CommandRun) -> None:
    """Show what targets said."""
    items = run.client._ask(Call("GET", "/v1/words")).body["items"]
    run.show_rows(items, {"moment": "fireAt", "words": "words"})
