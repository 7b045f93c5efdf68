"""`wangtimer firings ...`: show, export, request and cancel firings."""

from typing import Any

import click

from wangtimer.cli.firings.export_command import export
from wangtimer.cli.firings.firing_options import FILTERS, filter_of
from wangtimer.cli.firings.firing_tables import show_cancelled, show_firing, show_firings
from wangtimer.cli.firings.replay_commands import backfill, replay
from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking, which_timer
from wangtimer.cli.terminal.listing import first_of, limited
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.output import show_pairs
from wangtimer.cli.terminal.parameter_types import FIRING
from wangtimer.cli.timers.timer_options import options


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def firings() -> None:
    """Show and request firings; a FIRING is its webhook-id, TIMER-MOMENT: 7-1795207483000."""


@firings.command("list")
@options(*FILTERS)
@limited
@asking
def list_firings(asked: Asked, limit: int, **wanted: Any) -> None:
    """List firings, latest first."""
    conditions = filter_of(wanted)
    found = first_of(lambda most: asked.client.firings(most=most, **conditions), limit)
    asked.tell(found, lambda firings: show_firings(firings, asked.client.app is None))


@firings.command()
@click.argument("firing", type=FIRING)
@asking
def show(asked: Asked, firing: str) -> None:
    """Show a FIRING with each of its attempts."""
    asked.tell(asked.client.get_firing(firing), show_firing)


@firings.command()
@options(*FILTERS)
@asking
def counts(asked: Asked, **wanted: Any) -> None:
    """Count firings by status."""
    found = asked.client.count_firings(**filter_of(wanted))
    asked.tell(found, lambda counted: show_pairs(dict(counted)))


@firings.command()
@click.argument("timer")
@asking
def fire(asked: Asked, timer: str) -> None:
    """Fire a TIMER now, whatever its schedule."""
    asked.tell(asked.client.fire_timer(which_timer(timer)), show_firing)


@firings.command()
@click.argument("firing", type=FIRING)
@asking
def cancel(asked: Asked, firing: str) -> None:
    """Cancel a future FIRING: it is skipped."""
    asked.tell(asked.client.cancel_firing(firing), show_cancelled)


firings.add_command(export)
firings.add_command(replay)
firings.add_command(backfill)
