"""Prints timers and previews for people."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

import click

from wangtimer.cli.terminal.output import Columns, show_how_soon, show_line, show_pairs, show_table
from wangtimer.cli.timers.timer_options import FIELD_OPTIONS, FieldOption
from wangtimer.client import ChangedTimer, Timer
from wangtimer.client.timer_fields import Rule, ShownSchedule, ShownTarget, described
from wangtimer.client.timer_types import Deletion, ListedTimer, Preview, Stop, SwitchedOffTimer


def show_timer(timer: Timer | ListedTimer) -> None:
    """Print a whole timer."""
    target = timer["target"]
    headers = [f"{name}: {value}" for name, values in target["headers"].items() for value in values]
    pairs: dict[str, object] = {
        "id": timer["id"],
        "key": timer["key"],
        "status": timer["status"],
        "when": when(timer["schedule"]),
        "next": timer["nextFireAt"],
        "last": _last_with_reason(cast(ListedTimer, timer)) if "lastOutcome" in timer else None,
        "calls": _call(target),
        "headers": "; ".join(headers),
        "body": target["body"],
        **further((option for option in FIELD_OPTIONS if option.place not in _SAID_ELSEWHERE), timer),
        "version": timer["version"],
        "created": timer["createdAt"],
        "updated": timer["updatedAt"],
    }
    show_pairs({name: value for name, value in pairs.items() if value not in (None, "")})


def _call(target: ShownTarget) -> str:
    if "name" in target:
        words = (target.get("method", ""), target.get("path", ""), "through", target["name"])
        return " ".join(word for word in words if word)
    return f"{target['method']} {target['url']}"


def further(options: Iterable[FieldOption], shown: Any) -> dict[str, object]:
    """Return the fields of a timer or target that differ from their default, by their options' words."""
    rows: dict[str, object] = {}
    for option in options:
        value = ((shown.get(option.group) or {}) if option.group else shown).get(option.field.name)
        if not option.is_of_rule and value not in (None, option.field.about.default):
            rows[_words(option)] = " ".join(value) if isinstance(value, list) else value
    return rows


# `when` has the zone, `status` whether it is enabled, `calls` the method.
_SAID_ELSEWHERE = frozenset({"schedule.timezone", "enabled", "target.method"})


def _words(option: FieldOption) -> str:
    return option.spellings[0].removeprefix("--").replace("-", " ")


def when(schedule: ShownSchedule) -> str:
    """Return a timer's rule in one phrase."""
    if "cron" in schedule:
        dialect = "" if schedule.get("dialect", "unix") == "unix" else f"{schedule['dialect']}, "
        return f"{schedule['cron']} ({dialect}{schedule['timezone']})"
    rules = {field.name for field in described(Rule).values() if field.about.is_rule}
    return "; ".join(f"{name} {value}" for name, value in schedule.items() if name in rules)


_STOPS = {
    "cancelled": "no call of it is made",
    "in_flight": "a call of it may be on its way, its record will say",
    "already_fired": "a call of it was sent",
}


def show_stopped(stopped: Stop | None) -> None:
    """Print what becomes of the next moment of a disabled or deleted timer."""
    if stopped is not None:
        state = stopped["state"]
        show_line(f"moment {stopped['at']}: {state}, {_STOPS.get(state, 'see its record')}")


def show_switched_off(done: SwitchedOffTimer) -> None:
    """Print a whole disabled timer, and what becomes of its next moment."""
    show_timer(done["timer"])
    show_stopped(done["stopped"])
    show_how_soon(done["countsWithin"])


def show_deletion(named: str, done: Deletion) -> None:
    """Print that a timer is deleted, and what becomes of its next moment."""
    timer = done["timer"]
    show_line(f"timer {named if timer is None else timer['id']} is deleted")
    show_stopped(done["stopped"])
    show_how_soon(done.get("countsWithin"))


def show_changed(timer: ChangedTimer) -> None:
    """Print a timer just made or changed, its preview, and how soon the change takes effect."""
    show_timer(timer)
    click.echo()
    show_preview(timer["preview"], timer["schedule"].get("timezone", "UTC"))
    show_how_soon(timer["countsWithin"])


def show_preview(found: Preview, timezone: str) -> None:
    """Print words in both languages, the next moments, and warnings."""
    for words in (found["words"]["en"], found["words"]["zh"]):
        show_line(words)
    click.echo()
    show_table(
        found["nextMoments"],
        {
            timezone: "at",
            "weekday": lambda moment: f"{datetime.fromisoformat(moment['at']):%A}",
            "UTC": "utc",
        },
    )
    for warning in found["warnings"]:
        show_line(f"warning: {warning['text']} ({warning['textZh']})")


def _last_with_reason(timer: ListedTimer) -> str | None:
    """Return the outcome of the latest firing, and why it failed or was skipped."""
    outcome, words = timer["lastOutcome"], last(timer)
    return f"{words}: {outcome['error']}" if outcome is not None and outcome["error"] else words


def last(timer: ListedTimer) -> str | None:
    """Return the outcome of the latest firing."""
    outcome = timer["lastOutcome"]
    return None if outcome is None else f"{outcome['status']} {outcome['fireAt']}"


TIMERS: Columns[ListedTimer] = {
    "id": "id",
    "key": "key",
    "status": "status",
    "when": lambda timer: when(timer["schedule"]),
    "next": "nextFireAt",
    "last": last,
    "tags": lambda timer: " ".join(timer["tags"]),
}
