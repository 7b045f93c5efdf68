"""`wangtimer dead-letters ...`: list, count, replay and discard what has failed for good."""

from collections.abc import Iterable
from typing import Any

import click

from wangtimer.cli.firings.firing_options import filter_of
from wangtimer.cli.firings.replay_commands import DRY_RUN, PER_SECOND, spread_of, tell_replay
from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking
from wangtimer.cli.terminal.listing import first_of, limited
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.output import show_line, show_table
from wangtimer.cli.terminal.parameter_types import FIRING, PAST
from wangtimer.cli.terminal.rounds import carry_out, end_of_rounds
from wangtimer.cli.timers.timer_options import options
from wangtimer.client.dead_letter_calls import DeadLetter, DeadLetterCounts, DiscardedLetters

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


@click.group(name="dead-letters", cls=OnceGroup, epilog=EXIT_CODES)
def dead_letters() -> None:
    """Show, replay and discard firings that have failed for good."""


@dead_letters.command("list")
@options(*CONDITIONS)
@limited
@asking
def list_letters(asked: Asked, limit: int, **wanted: Any) -> None:
    """List dead letters, the latest first."""
    conditions = filter_of(wanted)
    found = first_of(lambda most: asked.client.dead_letters(most=most, **conditions), limit)
    asked.tell(found, lambda letters: _show(letters, asked.client.app is None))


@dead_letters.command()
@options(*CONDITIONS)
@asking
def counts(asked: Asked, **wanted: Any) -> None:
    """Count dead letters by reason, and by what they called."""
    asked.tell(asked.client.count_dead_letters(**filter_of(wanted)), _show_counts)


@dead_letters.command()
@click.argument("firings", nargs=-1, type=FIRING)
@options(*CONDITIONS)
@PER_SECOND
@DRY_RUN
@asking
def replay(
    asked: Asked, firings: tuple[str, ...], per_second: int | None, dry_run: bool, **wanted: Any
) -> None:
    """Attempt FIRINGS once more: the named ones, or all that failed for good --since a moment."""
    chosen, spread = _chosen(firings, wanted), spread_of(per_second)
    if firings:
        done = asked.client.replay_dead_letters(**chosen, spread={**spread, "dryRun": dry_run})
    else:
        counted = asked.client.replay_dead_letters(**chosen, spread={**spread, "dryRun": True})
        rounds = asked.client.replay_dead_letters_in_rounds(**chosen, spread=spread)
        done = counted if dry_run else carry_out("replay", counted, rounds)
    tell_replay(asked, done, dry_run)


@dead_letters.command()
@click.argument("firings", nargs=-1, type=FIRING)
@options(*CONDITIONS)
@DRY_RUN
@click.option("--yes", is_flag=True, help="Discard without asking.")
@asking
def discard(asked: Asked, firings: tuple[str, ...], dry_run: bool, yes: bool, **wanted: Any) -> None:
    """Discard the dead letters of FIRINGS, or all --since a moment. The records of the firings stay."""
    chosen = _chosen(firings, wanted)
    counted = asked.client.discard_dead_letters(**chosen, dry_run=True)
    if dry_run:
        asked.tell(counted, lambda found: show_line(f"{found['matched']} dead letters would be discarded"))
        return
    if counted["matched"] and not yes:
        click.confirm(f"Discard {counted['matched']} dead letters?", abort=True, err=True)
    if firings:
        done = asked.client.discard_dead_letters(**chosen)
    else:
        done = carry_out("discard", counted, asked.client.discard_dead_letters_in_rounds(**chosen))
    asked.tell(done, _show_discarded)
    end_of_rounds(done, done["discarded"], len(done["notDiscarded"]) + done["remaining"])


def _chosen(firings: tuple[str, ...], wanted: dict[str, Any]) -> Any:
    conditions = filter_of(wanted)
    if not firings and "since" not in conditions:
        raise click.UsageError("say which: FIRINGS, or --since")
    if firings and conditions:
        raise click.UsageError("FIRINGS are named in full: leave the other options out")
    return {"ids": firings} if firings else conditions


def _show(letters: Iterable[DeadLetter], of_all_apps: bool) -> None:
    show_table(
        letters,
        {
            **({"app": "app"} if of_all_apps else {}),
            "firing": "id",
            "timer": "timerKey",
            "failed": "failedAt",
            "reason": "reason",
            "called": lambda one: one["target"] or one["host"],
            "url": lambda one: one.get("url"),
            "attempt": "attempt",
            "error": "error",
        },
    )


def _show_counts(found: DeadLetterCounts) -> None:
    show_line(f"{found['total']} dead letters")
    show_table(found["byReason"], {"reason": "reason", "number": "number"})
    show_table(found["byTarget"], {"target": "target", "host": "host", "number": "number"})


def _show_discarded(done: DiscardedLetters) -> None:
    show_line(f"{done['discarded']} dead letters discarded, {done['remaining']} left")
    for one in done["notDiscarded"]:
        show_line(f"{one} is no dead letter")
