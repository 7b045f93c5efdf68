"""Commands that refuse a repeated option. click would use its last value and drop the others."""

from collections import Counter

import click


class OnceCommand(click.Command):
    """A command whose options may each be given once. Options with several values may be repeated."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; raises a usage error where an option with one value is repeated."""
        _refuse_second_values(self, ctx, args)
        return super().parse_args(ctx, args)


class OnceGroup(click.Group):
    """A group of such commands."""

    command_class = OnceCommand

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the group's own arguments, as a command does."""
        _refuse_second_values(self, ctx, args)
        return super().parse_args(ctx, args)


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
