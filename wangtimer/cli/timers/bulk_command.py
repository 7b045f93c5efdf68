"""`wangtimer timers bulk`: enable, disable or delete many timers, in rounds."""

from typing import Any

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking, end_of_many, show_trouble
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_how_soon, show_line, show_table
from wangtimer.cli.terminal.rounds import carry_out, end_of_rounds
from wangtimer.cli.timers.timer_options import FILTERS_BUT_KEY, filter_of, options
from wangtimer.client import ManyTimers, TimerFilter
from wangtimer.client.filters import Action
from wangtimer.client.timer_types import ManyTimersOutcome

DONE = {"enable": "enabled", "disable": "disabled", "delete": "deleted"}


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("action", type=click.Choice(list(DONE)))
@options(*FILTERS_BUT_KEY)
@click.option("--key", "keys", multiple=True, help="The timer with this key; may be repeated.")
@click.option("--id", "ids", type=click.IntRange(1), multiple=True, help="This timer; may be repeated.")
@click.option("--all", "all_timers", is_flag=True, help="Every timer of the app.")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@asking
def bulk(
    asked: Asked,
    action: Action,
    keys: tuple[str, ...],
    ids: tuple[int, ...],
    all_timers: bool,
    dry_run: bool,
    yes: bool,
    **filters: Any,
) -> None:
    """Enable, disable or delete many timers: by filter, by keys, by ids, or all."""
    which = _which(keys, ids, all_timers, filters)
    counted = _count(asked, action, which)
    unknown = counted.get("unknownKeys", [])
    # Existing timers that were named but need no change.
    left_alone = max(0, len(set(keys)) - len(unknown) - counted["matched"])
    for key in unknown:
        show_trouble(f"app {asked.client.app!r} has no timer with the key {key!r}")
    if dry_run:
        asked.tell(counted, lambda found: show_line(f"{found['matched']} timers would be {DONE[action]}"))
        end_of_many(counted["matched"] + left_alone, len(unknown))
        return
    if action == "delete" and not yes:
        click.confirm(f"Delete {counted['matched']} timers?", abort=True, err=True)
    done = carry_out(action, counted, asked.client.change_timers_in_rounds(action, **which))
    asked.tell(done, lambda whole: _show(whole, action))
    end_of_rounds(done, done["done"] + left_alone, len(done["failed"]) + done["remaining"] + len(unknown))


def _which(
    keys: tuple[str, ...], ids: tuple[int, ...], all_timers: bool, filters: dict[str, Any]
) -> ManyTimers:
    conditions: TimerFilter = filter_of(filters)
    said = {"--key": keys, "--id": ids, "--all": all_timers, "a filter": conditions}
    given = [name for name, value in said.items() if value]
    if len(given) != 1:
        found = f", not {' and '.join(given)}" if given else ""
        raise click.UsageError(f"say which timers by one of a filter, --key, --id and --all{found}")
    if keys:
        return {"keys": keys}
    if ids:
        return {"ids": ids}
    return {"all": True} if all_timers else {"filter": conditions}


def _count(asked: Asked, action: Action, which: ManyTimers) -> ManyTimersOutcome:
    counts = list(asked.client.change_timers_in_rounds(action, **which, dry_run=True))
    matched = sum(count["matched"] for count in counts)
    unknown = [key for count in counts for key in count.get("unknownKeys", [])]
    whole: ManyTimersOutcome = {**counts[0], "matched": matched, "remaining": matched}
    return {**whole, "unknownKeys": unknown} if "keys" in which else whole


def _show(done: ManyTimersOutcome, action: Action) -> None:
    show_line(f"{done['done']} timers {DONE[action]}, {len(done['failed'])} failed, {done['remaining']} left")
    show_how_soon(done.get("countsWithin"))
    late = [one for one in done["stopped"] if one["state"] != "cancelled"]
    if late:
        show_line(f"{len(late)} of them perhaps too late for this moment; its record will say:")
        show_table(late, {"id": "id", "moment": "at", "state": "state"})
    if done["failed"]:
        show_table(
            done["failed"],
            {
                "id": "id",
                "key": "key",
                "code": lambda one: one["problem"]["code"],
                "why": lambda one: one["problem"]["detail"],
            },
        )
