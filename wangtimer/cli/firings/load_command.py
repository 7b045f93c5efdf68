"""`wangtimer load`: how many firings are planned in each future minute."""

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking_of_any_app
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_line, show_table
from wangtimer.client.timer_types import Load, MinuteOfAllApps, MinuteOfLoad


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.option("--minutes", type=click.IntRange(1), help="How far ahead; the planned horizon by default.")
@click.option("--all-apps", is_flag=True, help="Of all apps, even if WANGTIMER_APP names one.")
@asking_of_any_app
def load(asked: Asked, minutes: int | None, all_apps: bool) -> None:
    """Show the firings planned in each future minute, of all apps or of one."""

    def ask() -> Load[MinuteOfAllApps]:
        return asked.client.get_load_of_all_apps(minutes=minutes)

    found = ask() if all_apps else asked.of_all_apps(ask)
    if found is not None:
        asked.tell(found, _show_all)
    else:
        asked.tell(asked.client.get_load(minutes=minutes), _show)


def _show(found: Load[MinuteOfLoad]) -> None:
    show_table(found["items"], {"minute": "minute", "firings": "firings"})
    show_line(f"{found['firings']} in all")


def _show_all(found: Load[MinuteOfAllApps]) -> None:
    show_table(
        found["items"],
        {"minute": "minute", "firings": "firings", "apps": lambda one: _by_app(one["apps"])},
    )
    show_line(f"{found['firings']} in all")


def _by_app(apps: dict[str, int]) -> str:
    largest_first = sorted(apps.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{app} {number}" for app, number in largest_first)
