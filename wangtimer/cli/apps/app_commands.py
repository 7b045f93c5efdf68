"""`wangtimer apps ...`: make, list, limit and disable apps."""

import time
from typing import Any, cast

import click

from wangtimer.cli.apps.operating import operating
from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, Failed
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.output import show_line, show_pairs, show_table
from wangtimer.client.app_types import App, AppLimits

# s; a process may believe a key for so long after its app was disabled, and make a timer with it.
BELIEVED_S = 5.0
NO_LIMIT = "none"


class Limit(click.ParamType[int | str]):
    """A whole number from 1 on, or `none`."""

    name = "n|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the number, or `none`."""
        if value == NO_LIMIT or isinstance(value, int):
            return cast(int | str, value)
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"{value!r} is no limit; write a whole number from 1 on, or {NO_LIMIT}", param, ctx)
        return int(value)


def _limits(command: Any) -> Any:
    for name, what in (
        ("calls-at-once-to-one-host", "Callbacks under way at once to each target host, at most."),
        ("calls-per-second-to-one-host", "Callbacks a second to each target host, at most."),
        ("calls-at-once", "Callbacks under way at once, at most."),
        ("calls-per-second", "Callbacks a second, at most."),
    ):
        command = click.option(f"--{name}", type=Limit(), help=what)(command)
    return command


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def apps() -> None:
    """Make, list, limit and disable apps; for operators."""


@apps.command()
@click.argument("name")
@_limits
@operating
def create(asked: Asked, name: str, **limits: Any) -> None:
    """Make the app NAME; `wangtimer keys create` then makes a key for it."""
    asked.tell(asked.client.create_app(name, limits=_given(limits) or None), _show)


@apps.command("list")
@operating
def list_apps(asked: Asked) -> None:
    """List apps."""
    asked.tell(list(asked.client.apps()), _show_all)


@apps.command()
@click.argument("name")
@operating
def show(asked: Asked, name: str) -> None:
    """Show the app NAME."""
    asked.tell(asked.client.get_app(name), _show)


@apps.command()
@click.argument("name")
@_limits
@operating
def limit(asked: Asked, name: str, **limits: Any) -> None:
    """Set limits of the app NAME; `none` takes one out. A limit that is not named stays."""
    given = _given(limits)
    if not given:
        raise click.UsageError(
            "name a limit: --calls-per-second, --calls-at-once, or one of them -to-one-host"
        )
    asked.tell(asked.client.patch_app(name, limits=given), _show)


@apps.command()
@click.argument("name")
@operating
def disable(asked: Asked, name: str) -> None:
    """Refuse the keys of the app NAME, and disable its timers. Nothing is deleted."""
    asked.client.patch_app(name, disabled=True)
    # Until then a process may have let a timer be made.
    time.sleep(BELIEVED_S)
    changed, before = asked.client.patch_app(name, disabled=True), None
    while left := changed["enabledTimers"]:
        if before is not None and left >= before:
            raise Failed(
                f"{left} timers of {name} are still enabled, and do not get fewer: see `wangtimer doctor`"
            )
        show_line(f"{left} timers are left")
        changed, before = asked.client.patch_app(name, disabled=True), left
    asked.tell(changed, _show)


@apps.command()
@click.argument("name")
@operating
def enable(asked: Asked, name: str) -> None:
    """Let the keys of the app NAME count again. Its timers stay disabled: see `wangtimer timers bulk`."""
    asked.tell(asked.client.patch_app(name, disabled=False), _show)


def _given(limits: dict[str, int | str | None]) -> AppLimits:
    names = {
        "calls_per_second": "callsPerSecond",
        "calls_at_once": "callsAtOnce",
        "calls_per_second_to_one_host": "callsPerSecondToOneHost",
        "calls_at_once_to_one_host": "callsAtOnceToOneHost",
    }
    return cast(
        AppLimits,
        {names[name]: None if value == NO_LIMIT else value for name, value in limits.items() if value},
    )


def _show(app: App) -> None:
    show_pairs(
        {
            "app": app["name"],
            "created": app["createdAt"],
            "disabled": app["disabledAt"],
            "calls a second": app["limits"]["callsPerSecond"],
            "calls at once": app["limits"]["callsAtOnce"],
            "calls a second to one host": app["limits"]["callsPerSecondToOneHost"],
            "calls at once to one host": app["limits"]["callsAtOnceToOneHost"],
        }
    )


def _show_all(found: list[App]) -> None:
    show_table(
        ("app", "created", "disabled", "calls a second", "calls at once"),
        (
            (
                one["name"],
                one["createdAt"],
                one["disabledAt"],
                one["limits"]["callsPerSecond"],
                one["limits"]["callsAtOnce"],
            )
            for one in found
        ),
    )
