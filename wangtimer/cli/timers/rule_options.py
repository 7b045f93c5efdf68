"""The options that say what a timer's rule is, and the rule as a person reads it."""

from collections.abc import Mapping
from typing import Any

import click

from wangtimer.cli.terminal.parameter_types import DURATION, MOMENT
from wangtimer.client.timer_types import Timer

RULE = (
    click.option("--cron", help="5 fields; or 6 or 7 with SECONDS FIRST; or @daily, ..."),
    click.option(
        "--dialect",
        "cron_dialect",
        type=click.Choice(["unix", "quartz"]),
        help="How --cron is read: unix by default; quartz counts weekdays from 1, Sunday.",
    ),
    click.option("--every", "every_ms", type=DURATION, help="An interval, as in 90s."),
    click.option("--anchor", "anchor_at", type=MOMENT, help="A moment intervals are counted from."),
    click.option("--at", type=MOMENT, help="One moment: RFC 3339, or ms since 1970."),
    click.option("--in", "delay_ms", type=DURATION, help="One moment, so long from now: 10m, 1h30m."),
)
# Those of which one says when.
_RULES = {"cron": "--cron", "every_ms": "--every", "at": "--at", "delay_ms": "--in"}


def refuse_unclear(fields: Mapping[str, Any], needs_one: bool = True) -> None:
    """Refuse as wrong use a schedule of two rules or, where it needs one, of none."""
    found = [option for name, option in _RULES.items() if fields.get(name) is not None]
    if len(found) > 1:
        raise click.UsageError(f"say when in one way, not {' and '.join(found)}")
    if needs_one and not found:
        raise click.UsageError(f"say when: exactly one of {', '.join(_RULES.values())}")


def when(timer: Timer) -> str:
    """Return a timer's rule in one phrase."""
    if "cron" in timer:
        dialect = "" if timer.get("cronDialect", "unix") == "unix" else f"{timer['cronDialect']}, "
        return f"{timer['cron']} ({dialect}{timer['timezone']})"
    return f"every {timer['everyMs']} ms" if "everyMs" in timer else f"at {timer['at']}"
