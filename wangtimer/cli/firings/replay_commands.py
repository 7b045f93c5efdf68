"""`wangtimer firings replay` and `backfill`: make firings again, or for the first time, in rounds."""

from typing import Any, get_args

import click

from wangtimer.cli.firings.firing_options import SINCE, TIMER, UNTIL
from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking, which_timer
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_line, show_table
from wangtimer.cli.terminal.parameter_types import FIRING, PAST
from wangtimer.cli.terminal.rounds import carry_out, end_of_rounds
from wangtimer.cli.timers.timer_options import options
from wangtimer.client import Spread
from wangtimer.client.filters import Replayable, Replayed
from wangtimer.client.firing_types import Backfill, Replay

PER_SECOND = click.option(
    "--per-second", type=click.IntRange(1, 1_000), help="Calls a second; 50 by default."
)
# A dry run of a backfill counts at most this many moments.
MOST_COUNTED = 100_000
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only count them.")


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("firings", nargs=-1, type=FIRING)
@options(TIMER, SINCE, UNTIL)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(get_args(Replayable)),
    help="failed by default; may be repeated. skipped includes firings that were disabled, superseded or cancelled.",
)
@PER_SECOND
@DRY_RUN
@asking
def replay(
    asked: Asked,
    firings: tuple[str, ...],
    timer: str | None,
    since: Any,
    until: Any,
    statuses: tuple[Replayable, ...],
    per_second: int | None,
    dry_run: bool,
) -> None:
    """Make FIRINGS again: the named ones, or all that failed (or with --status skipped) --since a moment."""
    spread = spread_of(per_second)
    if bool(firings) == (since is not None):
        raise click.UsageError("say which: FIRINGS, or --since")
    if firings:
        if timer or until or statuses:
            raise click.UsageError("FIRINGS are named in full: leave out --timer, --until and --status")
        done = asked.client.replay_firings(ids=firings, spread={**spread, "dryRun": dry_run})
    else:
        wanted: Replayed = {"since": since, "until": until, "statuses": statuses or ("failed",)}
        if timer is not None:
            wanted["timer"] = which_timer(timer)
        counted = asked.client.replay_firings(**wanted, spread={**spread, "dryRun": True})
        rounds = asked.client.replay_in_rounds(**wanted, spread=spread)
        done = counted if dry_run else carry_out("replay", counted, rounds)
    tell_replay(asked, done, dry_run)


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("timer")
@click.option("--since", type=PAST, required=True, help="RFC 3339, ms, or a time ago such as 2h.")
@click.option("--until", type=PAST, required=True)
@PER_SECOND
@DRY_RUN
@asking
def backfill(asked: Asked, timer: str, since: Any, until: Any, per_second: int | None, dry_run: bool) -> None:
    """Make the firings of a TIMER's past moments that have none."""
    which, spread = which_timer(timer), spread_of(per_second)
    only_counting: Spread = {**spread, "dryRun": True}
    counted = asked.client.backfill_timer(which, since=since, until=until, **only_counting)
    rounds = asked.client.backfill_in_rounds(which, since=since, until=until, **spread)
    done = counted if dry_run else carry_out("backfill", counted, rounds)
    asked.tell(done, lambda whole: _show_backfill(whole, dry_run))
    if not dry_run:
        end_of_rounds(done, done["planned"], done["remaining"])


def spread_of(per_second: int | None) -> Spread:
    """Return the given rate as the client's argument."""
    return {} if per_second is None else {"perSecond": per_second}


def _show_backfill(done: Backfill, is_dry: bool) -> None:
    if is_dry:
        least = "at least " if done["matched"] >= MOST_COUNTED else ""
        show_line(f"{least}{done['remaining']} firings would be planned, of {least}{done['matched']} moments")
    else:
        show_line(f"{done['planned']} firings planned, {done['remaining']} moments left")


def tell_replay(asked: Asked, done: Replay, is_dry: bool) -> None:
    """Print what a replay did, or would do; exit as the end of rounds does."""
    asked.tell(done, lambda whole: _show_replay(whole, is_dry))
    if not is_dry:
        end_of_rounds(done, done["replayed"], len(done["notReplayed"]) + done["remaining"])


def _show_replay(done: Replay, is_dry: bool) -> None:
    if is_dry:
        show_line(f"{done['matched']} firings would be replayed")
    else:
        show_line(f"{done['replayed']} firings replayed, {done['remaining']} left")
    if done["notReplayed"]:
        show_table(done["notReplayed"], {"firing": "id", "why not": "detail"})
