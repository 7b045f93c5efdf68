"""Work in rounds, until nothing is left or the service fails, and the sum of all rounds."""

from collections.abc import Iterable
from typing import Any, TypeVar, cast

import click

from wangtimer.cli.terminal.asking import PARTLY, end_of_many, show_trouble
from wangtimer.cli.terminal.output import progress
from wangtimer.client import ClientError
from wangtimer.client.answer import Round
from wangtimer.client.values import read_span

Whole = TypeVar("Whole", bound=Round)

# Fields that each round counts for itself; other fields are taken from the last round.
_ADDED = frozenset({"done", "failed", "stopped", "replayed", "discarded", "notReplayed", "planned"})


def carry_out(name: str, counted: Whole, rounds: Iterable[Whole]) -> Whole:
    """Return the sum of all rounds; `counted` is what a dry run counted. A failure between rounds is printed.

    Raises `ClientError` where nothing is known to be done.
    """
    whole = cast(Whole, {**counted, "wasInDoubt": False})
    with progress() as bar:
        task = bar.add_task(name, total=counted["matched"])
        try:
            for done in rounds:
                whole = joined(whole, done)
                bar.update(task, completed=counted["matched"] - whole["remaining"])
        except ClientError as error:
            if not (whole["wasInDoubt"] or any(whole.get(key) for key in _ADDED)):
                raise
            show_trouble(f"it broke off: {error}")
    return whole


def joined(whole: Whole, then: Whole) -> Whole:
    """Return the sum of two rounds, one after the other."""
    was, now = cast(dict[str, Any], whole), cast(dict[str, Any], then)
    sums = {key: was[key] + now[key] if key in was else now[key] for key in _ADDED & now.keys()}
    kept = {"matched": was["matched"], "wasInDoubt": was["wasInDoubt"] or now["wasInDoubt"]}
    # A later round no longer finds the timers that this one deleted.
    kept |= {"unknownKeys": was["unknownKeys"]} if "unknownKeys" in was else {}
    soon = [one["countsWithin"] for one in (was, now) if "countsWithin" in one]
    kept |= {"countsWithin": max(soon, key=read_span)} if soon else {}
    dues = {
        key: one or other
        for key, one, other in (
            ("firstDueAt", was.get("firstDueAt"), now.get("firstDueAt")),
            ("lastDueAt", now.get("lastDueAt"), was.get("lastDueAt")),
        )
        if key in now
    }
    return cast(Whole, now | sums | kept | dues)


def end_of_rounds(whole: Round, done: int, undone: int) -> None:
    """Exit as `end_of_many` does, but with 3 where an answer was lost: more may be done than is counted."""
    if whole["wasInDoubt"]:
        show_trouble("an answer was lost: at least this much was done")
        click.get_current_context().exit(PARTLY)
    end_of_many(done, undone)
