"""Timers and previews as a person reads them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import click

from wangtimer.cli.terminal.how_soon import show_how_soon
from wangtimer.cli.terminal.output import show_line, show_pairs, show_table
from wangtimer.cli.timers.rule_options import when
from wangtimer.client.timer_types import (
    Deletion,
    EditedTimer,
    ListedTimer,
    PlannedTimer,
    StoppedMoment,
    StoppedTimer,
    Timer,
)


def show_timers(timers: Iterable[ListedTimer]) -> None:
    """Print a line for each timer."""
    show_table(
        ("id", "name", "status", "when", "next", "last", "tags"),
        (
            (
                timer["id"],
                timer["name"],
                timer["statusName"],
                when(timer),
                timer["nextFireAt"],
                last(timer),
                " ".join(timer.get("tags", [])),
            )
            for timer in timers
        ),
    )


def show_timer(timer: Timer) -> None:
    """Print all of a timer."""
    notify = timer["notifyHTTPParam"]
    headers = [f"{name}: {value}" for name, values in notify["header"].items() for value in values]
    pairs: dict[str, object] = {
        "id": timer["id"],
        "name": timer["name"],
        "status": timer["statusName"],
        "when": when(timer),
        "starts": timer.get("startAt"),
        "ends": timer.get("endAt"),
        "max firings": timer.get("maxFirings"),
        "jitter": None if "jitterMs" not in timer else f"{timer['jitterMs']} ms",
        "excluded": timer.get("excludeCalendar"),
        "next": timer["nextFireAt"],
        "calls": f"{notify['method']} {notify['url']}",
        "headers": "; ".join(headers),
        "body": notify["body"],
        "misfire": f"{timer['misfire']}, later than {timer['misfireGraceMs']} ms",
        "catch-up window": f"{timer['catchupWindowMs']} ms" if timer["catchupWindowMs"] else None,
        "tags": " ".join(timer.get("tags", [])),
        "kept": _kept(timer),
        "version": timer["version"],
        "created": timer["createdAt"],
        "updated": timer["updatedAt"],
    }
    show_pairs({name: value for name, value in pairs.items() if value not in (None, "")})


def _kept(timer: Timer) -> str | None:
    """Return for how long the timer is kept once it is finished; None: as the service says."""
    if timer.get("deleteAfterFinish"):
        return "until it is finished, longer where its last firing failed"
    return f"{timer['retentionDays']} days after its last moment" if "retentionDays" in timer else None


_STOPS = {
    "cancelled": "no call of it is made",
    "in_flight": "a call of it may be on its way, its record will say",
    "already_fired": "a call of it was sent",
}


def show_stopped(stopped: StoppedMoment | None) -> None:
    """Print what becomes of the next moment of a timer that was switched off."""
    if stopped is not None:
        state = stopped["state"]
        show_line(f"moment {stopped['at']}: {state}, {_STOPS.get(state, 'see its record')}")


def show_stopped_timer(timer: StoppedTimer) -> None:
    """Print all of a timer that was disabled, and what becomes of its next moment."""
    show_timer(timer)
    show_stopped(timer["stopped"])
    show_how_soon(timer.get("countsWithinMs"))


def show_deletion(timer_id: int, done: Deletion) -> None:
    """Print that a timer is deleted, and what becomes of its next moment."""
    show_line(f"timer {timer_id} is deleted")
    show_stopped(done["stopped"])
    show_how_soon(done.get("countsWithinMs"))


def show_planned(timer: PlannedTimer) -> None:
    """Print a timer just made or changed, and what its schedule comes to."""
    show_timer(timer)
    click.echo()
    show_preview(timer, timer["timezone"])


def show_edited(timer: EditedTimer) -> None:
    """Print a timer just edited, and how soon that counts."""
    show_planned(timer)
    show_how_soon(timer.get("countsWithinMs"))


def show_preview(found: Mapping[str, Any], timezone: str) -> None:
    """Print words in both languages, the next moments, and warnings."""
    for words in found["words"].values():
        show_line(words)
    click.echo()
    show_table(
        (timezone, "weekday", "UTC"),
        ((one["at"], f"{datetime.fromisoformat(one['at']):%A}", one["utc"]) for one in found["nextMoments"]),
    )
    for one in found["warnings"]:
        show_line(f"warning: {one['text']} ({one['textZh']})")


def last(timer: ListedTimer) -> str | None:
    """Return what became of the latest firing."""
    outcome = timer["lastOutcome"]
    return None if outcome is None else f"{outcome['statusName']} {outcome['runTimer']}"
