"""`wangtimer firings replay`, `backfill` and `wangtimer dead-letters ...`: what makes firings again, in rounds."""

from typing import Any, get_args

import click

from wangtimer.cli.terminal.asking import (
    EXIT_CODES,
    CommandRun,
    asking,
    carry_out_rounds,
    end_of_rounds,
    which_timer,
)
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import Columns, first_of, limited, show_line, show_table
from wangtimer.cli.terminal.parameter_types import FIRING, PAST, SPAN
from wangtimer.cli.timers.timer_options import given, options
from wangtimer.client import Spread
from wangtimer.client.filters import FiringKind, FiringStatus, Replayable, Replayed
from wangtimer.client.firing_types import Backfill, DeadLetter, DeadLetterCounts, DiscardedLetters, Replay

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
CONDITIONS = (
    click.option("--timer", help="Of this timer only: its id or key."),
    click.option(
        "--reason",
        help="http_503 and the like, timed_out, not_connected, broken_off, not_taken, refused, host_disabled, nacked, "
        "not_acked or not_made.",
    ),
    click.option("--host", help="The last attempt called this host, or HOST:PORT."),
    click.option("--target", help="Their timers named this target."),
    click.option(
        "--since",
        type=PAST,
        help="Failed for good from this moment on: RFC 3339, ms, or a time ago such as 2h.",
    ),
    click.option("--until", type=PAST, help="Failed for good up to this moment."),
)
PER_SECOND = click.option(
    "--per-second", type=click.IntRange(1, 1_000), help="Calls a second; 50 by default."
)
# A dry run of a backfill counts at most this many moments.
MOST_COUNTED = 100_000
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only count them.")


def filter_of(wanted: dict[str, Any]) -> Any:
    """Return the given options as the client's arguments."""
    found = given(wanted)
    return found | ({"timer": which_timer(found["timer"])} if "timer" in found else {})


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
    run: CommandRun,
    firings: tuple[str, ...],
    timer: str | None,
    since: Any,
    until: Any,
    statuses: tuple[Replayable, ...],
    per_second: int | None,
    dry_run: bool,
) -> None:
    """Make FIRINGS again: the named ones, or all that failed (or with --status skipped) --since a moment."""
    spread = _spread_of(per_second)
    if bool(firings) == (since is not None):
        raise click.UsageError("say which: FIRINGS, or --since")
    if firings:
        if timer or until or statuses:
            raise click.UsageError("FIRINGS are named in full: leave out --timer, --until and --status")
        done = run.client.replay_firings(ids=firings, spread={**spread, "dryRun": dry_run})
    else:
        wanted: Replayed = {"since": since, "until": until, "statuses": statuses or ("failed",)}
        if timer is not None:
            wanted["timer"] = which_timer(timer)
        counted = run.client.replay_firings(**wanted, spread={**spread, "dryRun": True})
        rounds = run.client.replay_in_rounds(**wanted, spread=spread)
        done = counted if dry_run else carry_out_rounds("replay", counted, rounds)
    _tell_replay(run, done, dry_run)


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("timer")
@click.option("--since", type=PAST, required=True, help="RFC 3339, ms, or a time ago such as 2h.")
@click.option("--until", type=PAST, required=True)
@PER_SECOND
@DRY_RUN
@asking
def backfill(
    run: CommandRun, timer: str, since: Any, until: Any, per_second: int | None, dry_run: bool
) -> None:
    """Make the firings of a TIMER's past moments that have none."""
    which, spread = which_timer(timer), _spread_of(per_second)
    only_counting: Spread = {**spread, "dryRun": True}
    counted = run.client.backfill_timer(which, since=since, until=until, **only_counting)
    rounds = run.client.backfill_in_rounds(which, since=since, until=until, **spread)
    done = counted if dry_run else carry_out_rounds("backfill", counted, rounds)
    run.show(done, lambda whole: _show_backfill(whole, dry_run))
    if not dry_run:
        end_of_rounds(done, done["planned"], done["remaining"])


def _spread_of(per_second: int | None) -> Spread:
    return {} if per_second is None else {"perSecond": per_second}


def _show_backfill(done: Backfill, is_dry: bool) -> None:
    if is_dry:
        least = "at least " if done["matched"] >= MOST_COUNTED else ""
        show_line(f"{least}{done['remaining']} firings would be planned, of {least}{done['matched']} moments")
    else:
        show_line(f"{done['planned']} firings planned, {done['remaining']} moments left")


def _tell_replay(run: CommandRun, done: Replay, is_dry: bool) -> None:
    """Print what a replay did, or would do; exit as the end of rounds does."""
    run.show(done, lambda whole: _show_replay(whole, is_dry))
    if not is_dry:
        end_of_rounds(done, done["replayed"], len(done["notReplayed"]) + done["remaining"])


