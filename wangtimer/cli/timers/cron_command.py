"""`wangtimer cron`: previews a cron expression, without a server."""

import sys
import time

import click

from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_json
from wangtimer.cli.timers.timer_tables import show_preview
from wangtimer.client.timer_types import Preview
from wangtimer.core.cron.cron import Cron
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.errors import InvalidSchedule
from wangtimer.core.previews.previews import preview_of
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.words.words import Language

MOST_SHOWN = 1_000


@click.command(cls=OnceCommand)
@click.argument("expression")
@click.option(
    "--tz",
    "--timezone",
    "tz",
    default="UTC",
    show_default=True,
    help="The IANA zone of its wall times.",
)
@click.option(
    "--dialect",
    type=click.Choice([dialect.value for dialect in CronDialect]),
    default=CronDialect.UNIX.value,
    show_default=True,
    help="How it is read; quartz counts weekdays from 1, Sunday.",
)
@click.option(
    "-n",
    "count",
    type=click.IntRange(1, MOST_SHOWN),
    default=10,
    show_default=True,
    help="Show at most this many moments.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what POST /v1/schedules:preview would answer.")
def cron(expression: str, tz: str, dialect: str, count: int, as_json: bool) -> None:
    """Show the next moments of a cron EXPRESSION, the schedule in words, and warnings.

    It needs no server. Six or seven fields have the SECONDS FIRST. Exits with 2 where the expression or the zone cannot
    be read.
    """
    try:
        schedule = Cron.read(expression, tz, CronDialect(dialect))
    except InvalidSchedule as error:
        meant = "" if error.meant is None or error.meant in str(error) else f"; meant: {error.meant}"
        click.echo(f"wangtimer: {str(error).removeprefix('schedule.')}{meant}", err=True)
        sys.exit(2)
    found = preview(schedule, int(time.time() * 1_000), count)
    if as_json:
        show_json(found)
    else:
        show_preview(found, tz)


def preview(schedule: Cron, now_ms: int, count: int) -> Preview:
    """Return the answer of a preview: the next `count` moments after `now_ms` (ms UTC), words and warnings."""
    found = preview_of(schedule, now_ms, count)
    return {
        "nextMoments": [
            {"at": show_moment(moment, found.zone), "utc": show_moment(moment)} for moment in found.moments
        ],
        "words": {"en": found.words[Language.EN], "zh": found.words[Language.ZH]},
        "warnings": [
            {"code": warning.code.value, "text": warning.text, "textZh": warning.text_zh}
            for warning in found.warnings
        ],
    }
