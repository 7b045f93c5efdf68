"""`wangtimer apps ...`: make, list, limit and disable apps, set their way out."""

import shlex
import time
from typing import Any, cast

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, CommandRun, Failed, operating
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.output import Columns, show_line, show_pairs
from wangtimer.cli.terminal.parameter_types import text_of
from wangtimer.cli.timers.timer_options import RETRY, options, timer_fields
from wangtimer.cli.timers.timer_tables import further
from wangtimer.client.app_types import App, AppEgress, AppLimits, ShownCertificate
from wangtimer.client.timer_fields import Retry
from wangtimer.core.apps.described_limits import DESCRIBED, AppLimit
from wangtimer.core.timers.fields import MOST_RETENTION_DAYS

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
    """Give a command an option for each limit, named as the limit is in the API, and one for the queue."""
    command = click.option(
        "--queue", metavar="NAME|none", help="Its own queue, one of WANGTIMER_CALLBACK_QUEUES."
    )(command)
    for limit in reversed(AppLimit):
        words = DESCRIBED[limit].words
        command = click.option(
            f"--{_dashed(limit)}", limit.value, type=Limit(), help=f"{words[0].upper()}{words[1:]}."
        )(command)
    return command


def _dashed(limit: AppLimit) -> str:
    return limit.name.lower().replace("_", "-")


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def apps() -> None:
    """Make, list, limit and disable apps, set their way out and their retries; for operators."""


@apps.command()
@click.argument("name")
@_terms
@operating
def create(run: CommandRun, name: str, queue: str | None, **limits: Any) -> None:
    """Make the app NAME; `wangtimer keys create` then makes a key for it."""
    own = None if queue == NONE else queue
    run.show(run.client.create_app(name, limits=_given(limits) or None, queue=own), _show)


@apps.command("list")
@operating
def list_apps(run: CommandRun) -> None:
    """List apps."""
    run.show_rows(run.client.apps(), _APPS)


@apps.command()
@click.argument("name")
@operating
def show(run: CommandRun, name: str) -> None:
    """Show the app NAME."""
    run.show(run.client.get_app(name), _show)


@apps.command()
@click.argument("name")
@_terms
@operating
def limit(run: CommandRun, name: str, queue: str | None, **limits: Any) -> None:
    """Set limits or the queue of the app NAME; `none` takes one out. What is not named stays."""
    given = _given(limits)
    if not given and queue is None:
        named = ", ".join(f"--{_dashed(limit)}" for limit in AppLimit)
        raise click.UsageError(f"name a limit or a queue: {named} or --queue")
    own = "" if queue == NONE else queue
    run.show(run.client.patch_app(name, limits=given or None, queue=own), _show)


@apps.command()
@click.argument("name")
@click.option("--https-only/--no-https-only", default=None, help="No call goes out without TLS.")
@click.option(
    "--allow",
    multiple=True,
    metavar="ITEM|none",
    help="What it may call beside WANGTIMER_EGRESS, in place of what was allowed before; more than once.",
)
@click.option(
    "--ca-file",
    metavar="FILE|none",
    help="Certificates (PEM) of authorities that vouch for its targets.",
)
@operating
def egress(
    run: CommandRun, name: str, https_only: bool | None, allow: tuple[str, ...], ca_file: str | None
) -> None:
    """Set the way out of the calls of the app NAME; `none` takes something out. What is not named stays."""
    given: AppEgress = {}
    if https_only is not None:
        given["httpsOnly"] = https_only
    if allow:
        given["allow"] = None if allow == (NONE,) else list(allow)
    if ca_file is not None:
        given["caCertificates"] = None if ca_file == NONE else text_of(ca_file)
    if not given:
        raise click.UsageError("name what to set: --https-only, --allow or --ca-file")
    run.show(run.client.patch_app(name, egress=given), _show)


