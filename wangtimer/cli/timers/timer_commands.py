"""`wangtimer timers ...`: make, show, change and follow timers, one or many."""

from typing import Any, get_args

import click

from wangtimer.cli.terminal.asking import (
    EXIT_CODES,
    CommandRun,
    asking,
    carry_out_rounds,
    end_of_many,
    end_of_rounds,
    show_trouble,
    which_timer,
)
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import (
    first_of,
    limited,
    show_how_soon,
    show_json_line,
    show_line,
    show_table,
)
from wangtimer.cli.terminal.parameter_types import PAST
from wangtimer.cli.timers.timer_options import (
    CALL,
    CLEARED,
    FILTERS,
    FILTERS_BUT_KEY,
    SCHEDULE,
    TASK,
    TERMS,
    call_of,
    filter_of,
    is_given,
    options,
    refuse_unclear,
    task_of,
    timer_fields,
)
from wangtimer.cli.timers.timer_tables import (
    TIMERS,
    show_changed,
    show_deletion,
    show_preview,
    show_switched_off,
    show_timer,
)
from wangtimer.client import Firing, ManyTimers, TimerFilter
from wangtimer.client.filters import Action, Sort
from wangtimer.client.timer_types import ManyTimersOutcome

CLEARED_OF_CALL = ("headers", "body")
# The policy as a whole.
RETRY = "retry"
_TARGET = click.option(
    "--target", "--callback", "url_to_call", metavar="URL", help="The URL to call; or else --through."
)
_VERSION = click.option(
    "--version", type=click.IntRange(1), help="Refuse if the timer has changed since this version."
)


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def timers() -> None:
    """Make, show, change and follow timers; a TIMER is its id or its key (key:NUMBER for a key that is a number)."""


@timers.command("list")
@options(*FILTERS)
@click.option(
    "--sort",
    type=click.Choice(get_args(Sort)),
    default="id",
    show_default=True,
    help="With a minus the largest comes first.",
)
@limited
@asking
def list_timers(run: CommandRun, sort: Any, limit: int, **wanted: Any) -> None:
    """List timers."""
    conditions = filter_of(wanted)
    found = first_of(lambda most: run.client.timers(sort=sort, most=most, **conditions), limit)
    run.show_rows(found, TIMERS, tells_app=True)


@timers.command()
@click.argument("timer")
@asking
def show(run: CommandRun, timer: str) -> None:
    """Show a whole TIMER."""
    run.show(run.client.get_timer(which_timer(timer)), show_timer)


@timers.command()
@click.argument("key")
@_TARGET
@options(*SCHEDULE, *TERMS, *CALL, *TASK)
@asking
def create(run: CommandRun, key: str, **fields: Any) -> None:
    """Make a timer with this KEY: exactly one of --cron, --every, --every-days, --at, --in says when.

    It is enabled, and fires from its next moment on, unless --disabled is given.
    """
    run.show(run.client.create_timer(key=key, **_whole_timer(fields)), show_changed)


@timers.command()
@click.argument("key")
@_TARGET
@options(*SCHEDULE, *TERMS, *CALL, *TASK)
@_VERSION
@asking
def put(run: CommandRun, key: str, version: int | None, **fields: Any) -> None:
    """Make or replace the timer with this KEY; a field that is not given gets its default."""
    made = run.client.put_timer(f"key:{key}", version=version, **_whole_timer(fields))
    run.show(made, show_changed)


@timers.command()
@click.argument("timer")
@click.option("--key", help="Another key.")
@click.option("--target", "--callback", "url_to_call", metavar="URL", help="Another URL to call.")
@options(*SCHEDULE, *TERMS, *CALL)
@click.option(
    "--drop-header", "dropped", multiple=True, metavar="NAME", help="Remove this header; may be repeated."
)
@click.option(
    "--clear",
    multiple=True,
    type=click.Choice([*CLEARED, *CLEARED_OF_CALL, RETRY]),
    help="Remove this field; may be repeated.",
)
@_VERSION
@asking
def edit(
    run: CommandRun,
    timer: str,
    key: str | None,
    clear: tuple[str, ...],
    version: int | None,
    **fields: Any,
) -> None:
    """Change the given fields of a TIMER at once; the rest stays. Headers that are not named stay too."""
    refuse_unclear(fields, needs_one=False)
    changed_target = call_of(fields)
    for word in clear:
        if word in changed_target or (word in CLEARED and is_given(CLEARED[word], fields)):
            raise click.UsageError(f"--clear {word}: it is given too")
    changes = timer_fields(fields, tuple(CLEARED[word] for word in clear if word in CLEARED))
    changes |= {} if key is None else {"key": key}
    if RETRY in clear:
        if RETRY in changes:
            raise click.UsageError(f"--clear {RETRY}: it is given too")
        changes[RETRY] = None
    cleared_target = dict.fromkeys(word for word in clear if word in CLEARED_OF_CALL)
    target = {**changes.pop("target", {}), **changed_target, **cleared_target}
    changes |= {"target": target} if target else {}
    if not changes:
        raise click.UsageError("no change is given; wangtimer timers edit --help lists the fields")
    run.show(run.client.patch_timer(which_timer(timer), version=version, **changes), show_changed)


@timers.command()
@click.argument("timer")
@asking
def enable(run: CommandRun, timer: str) -> None:
    """Enable a TIMER."""
    run.show(run.client.enable_timer(which_timer(timer)), show_changed)


