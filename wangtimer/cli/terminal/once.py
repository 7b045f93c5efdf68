"""Commands that refuse a repeated option. click would use its last value and drop the others."""

from collections import Counter
from typing import Any

import click

from wangtimer.core.errors import WangTimerError
from wangtimer.core.near_misses import near_miss

EXIT_CODES = (
    "Exit codes: 0 done; 1 the service refused or cannot be reached; 2 wrong use; "
    "3 partly done (some of many failed), or in doubt (the answer to a change was lost)."
)

# The parameters that are cron expressions.
_CRONS = ("schedule_cron", "expression")
# Other programs' words for our commands.
_MEANT = {
    **dict.fromkeys(("get", "describe", "read", "info"), "show"),
    **dict.fromkeys(("new", "add", "make"), "create"),
    **dict.fromkeys(("rm", "remove"), "delete"),
    **dict.fromkeys(("update", "patch", "change"), "edit"),
    **dict.fromkeys(("run", "trigger"), "fire"),
    **dict.fromkeys(("start", "resume"), "enable"),
    **dict.fromkeys(("stop", "pause", "suspend"), "disable"),
    "ls": "list",
}


class OnceCommand(click.Command):
    """A command whose options may each be given once. Options with several values may be repeated."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; raises a usage error where an option with one value is repeated."""
        _refuse_second_values(self, ctx, args)
        _refuse_unquoted_cron(self, ctx, args)
        _refuse_json_as_body(self, ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what the program itself refuses is one line and exit code 1."""
        try:
            return super().invoke(ctx)
        except WangTimerError as error:
            # Imported here: a list of commands needs neither the client nor tables.
            from wangtimer.cli.terminal.asking import Failed

            raise Failed(str(error)) from error


class OnceGroup(click.Group):
    """A group of such commands."""

    command_class = OnceCommand

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the group's own arguments, as a command does."""
        _refuse_second_values(self, ctx, args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; raises a usage error for an unknown one, with the one that was meant."""
        written = args[0]
        if self.get_command(ctx, written) is None and not written.startswith("-"):
            word = _MEANT.get(written)
            meant = word if word in self.commands else near_miss(written, self.commands)
            meant = meant or _elsewhere(ctx, word or written)
            question = "" if meant is None else f"did you mean {meant}? "
            names = ", ".join(self.list_commands(ctx))
            raise click.UsageError(f"{written!r} is no command here; {question}there are {names}", ctx)
        return super().resolve_command(ctx, args)


def _elsewhere(ctx: click.Context, word: str) -> str | None:
    """Return the command of this name that another group has, where there is one."""
    groups = getattr(ctx.find_root().command, "commands", {}).items()
    found = [f"{name} {word}" for name, group in groups if word in getattr(group, "commands", ())]
    return found[0] if len(found) == 1 else None


def takes_one_value(parameter: click.Parameter) -> bool:
    """Tell whether this is an option that takes exactly one value."""
    return (
        isinstance(parameter, click.Option)
        and not parameter.is_flag
        and not parameter.count
        and not parameter.multiple
    )


def _refuse_second_values(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    if ctx.resilient_parsing:
        return
    _, _, given = command.make_parser(ctx).parse_args(list(args))
    for parameter, times in Counter(given).items():
        if times > 1 and takes_one_value(parameter):
            raise click.UsageError(
                f"{parameter.opts[0]} takes one value, but is given {times} times; give it once", ctx
            )


def _refuse_json_as_body(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Refuse what stands behind --json as if it were a body, as other programs take it."""
    names = {parameter.name for parameter in command.params}
    if ctx.resilient_parsing or not {"as_json", "body"} <= names or "--json" not in args[:-1]:
        return
    following = args[args.index("--json") + 1]
    if following.startswith(("{", "[", "@")):
        raise click.UsageError(
            f"--json takes no value, it is for what is printed; write --body {following!r}", ctx
        )


def _refuse_unquoted_cron(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Refuse a cron expression without quotes: the shell makes several words of it, and files of each *."""
    if ctx.resilient_parsing:
        return
    values, further, _ = command.make_parser(ctx).parse_args(list(args))
    for parameter in command.params:
        value = values.get(parameter.name or "")
        is_broken = isinstance(value, str) and len(value.split()) == 1 and not value.startswith("@")
        if further and is_broken and parameter.name in _CRONS:
            option = f"{parameter.opts[0]} " if isinstance(parameter, click.Option) else ""
            raise click.UsageError(
                f"a cron expression is one word: put it in quotes, as in {option}'0 9 * * 1-5'", ctx
            )
