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
# Takes a limit or a queue out.
NONE = "none"


class Limit(click.ParamType[int | str]):
    """A whole number from 1 on, or `none`."""

    name = "n|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the number, or `none`."""
        if value == NONE or isinstance(value, int):
            return cast(int | str, value)
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"{value!r} is no limit; write a whole number from 1 on, or {NONE}", param, ctx)
        return int(value)


def _terms(command: Any) -> Any:
    queue = click.option(
        "--queue", metavar="NAME|none", help="Its own queue, one of WANGTIMER_CALLBACK_QUEUES."
    )
    at_once = click.option("--calls-at-once", type=Limit(), help="Callbacks under way at once, at most.")
    a_second = click.option("--calls-per-second", type=Limit(), help="Callbacks a second, at most.")
    return a_second(at_once(queue(command)))


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def apps() -> None:
    """Make, list, limit and disable apps; for operators."""


@apps.command()
@click.argument("name")
@_terms
@operating
def create(asked: Asked, name: str, queue: str | None, **limits: Any) -> None:
    """Make the app NAME; `wangtimer keys create` then makes a key for it."""
    own = None if queue == NONE else queue
    asked.tell(asked.client.create_app(name, limits=_given(limits) or None, queue=own), _show)


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
@_terms
@operating
def limit(asked: Asked, name: str, queue: str | None, **limits: Any) -> None:
    """Set limits or the queue of the app NAME; `none` takes one out. What is not named stays."""
    given = _given(limits)
    if not given and queue is None:
        raise click.UsageError("name a limit or a queue: --calls-per-second, --calls-at-once or --queue")
    own = "" if queue == NONE else queue
    asked.tell(asked.client.patch_app(name, limits=given or None, queue=own), _show)


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
    names = {"calls_per_second": "callsPerSecond", "calls_at_once": "callsAtOnce"}
    return cast(
        AppLimits,
        {names[name]: None if value == NONE else value for name, value in limits.items() if value},
    )


def _show(app: App) -> None:
    show_pairs(
        {
            "app": app["name"],
            "created": app["createdAt"],
            "disabled": app["disabledAt"],
            "calls a second": app["limits"]["callsPerSecond"],
            "calls at once": app["limits"]["callsAtOnce"],
            "queue": app["queue"],
        }
    )


def _show_all(found: list[App]) -> None:
    show_table(
        ("app", "created", "disabled", "calls a second", "calls at once", "queue"),
        (
            (
                one["name"],
                one["createdAt"],
                one["disabledAt"],
                one["limits"]["callsPerSecond"],
                one["limits"]["callsAtOnce"],
                one["queue"],
            )
            for one in found
        ),
    )
