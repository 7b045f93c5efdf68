"""`wangtimer hosts ...`: limits of calls to target hosts, over all apps."""

from typing import Any

import click

from wangtimer.cli.apps.app_commands import NONE, Limit
from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, operating
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.output import show_line, show_table
from wangtimer.client.app_types import HostLimit


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
def limit(asked: Asked, host: str, **limits: Any) -> None:
    """Limit the calls to HOST, a name with a port, or * for every host without a limit of its own.

    It takes the place of a former limit.
    """
    given = {name: value for name, value in limits.items() if value not in (None, NONE)}
    if not given:
        raise click.UsageError(
            "name a limit: --calls-per-second or --calls-at-once; `hosts free` takes it out"
        )
    asked.tell(asked.client.limit_host(host, **given), lambda one: _show_all([one]))


@hosts.command()
@click.argument("host", callback=_name_and_port)
@operating
def free(asked: Asked, host: str) -> None:
    """Take out the limit of HOST; that of every other host (*) counts for it then."""
    asked.client.free_host(host)
    asked.tell({"host": host}, lambda _: show_line(f"{host} has no limit of its own"))


@hosts.command("list")
@operating
def list_hosts(asked: Asked) -> None:
    """List the limits of hosts."""
    asked.tell(list(asked.client.host_limits()), _show_all)


def _show_all(found: list[HostLimit]) -> None:
    columns = {"host": "host", "calls a second": "callsPerSecond", "calls at once": "callsAtOnce"}
    show_table(found, columns)
