"""`wangtimer apply`: makes an app's timers what files say."""

import time
from typing import Any

import click

from wangtimer.cli.terminal.asking import PARTLY, REFUSED, CommandRun, Failed, asking, show_trouble
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_line

DIFFERENCES = 2
EXIT_CODES = (
    "Exit codes: 0 done, or nothing to do; 1 refused, wrong use, or not reached, and nothing was done; "
    "2 a dry run found differences; 3 partly done, or in doubt: run it again."
)
# As the service has it for a tag, less what stands before the name.
MOST_OF_SET = 60


class _WrongUse(click.UsageError):
    """Wrong use, with another exit code."""

    exit_code = REFUSED


class ApplyCommand(OnceCommand):
    """A command whose wrong use ends with 1: 2 says that a dry run found differences."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _WrongUse(error.format_message(), error.ctx or ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _WrongUse(error.format_message(), error.ctx or ctx) from None


@click.command(cls=ApplyCommand, epilog=EXIT_CODES)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    required=True,
    metavar="PATH",
    help="A file of timers, YAML or JSON, or a folder of them; again for more.",
)
@click.option("--set", "set_name", metavar="NAME", help="Marks each timer with the tag set=NAME.")
@click.option("--prune", is_flag=True, help="Delete the timers of the set that the files do not have.")
@click.option("--dry-run", is_flag=True, help="Only show the differences; exit code 2 where there are any.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--allow-empty", is_flag=True, help="With --prune and --yes: the set may be left without a timer."
)
@asking
def apply(
    run: CommandRun,
    files: tuple[str, ...],
    set_name: str | None,
    prune: bool,
    dry_run: bool,
    yes: bool,
    allow_empty: bool,
) -> None:
    """Make an app's timers what files say: those that are missing are created, those that differ are changed.

    The differences are shown first. All files are checked before anything is sent. Timers that no file has are let be,
    save those of the set with --prune.
    """
    _refuse_unclear(set_name, prune)
    # The API's rules take a second to import, and no other command needs them.
    from wangtimer.cli.as_code.carrying_out import carry_out
    from wangtimer.cli.as_code.differences import Applying, differences_as_json, show_differences
    from wangtimer.cli.as_code.timer_files import BadFiles

    applying = Applying(run.client, set_name, now_ms)
    try:
        found = applying.differences(files)
    except BadFiles as error:
        for fault in error.faults:
            show_trouble(str(fault))
        count = len(error.faults)
        raise Failed(f"{count} fault{'' if count == 1 else 's'}; nothing was sent") from None
    run.show(differences_as_json(found, prune), lambda _: show_differences(found, prune))
    to_do = len(found.created) + len(found.changed) + (len(found.unlisted) if prune else 0)
    if not to_do and (dry_run or not found.unseen):
        return
    if dry_run:
        click.get_current_context().exit(DIFFERENCES)
    question = f"Apply to app {run.client.app!r}?"
    if prune and found.leaves_nothing:
        # A file that lost its timers by mistake looks the same.
        every = (
            f"The files have no timer of the set {set_name!r}: all {len(found.unlisted)} would be deleted."
        )
        if yes and not allow_empty:
            raise Failed(f"{every} If that is meant, add --allow-empty.")
        question = f"{every} {question}"
    if not yes:
        click.confirm(question, abort=True, err=True)
    done = carry_out(run, found, prune)
    for line in done.faults:
        show_trouble(line)
    if not run.as_json:
        show_line(f"{done.created} created, {done.changed} changed, {done.deleted} deleted")
    if done.faults:
        click.get_current_context().exit(PARTLY if done.count or done.was_in_doubt else REFUSED)


def now_ms() -> int:
    """Return the time by the clock of this host (ms UTC)."""
    return int(time.time() * 1_000)


def _refuse_unclear(set_name: str | None, prune: bool) -> None:
    if prune and set_name is None:
        raise click.UsageError("--prune deletes timers of a set: name it with --set")
    if set_name is not None and not (
        0 < len(set_name) <= MOST_OF_SET and set_name.isprintable() and set_name == set_name.strip()
    ):
        raise click.UsageError(f"--set: write 1 to {MOST_OF_SET} printable characters")
