"""`wangtimer failing-hosts`: the hosts to which calls wait, or are made no more, because call after call failed."""

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking_of_any_app
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_table
from wangtimer.client.answer import Listed
from wangtimer.client.firing_types import FailingHost, FailingHostOfApp


@click.command(cls=OnceCommand, name="failing-hosts", epilog=EXIT_CODES)
@click.option("--all-apps", is_flag=True, help="For all apps, even if WANGTIMER_APP names one.")
@click.option("--enable", metavar="HOST", help="Let the app's firings call this disabled host again.")
@asking_of_any_app
def failing_hosts(asked: Asked, all_apps: bool, enable: str | None) -> None:
    """Show the hosts that fail each call of an app, of all apps or of one, the longest failing first.

    A host that fails for days is disabled: firings for it fail without a call, but for one a minute and process that
    tries it.
    """
    if enable is not None:
        asked.client.enable_host(enable)
    ask = asked.client.get_failing_hosts_of_all_apps
    found = ask() if all_apps else asked.of_all_apps(ask)
    if found is not None:
        asked.tell(found, _show_all)
    else:
        asked.tell(asked.client.get_failing_hosts(), _show)


_COLUMNS = {
    "host": "host",
    "since": "since",
    "last failed": "lastFailedAt",
    "error": "lastError",
    "disabled": "disabledAt",
}


def _show(found: Listed[FailingHost]) -> None:
    show_table(found["items"], _COLUMNS)


def _show_all(found: Listed[FailingHostOfApp]) -> None:
    show_table(found["items"], {"app": "app", "waiting": "waiting", **_COLUMNS})
