"""The options that say which firings."""

from typing import Any, get_args

import click

from wangtimer.cli.terminal.asking import which_timer
from wangtimer.cli.terminal.parameter_types import PAST, SPAN
from wangtimer.cli.timers.timer_options import given
from wangtimer.client.filters import FiringKind, FiringStatus

TIMER = click.option("--timer", help="Firings of this timer only: its id or key.")
SINCE = click.option(
    "--since", type=PAST, help="From this moment on: RFC 3339, ms, or a time ago such as 2h."
)
UNTIL = click.option("--until", type=PAST, help="Up to this moment; now by default.")
FILTERS = (
    TIMER,
    click.option("--tag", help="Firings of timers with this tag."),
    click.option("--status", type=click.Choice(get_args(FiringStatus))),
    click.option("--kind", type=click.Choice(get_args(FiringKind))),
    SINCE,
    UNTIL,
    click.option("--later-than", "laterThan", type=SPAN, help="First sent later than this."),
)


def filter_of(wanted: dict[str, Any]) -> Any:
    """Return the given options as the client's arguments."""
    found = given(wanted)
    return found | ({"timer": which_timer(found["timer"])} if "timer" in found else {})
