"""A cron expression as it is stored: `*/5 * * * *`, or with its dialect before it, `quartz 0 0 9 ? * 2`.

A version that does not know a dialect reads its name as a field, and refuses the expression: it must not take one
weekday for another.
"""

from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_dialect import CronDialect


def cron_text(cron: Cron) -> str:
    """Return the expression as it is stored."""
    return cron.expression if cron.dialect is CronDialect.UNIX else f"{cron.dialect} {cron.expression}"


def cron_from(text: str, timezone: str) -> Cron:
    """Read back what `cron_text` wrote; an expression in an unknown dialect can be read, but not planned."""
    name, _, expression = text.partition(" ")
    if name == CronDialect.QUARTZ:
        return Cron(expression, timezone, CronDialect.QUARTZ)
    return Cron(text, timezone)