@apps.command()
@click.argument("name")
@options(*(option.click_option() for option in RETRY))
@click.option(
    "--clear", is_flag=True, help="Take its policy away: they are tried again as the deployment does."
)
@operating
def retry(run: CommandRun, name: str, clear: bool, **fields: Any) -> None:
    """Set when failed calls of the app NAME are tried again, where neither a timer nor its target says so."""
    given = timer_fields(fields).get("retry")
    if clear is bool(given):
        named = ", ".join(option.spellings[0] for option in RETRY)
        raise click.UsageError(f"give --clear alone, or what to set: {named}")
    run.show(run.client.patch_app(name, retry=cast(Retry, given) if given else "usual"), _show)


@apps.command("keep-dead-letters")
@click.argument("name")
@click.option(
    "--days", type=click.IntRange(1, MOST_RETENTION_DAYS), help="Keep what failed for good for so many days."
)
@click.option("--clear", is_flag=True, help="Keep it as long as the records of firings.")
@operating
def keep_dead_letters(run: CommandRun, name: str, days: int | None, clear: bool) -> None:
    """Set how long what failed for good of the app NAME is listed."""
    if clear is (days is not None):
        raise click.UsageError("give either --days or --clear")
    run.show(run.client.patch_app(name, dead_letter_days=0 if days is None else days), _show)


@apps.command()
@click.argument("name")
@operating
def disable(run: CommandRun, name: str) -> None:
    """Refuse the keys of the app NAME, and disable its timers. Nothing is deleted."""
    run.client.patch_app(name, disabled=True)
    # Until then a process may have let a timer be made.
    time.sleep(BELIEVED_S)
    changed, before = run.client.patch_app(name, disabled=True), None
    while left := changed["enabledTimers"]:
        if before is not None and left >= before:
            raise Failed(
                f"{left} timers of {name} are still enabled, and do not get fewer: see `wangtimer doctor`"
            )
        show_line(f"{left} timers are left")
        changed, before = run.client.patch_app(name, disabled=True), left
    run.show(changed, _show)


@apps.command()
@click.argument("name")
@operating
def enable(run: CommandRun, name: str) -> None:
    """Let the keys of the app NAME count again. Its timers stay disabled: see `wangtimer timers bulk`."""
    run.show(run.client.patch_app(name, disabled=False), _show)
    enabling = f"wangtimer timers bulk enable --all --app {shlex.quote(name)}"
    click.echo(f"its timers stay disabled; this enables all of them: {enabling}", err=True)


def _given(limits: dict[str, int | str | None]) -> AppLimits:
    return cast(
        AppLimits,
        {name: None if value == NONE else value for name, value in limits.items() if value},
    )


def _show(app: App) -> None:
    show_pairs(
        {
            "app": app["name"],
            "created": app["createdAt"],
            "disabled": app["disabledAt"],
            **{_spaced(limit): number for limit, number in _limits_of(app)},
            "https only": app["egress"]["httpsOnly"],
            "allowed beside": ", ".join(app["egress"]["allow"]) or None,
            "trusted beside": "; ".join(map(_certificate, app["egress"]["caCertificates"])) or None,
            "queue": app["queue"],
            "dead letter days": app.get("deadLetterDays"),
            **further(RETRY, app),
        }
    )


def _certificate(certificate: ShownCertificate) -> str:
    return f"{certificate['subject']} (until {certificate['expiresAt']})"


def _own_limits(app: App) -> str:
    return ", ".join(
        f"{_spaced(limit)} {number:,}" for limit, number in _limits_of(app) if number is not None
    )


def _limits_of(app: App) -> list[tuple[AppLimit, int | None]]:
    """Return an app's limits; one that a service of another version does not know is left out."""
    return [(limit, cast(int | None, app["limits"].get(limit))) for limit in AppLimit]


def _spaced(limit: AppLimit) -> str:
    return limit.name.lower().replace("_", " ")


_APPS: Columns[App] = {
    "app": "name",
    "created": "createdAt",
    "disabled": "disabledAt",
    "limits of its own": _own_limits,
    "queue": "queue",
}
