"""`wangtimer load`: how many firings the coming minutes have."""

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking_of_any_app
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_line, show_table
from wangtimer.client.timer_types import Load


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.option("--minutes", type=click.IntRange(1), help="How far ahead; the planned horizon by default.")
@click.option("--all-apps", is_flag=True, help="Of all apps, though one is named by WANGTIMER_APP.")
@asking_of_any_app
def load(asked: Asked, minutes: int | None, all_apps: bool) -> None:
    """Show the firings planned for each of the coming minutes, of all apps or of one."""
    asked.tell(asked.client.get_load(minutes=minutes, of_all_apps=all_apps), _show)


def _show(found: Load) -> None:
    show_table(
        ("minute", "firings", "apps"),
        ((one["minute"], one["total"], _by_app(one["apps"])) for one in found["data"]),
    )
    show_line(f"{found['total']} in all")


def _by_app(apps: dict[str, int]) -> str:
    largest_first = sorted(apps.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{app} {number}" for app, number in largest_first)
