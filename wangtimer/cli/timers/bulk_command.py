"""`wangtimer timers bulk`: enable, disable or delete many timers, round after round."""

from typing import Any, cast

import click

from wangtimer.cli.terminal.asking import EXIT_CODES, Asked, asking, end_of_many, show_trouble
from wangtimer.cli.terminal.how_soon import show_how_soon
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_line, show_table
from wangtimer.cli.terminal.rounds import carry_out, end_of_rounds
from wangtimer.cli.timers.timer_options import FILTERS_BUT_NAME, given, options
from wangtimer.client.fields import Action, BulkFilter
from wangtimer.client.timer_types import TimersChange

DONE = {"enable": "enabled", "disable": "disabled", "delete": "deleted"}


@click.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("action", type=click.Choice(list(DONE)))
@click.option("--name", "names", multiple=True, help="This very name; again for more.")
@options(*FILTERS_BUT_NAME)
@click.option("--id", "ids", type=click.IntRange(1), multiple=True, help="This timer; again for more.")
@click.option("--all", "all_timers", is_flag=True, help="Every timer of the app.")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@asking
def bulk(
    asked: Asked,
    action: Action,
    ids: tuple[int, ...],
    all_timers: bool,
    dry_run: bool,
    yes: bool,
    **filters: Any,
) -> None:
    """Enable, disable or delete every timer that matches."""
    wanted = cast(BulkFilter, given(filters))
    if not (wanted or ids or all_timers):
        raise click.UsageError("say which timers: a filter, --id, or --all")
    if ids and (wanted or all_timers):
        raise click.UsageError("--id names timers in full: leave out filters and --all")
    which: dict[str, Any] = {"wanted": wanted, "ids": ids, "all_timers": all_timers}
    counted = _count(asked, action, which)
    unknown = counted.get("unknownNames", [])
    # Named, there, and left alone: as it is to be already, or not matched by another condition.
    left_alone = max(0, len(set(wanted.get("names", ()))) - len(unknown) - counted["matched"])
    for name in unknown:
        show_trouble(f"app {asked.client.app!r} has no timer named {name!r}")
    if dry_run:
        asked.tell(counted, lambda found: show_line(f"{found['matched']} timers would be {DONE[action]}"))
        end_of_many(counted["matched"] + left_alone, len(unknown))
        return
    if action == "delete" and not yes:
        click.confirm(f"Delete {counted['matched']} timers?", abort=True, err=True)
    done = carry_out(action, counted, asked.client.change_timers_in_rounds(action, **which))
    asked.tell(done, lambda whole: _show(whole, action))
    end_of_rounds(done, done["done"] + left_alone, len(done["failed"]) + done["remaining"] + len(unknown))


def _count(asked: Asked, action: Action, which: dict[str, Any]) -> TimersChange:
    counts = list(asked.client.change_timers_in_rounds(action, **which, dry_run=True))
    matched = sum(count["matched"] for count in counts)
    return {**counts[0], "matched": matched, "remaining": matched}


def _show(done: TimersChange, action: Action) -> None:
    show_line(f"{done['done']} timers {DONE[action]}, {len(done['failed'])} failed, {done['remaining']} left")
    show_how_soon(done.get("countsWithinMs"))
    late = [one for one in done.get("stopped", []) if one["state"] != "cancelled"]
    if late:
        show_line(f"{len(late)} of them not, or perhaps not, in time for this moment; its record will say:")
        show_table(("id", "moment", "state"), ((one["id"], one["at"], one["state"]) for one in late))
    if done["failed"]:
        show_table(
            ("id", "name", "code", "why"),
            ((one["id"], one["name"], one["code"], one["msg"]) for one in done["failed"]),
        )