def _show_replay(done: Replay, is_dry: bool) -> None:
    if is_dry:
        show_line(f"{done['matched']} firings would be replayed")
    else:
        show_line(f"{done['replayed']} firings replayed, {done['remaining']} left")
    if done["notReplayed"]:
        show_table(done["notReplayed"], {"firing": "id", "why not": "detail"})


@click.group(name="dead-letters", cls=OnceGroup, epilog=EXIT_CODES)
def dead_letters() -> None:
    """Show, replay and discard firings that have failed for good."""


@dead_letters.command("list")
@options(*CONDITIONS)
@limited
@asking
def list_letters(run: CommandRun, limit: int, **wanted: Any) -> None:
    """List dead letters, the latest first."""
    conditions = filter_of(wanted)
    found = first_of(lambda most: run.client.dead_letters(most=most, **conditions), limit)
    run.show_rows(found, _LETTERS, tells_app=True)


@dead_letters.command()
@options(*CONDITIONS)
@asking
def counts(run: CommandRun, **wanted: Any) -> None:
    """Count dead letters by reason, and by what they called."""
    run.show(run.client.count_dead_letters(**filter_of(wanted)), _show_counts)


@dead_letters.command("replay")
@click.argument("firings", nargs=-1, type=FIRING)
@options(*CONDITIONS)
@PER_SECOND
@DRY_RUN
@asking
def replay_letters(
    run: CommandRun, firings: tuple[str, ...], per_second: int | None, dry_run: bool, **wanted: Any
) -> None:
    """Attempt FIRINGS once more: the named ones, or all that failed for good --since a moment."""
    chosen, spread = _chosen(firings, wanted), _spread_of(per_second)
    if firings:
        done = run.client.replay_dead_letters(**chosen, spread={**spread, "dryRun": dry_run})
    else:
        counted = run.client.replay_dead_letters(**chosen, spread={**spread, "dryRun": True})
        rounds = run.client.replay_dead_letters_in_rounds(**chosen, spread=spread)
        done = counted if dry_run else carry_out_rounds("replay", counted, rounds)
    _tell_replay(run, done, dry_run)


@dead_letters.command()
@click.argument("firings", nargs=-1, type=FIRING)
@options(*CONDITIONS)
@DRY_RUN
@click.option("--yes", is_flag=True, help="Discard without asking.")
@asking
def discard(run: CommandRun, firings: tuple[str, ...], dry_run: bool, yes: bool, **wanted: Any) -> None:
    """Discard the dead letters of FIRINGS, or all --since a moment. The records of the firings stay."""
    chosen = _chosen(firings, wanted)
    counted = run.client.discard_dead_letters(**chosen, dry_run=True)
    if dry_run:
        run.show(counted, lambda found: show_line(f"{found['matched']} dead letters would be discarded"))
        return
    if counted["matched"] and not yes:
        click.confirm(f"Discard {counted['matched']} dead letters?", abort=True, err=True)
    if firings:
        done = run.client.discard_dead_letters(**chosen)
    else:
        done = carry_out_rounds("discard", counted, run.client.discard_dead_letters_in_rounds(**chosen))
    run.show(done, _show_discarded)
    end_of_rounds(done, done["discarded"], len(done["notDiscarded"]) + done["remaining"])


def _chosen(firings: tuple[str, ...], wanted: dict[str, Any]) -> Any:
    conditions = filter_of(wanted)
    if not firings and "since" not in conditions:
        raise click.UsageError("say which: FIRINGS, or --since")
    if firings and conditions:
        raise click.UsageError("FIRINGS are named in full: leave the other options out")
    return {"ids": firings} if firings else conditions


_LETTERS: Columns[DeadLetter] = {
    "firing": "id",
    "timer": "timerKey",
    "failed": "failedAt",
    "reason": "reason",
    "called": lambda letter: letter["target"] or letter["host"],
    "url": lambda letter: letter.get("url"),
    "attempt": "attempt",
    "error": "error",
}


def _show_counts(found: DeadLetterCounts) -> None:
    show_line(f"{found['total']} dead letters")
    show_table(found["byReason"], {"reason": "reason", "number": "number"})
    show_table(found["byTarget"], {"target": "target", "host": "host", "number": "number"})


def _show_discarded(done: DiscardedLetters) -> None:
    show_line(f"{done['discarded']} dead letters discarded, {done['remaining']} left")
    for firing in done["notDiscarded"]:
        show_line(f"{firing} is no dead letter")
