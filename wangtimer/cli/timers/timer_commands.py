"""`wangtimer timers ...`: make, look at and change timers."""

import shlex
from collections.abc import Mapping
from typing import Any, cast

import click

from wangtimer.cli.terminal.asking import (
    EXIT_CODES,
    PARTLY,
    Asked,
    asking,
    show_trouble,
    timer_id,
    written_name,
)
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.output import show_line
from wangtimer.cli.timers.bulk_command import bulk
from wangtimer.cli.timers.rule_options import refuse_unclear
from wangtimer.cli.timers.timer_options import (
    CALL,
    FILTERS,
    SCHEDULE,
    TERMS,
    callback_changes_of,
    callback_of,
    given,
    options,
)
from wangtimer.cli.timers.timer_tables import (
    show_deletion,
    show_edited,
    show_preview,
    show_stopped_timer,
    show_timer,
    show_timers,
)
from wangtimer.client import ClientError
from wangtimer.client.timer_types import EditedTimer, PlannedTimer

CLEARED = {
    "start": "start_at",
    "end": "end_at",
    "max-firings": "max_firings",
    "jitter": "jitter_ms",
    "calendar": "exclude_calendar",
    "tags": "tags",
    "retention-days": "retention_days",
    "delete-after-finish": "delete_after_finish",
}
CLEARED_OF_CALL = ("method", "headers", "body")
_CALLBACK = click.option("--callback", "url_to_call", required=True, metavar="URL", help="The URL to call.")
_ENABLE = click.option("--enable", is_flag=True, help="Enable it at once.")
_VERSION = click.option(
    "--version", type=click.IntRange(1), help="Refuse where somebody changed it since this version."
)


@click.group(cls=OnceGroup, epilog=EXIT_CODES)
def timers() -> None:
    """Make, look at and change timers; a TIMER is its id or its name, a name that is a number name:NUMBER."""


@timers.command("list")
@options(*FILTERS)
@click.option(
    "--sort",
    type=click.Choice([sign + key for key in ("id", "name", "createdAt", "updatedAt") for sign in ("", "-")]),
    default="id",
    show_default=True,
    help="A minus: largest first.",
)
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, help="0: all of them.")
@asking
def list_timers(asked: Asked, sort: Any, limit: int, **wanted: Any) -> None:
    """List timers."""
    asked.tell(list(asked.client.timers(sort=sort, most=limit or None, **given(wanted))), show_timers)


@timers.command()
@click.argument("timer")
@asking
def show(asked: Asked, timer: str) -> None:
    """Show all of a TIMER."""
    asked.tell(asked.client.get_timer(timer_id(asked.client, timer)), show_timer)


@timers.command()
@click.argument("name")
@_CALLBACK
@options(*SCHEDULE, *TERMS, *CALL)
@_ENABLE
@asking
def create(
    asked: Asked,
    name: str,
    url_to_call: str,
    method: str | None,
    headers: tuple[str, ...],
    body: str | None,
    enable: bool,
    **fields: Any,
) -> None:
    """Make a timer of this NAME: exactly one of --cron, --every, --at, --in says when."""
    refuse_unclear(fields)
    callback = callback_of(url_to_call, method, headers, body)
    _finish(asked, asked.client.create_timer(name, callback, **given(fields)), enable)


@timers.command()
@click.argument("name")
@_CALLBACK
@options(*SCHEDULE, *TERMS, *CALL)
@_VERSION
@_ENABLE
@asking
def put(
    asked: Asked,
    name: str,
    url_to_call: str,
    method: str | None,
    headers: tuple[str, ...],
    body: str | None,
    version: int | None,
    enable: bool,
    **fields: Any,
) -> None:
    """Make the timer of this NAME be so, whether it is there or not; what is not given gets its default."""
    refuse_unclear(fields)
    callback = callback_of(url_to_call, method, headers, body)
    answer = asked.client.put_timer(name, callback, version=version, **given(fields))
    beside = {key: value for key, value in answer.items() if key in ("created", "countsWithinMs")}
    _finish(asked, answer["data"], enable, beside)