@timers.command()
@click.argument("timer")
@asking
def disable(run: CommandRun, timer: str) -> None:
    """Disable a TIMER: a moment more than a second away no longer fires, unless a longer time is printed."""
    run.show(run.client.disable_timer(which_timer(timer)), show_switched_off)


@timers.command()
@click.argument("timer")
@asking
def delete(run: CommandRun, timer: str) -> None:
    """Delete a TIMER: it fires no more, its key is free, its firings stay readable."""
    run.show(run.client.delete_timer(which_timer(timer)), lambda done: show_deletion(timer, done))


@timers.command()
@options(*SCHEDULE)
@click.option("-n", "count", type=click.IntRange(1, 100), default=10, show_default=True, help="Moments.")
@asking
def preview(run: CommandRun, count: int, **fields: Any) -> None:
    """Preview a schedule, with the app's calendars; nothing is stored."""
    refuse_unclear(fields)
    schedule = timer_fields(fields)["schedule"]
    found = run.client.preview_schedule(count=count, **schedule)
    run.show(found, lambda preview: show_preview(preview, schedule.get("timezone", "UTC")))


@timers.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("timer")
@click.option("--since", type=PAST, help="Begin with the outcomes from this moment on: RFC 3339, ms, or 2h.")
@click.option("--most", type=click.IntRange(1), help="End after this many outcomes.")
@asking
def follow(run: CommandRun, timer: str, since: Any, most: int | None) -> None:
    """Show the outcomes of a TIMER as they come, one per line; with --json as one JSON object each.

    It ends with exit code 0 on Ctrl-C, after --most outcomes, and when the timer is finished or deleted and none of
    its firings waits for an outcome.
    """
    try:
        for firing in run.client.follow(which_timer(timer), since=since, most=most):
            if run.as_json:
                show_json_line(firing)
            else:
                show_line(_line(firing))
    except KeyboardInterrupt:
        # Ends the terminal's line that shows ^C.
        click.echo(err=True)


def _line(firing: Firing) -> str:
    parts = [firing["fireAt"], firing["status"]]
    if firing["latenessMs"] is not None:
        parts.append(f"{firing['latenessMs']} ms late")
    if firing["durationMs"] is not None:
        parts.append(f"took {firing['durationMs']} ms")
    parts.append(f"attempt {firing['attempt']}")
    if firing["httpStatus"] is not None:
        parts.append(f"HTTP {firing['httpStatus']}")
    return "  ".join([*parts, *([firing["error"]] if firing["error"] else [])]).replace("\n", " ")


def _whole_timer(fields: dict[str, Any]) -> Any:
    """Return a whole timer without its key; raises a usage error unless the options have one rule and one target."""
    task = task_of(fields)
    refuse_unclear(fields)
    new = timer_fields(fields)
    call = {**call_of(fields), **new.get("target", {})}
    if ("url" in call) is ("name" in call):
        raise click.UsageError("say what to call: exactly one of --target and --through")
    return new | {"target": call if task is None else call | {"celery": task}}


DONE = {"enable": "enabled", "disable": "disabled", "delete": "deleted"}


@timers.command(cls=OnceCommand, epilog=EXIT_CODES)
@click.argument("action", type=click.Choice(list(DONE)))
@options(*FILTERS_BUT_KEY)
@click.option("--key", "keys", multiple=True, help="The timer with this key; may be repeated.")
@click.option("--id", "ids", type=click.IntRange(1), multiple=True, help="This timer; may be repeated.")
@click.option("--all", "all_timers", is_flag=True, help="Every timer of the app.")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@asking
def bulk(
    run: CommandRun,
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
    counted = _count(run, action, which)
    unknown = counted.get("unknownKeys", [])
    # Existing timers that were named but need no change.
    left_alone = max(0, len(set(keys)) - len(unknown) - counted["matched"])
    for key in unknown:
        show_trouble(f"app {run.client.app!r} has no timer with the key {key!r}")
    if dry_run:
        run.show(counted, lambda found: show_line(f"{found['matched']} timers would be {DONE[action]}"))
        end_of_many(counted["matched"] + left_alone, len(unknown))
        return
    if action == "delete" and not yes:
        click.confirm(f"Delete {counted['matched']} timers?", abort=True, err=True)
    done = carry_out_rounds(action, counted, run.client.change_timers_in_rounds(action, **which))
    run.show(done, lambda whole: _show_bulk(whole, action))
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


def _count(run: CommandRun, action: Action, which: ManyTimers) -> ManyTimersOutcome:
    counts = list(run.client.change_timers_in_rounds(action, **which, dry_run=True))
    matched = sum(count["matched"] for count in counts)
    unknown = [key for count in counts for key in count.get("unknownKeys", [])]
    whole: ManyTimersOutcome = {**counts[0], "matched": matched, "remaining": matched}
    return {**whole, "unknownKeys": unknown} if "keys" in which else whole


def _show_bulk(done: ManyTimersOutcome, action: Action) -> None:
    show_line(f"{done['done']} timers {DONE[action]}, {len(done['failed'])} failed, {done['remaining']} left")
    show_how_soon(done.get("countsWithin"))
    late = [stop for stop in done["stopped"] if stop["state"] != "cancelled"]
    if late:
        show_line(f"{len(late)} of them perhaps too late for this moment; its record will say:")
        show_table(late, {"id": "id", "moment": "at", "state": "state"})
    if done["failed"]:
        show_table(
            done["failed"],
            {
                "id": "id",
                "key": "key",
                "code": lambda timer: timer["problem"]["code"],
                "why": lambda timer: timer["problem"]["detail"],
            },
        )
