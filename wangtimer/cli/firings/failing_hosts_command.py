"""`wangtimer failing-hosts`: the hosts to which calls wait, because call after call failed."""

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking_of_any_app
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_table
from wangtimer.client.firing_types import FailingHost, FailingHosts, FailingHostsOfAllApps


@click.command(cls=OnceCommand, name="failing-hosts", epilog=EXIT_CODES)
@click.option("--all-apps", is_flag=True, help="For all apps, even if WANGTIMER_APP names one.")
@asking_of_any_app
def failing_hosts(asked: Asked, all_apps: bool) -> None:
    """Show the hosts that fail each call of an app, of all apps or of one, the longest failing first."""
    ask = asked.client.get_failing_hosts_of_all_apps
    found = ask() if all_apps else asked.of_all_apps(ask)
    if found is not None:
        asked.tell(found, _show_all)
    else:
        asked.tell(asked.client.get_failing_hosts(), _show)


def _show(found: FailingHosts) -> None:
    show_table(("host", "since", "last failed", "error"), (_cells(one) for one in found["items"]))


def _show_all(found: FailingHostsOfAllApps) -> None:
    show_table(
        ("app", "waiting", "host", "since", "last failed", "error"),
        ((one["app"], one["waiting"], *_cells(one)) for one in found["items"]),
    )


def _cells(one: FailingHost) -> tuple[str, str, str, str]:
    return one["host"], one["since"], one["lastFailedAt"], one["lastError"]