@timers.command()
@click.argument("timer")
@click.option("--name", help="Another name.")
@click.option("--callback", "url_to_call", metavar="URL", help="Another URL to call.")
@options(*SCHEDULE, *TERMS, *CALL)
@click.option("--drop-header", "dropped", multiple=True, metavar="NAME", help="Take it away; again for more.")
@click.option(
    "--clear",
    multiple=True,
    type=click.Choice([*CLEARED, *CLEARED_OF_CALL]),
    help="Take this away; again for more.",
)
@_VERSION
@asking
def edit(
    asked: Asked,
    timer: str,
    url_to_call: str | None,
    method: str | None,
    headers: tuple[str, ...],
    body: str | None,
    dropped: tuple[str, ...],
    clear: tuple[str, ...],
    version: int | None,
    **fields: Any,
) -> None:
    """Change of a TIMER what is given; the rest stays. Headers that are not named stay too."""
    refuse_unclear(fields, needs_one=False)
    changed_call = callback_changes_of(url_to_call, method, headers, body, dropped)
    cleared = {CLEARED[one]: None for one in clear if one in CLEARED}
    cleared_of_call = {one.removesuffix("s"): None for one in clear if one in CLEARED_OF_CALL}
    for one in clear:
        if CLEARED.get(one) in given(fields) or one.removesuffix("s") in changed_call:
            raise click.UsageError(f"--clear {one}: it is given too")
    changes = given(fields) | cleared
    if changed_call or cleared_of_call:
        changes["callback"] = {**changed_call, **cleared_of_call}
    if not changes:
        raise click.UsageError("nothing is to change; wangtimer timers edit --help lists what can")
    edited = asked.client.edit_timer(timer_id(asked.client, timer), version=version, **changes)
    asked.tell(edited, show_edited)


@timers.command()
@click.argument("timer")
@asking
def enable(asked: Asked, timer: str) -> None:
    """Enable a TIMER."""
    asked.tell(asked.client.enable_timer(timer_id(asked.client, timer)), show_timer)


@timers.command()
@click.argument("timer")
@asking
def disable(asked: Asked, timer: str) -> None:
    """Disable a TIMER: a moment more than a second away no longer fires, or as many seconds as are told."""
    asked.tell(asked.client.disable_timer(timer_id(asked.client, timer)), show_stopped_timer)


@timers.command()
@click.argument("timer")
@asking
def delete(asked: Asked, timer: str) -> None:
    """Delete a TIMER: it fires no more, its name is free, its firings stay readable."""
    number = timer_id(asked.client, timer)
    asked.tell(asked.client.delete_timer(number), lambda done: show_deletion(number, done))


@timers.command()
@options(*SCHEDULE)
@click.option("-n", "count", type=click.IntRange(1, 100), default=10, show_default=True, help="Moments.")
@asking
def preview(asked: Asked, count: int, **schedule: Any) -> None:
    """Show what a schedule comes to, calendars of the app included; nothing is stored."""
    refuse_unclear(schedule)
    found = asked.client.preview_schedule(count=count, **given(schedule))
    asked.tell(found, lambda preview: show_preview(preview, schedule["timezone"] or "UTC"))


timers.add_command(bulk)


def _finish(
    asked: Asked, made: PlannedTimer, enable: bool, beside: Mapping[str, object] | None = None
) -> None:
    """Enable a timer that stands, if asked to, and show it; `beside`: what JSON says more of it."""
    refusal: ClientError | None = None
    if enable:
        try:
            made = cast(PlannedTimer, {**made, **asked.client.enable_timer(made["id"])})
        except ClientError as error:
            refusal = error
    asked.tell(cast(EditedTimer, {**made, **(beside or {})}), show_edited)
    if not (enable or asked.as_json) and made["statusName"] == "disabled":
        show_line(f"not enabled: wangtimer timers enable {shlex.quote(written_name(made['name']))}")
    if refusal is not None:
        show_trouble(f"timer {made['id']} is made, but not enabled: {refusal}")
        click.get_current_context().exit(PARTLY)
