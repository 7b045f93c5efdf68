"""`wangtimer hosts`, `failing-hosts`, `pause`, `resume` and `pauses`: which calls go out."""

from typing import Any

import click

from wangtimer.cli.apps.app_commands import NONE, Limit
from wangtimer.cli.terminal.asking import EXIT_CODES, CommandRun, asking_of_any_app, operating
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import Columns, show_line, show_pairs, show_table
from wangtimer.client.app_types import HostLimit, Pause

KINDS = ("all", "app", "host", "timer")
_LIMITS: Columns[HostLimit] = {
    "host": "host",
    "calls a second": "callsPerSecond",
    "calls at once": "callsAtOnce",
}
_PAUSES = {"paused": "name", "app": "app", "since": "since", "reason": "reason"}
_FAILING = {
    "host": "host",
    "since": "since",
    "last failed": "lastFailedAt",
    "error": "lastError",
    "disabled": "disabledAt",
}


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def hosts() -> None:
    """Limit the calls to target hosts, over all apps; for operators."""


def _name_and_port(_context: click.Context, _parameter: click.Parameter, host: str) -> str:
    """Refuse a URL, which would be read as a longer path of the API."""
    if "/" in host:
        raise click.BadParameter(f"{host!r} is no host; write NAME:PORT, as in shop.example.org:443, or *")
    return host


@hosts.command()
@click.argument("host", callback=_name_and_port)
@click.option("--calls-per-second", type=Limit(), help="Callbacks a second, at most.")
@click.option("--calls-at-once", type=Limit(), help="Callbacks under way at once, at most.")
@operating
def limit(run: CommandRun, host: str, **limits: Any) -> None:
    """Limit the calls to HOST, a name with a port, or * for every host without a limit of its own.

    It takes the place of a former limit.
    """
    given = {name: value for name, value in limits.items() if value not in (None, NONE)}
    if not given:
        raise click.UsageError(
            "name a limit: --calls-per-second or --calls-at-once; `hosts free` takes it out"
        )
    run.show(run.client.limit_host(host, **given), lambda limit: show_table([limit], _LIMITS))


@hosts.command()
@click.argument("host", callback=_name_and_port)
@operating
def free(run: CommandRun, host: str) -> None:
    """Take out the limit of HOST; that of every other host (*) counts for it then."""
    run.client.free_host(host)
    run.show({"host": host}, lambda _: show_line(f"{host} has no limit of its own"))


@hosts.command("list")
@operating
def list_hosts(run: CommandRun) -> None:
    """List the limits of hosts."""
    run.show_rows(run.client.host_limits(), _LIMITS)


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("subject", required=False)
@click.option("--reason", default="", help="Why, for whoever lists the pauses.")
@operating
def pause(run: CommandRun, kind: str, subject: str | None, reason: str) -> None:
    """Pause all, an app NAME, a target's host NAME:PORT, or a timer ID; for operators.

    From 5 s on no call of it begins. When it goes on, what came due follows the misfire policies of its timers.
    """
    run.show(run.client.pause(_name_of(kind, subject), reason=reason), _show_pause)


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("subject", required=False)
@operating
def resume(run: CommandRun, kind: str, subject: str | None) -> None:
    """Let go on what is paused: all, an app NAME, a target's host NAME:PORT, or a timer ID; for operators."""
    name = _name_of(kind, subject)
    run.client.resume(name)
    run.show({"name": name}, lambda _: show_line(f"{name} goes on"))


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@operating
def pauses(run: CommandRun) -> None:
    """List what is paused; for operators."""
    run.show_rows(run.client.pauses(), _PAUSES)


def _show_pause(pause: Pause) -> None:
    show_pairs(
        {"paused": pause["name"], "app": pause["app"], "since": pause["since"], "reason": pause["reason"]}
    )


def _name_of(kind: str, subject: str | None) -> str:
    if (kind == "all") == (subject is not None):
        raise click.UsageError(
            "write all, or app, host or timer with a name: app shop, host shop.test:443, timer 17"
        )
    return kind if subject is None else f"{kind}:{subject}"


@click.command(cls=OnceCommand, name="failing-hosts", epilog=EXIT_CODES)
@click.option("--all-apps", is_flag=True, help="For all apps, even if WANGTIMER_APP names one.")
@click.option("--enable", metavar="HOST", help="Let the app's firings call this disabled host again.")
@asking_of_any_app
def failing_hosts(run: CommandRun, all_apps: bool, enable: str | None) -> None:
    """Show the hosts that fail each call of an app, of all apps or of one, the longest failing first.

    A host that fails for days is disabled: firings for it fail without a call, but for one a minute and process that
    tries it.
    """
    if enable is not None:
        run.client.enable_host(enable)
    of_all = run.of_all_apps(run.client.get_failing_hosts_of_all_apps, all_apps)
    if of_all is not None:
        columns = {"app": "app", "waiting": "waiting", **_FAILING}
        run.show(of_all, lambda found: show_table(found["items"], columns))
    else:
        run.show(run.client.get_failing_hosts(), lambda found: show_table(found["items"], _FAILING))
