"""Prints firings for people."""

from collections.abc import Iterable
from typing import cast

import click

from wangtimer.cli.terminal.output import show_how_soon, show_line, show_pairs, show_table
from wangtimer.client import Firing, FiringHistory
from wangtimer.client.firing_types import CancelledFiring


def show_firings(firings: Iterable[Firing], of_all_apps: bool) -> None:
    """Print a line for each firing, with its app where it may be any."""
    show_table(
        firings,
        {
            **({"app": "app"} if of_all_apps else {}),
            "firing": "id",
            "timer": lambda firing: firing.get("timerKey"),
            "moment": "fireAt",
            "status": "status",
            "late ms": "latenessMs",
            "took ms": "durationMs",
            "attempt": "attempt",
            "HTTP": "httpStatus",
            "waited for": "waitedFor",
            "calls": _calls,
            "error": "error",
        },
    )


def show_firing(firing: Firing | FiringHistory) -> None:
    """Print a whole firing, with its attempts if it has them."""
    show_pairs(
        {
            "firing": firing["id"],
            "timer": firing.get("timerKey") or "",
            "calls": _calls(firing),
            "moment": firing["fireAt"],
            "kind": firing["kind"],
            "status": firing["status"],
            "late": _ms(firing["latenessMs"]),
            "took": _ms(firing["durationMs"]),
            "attempt": firing["attempt"],
            "next attempt": firing.get("nextAttemptAt", ""),
            "accepted": firing.get("acceptedAt", ""),
            "to be done by": firing.get("ackBy", ""),
            "done": firing.get("doneAt", ""),
            "waited for": firing["waitedFor"],
            "host was failing for": _ms(firing.get("hostFailingMs")),
            "HTTP status": firing["httpStatus"],
            "error": firing["error"],
            "output": firing["output"],
        }
    )
    if "attempts" in firing:
        history = cast(FiringHistory, firing)
        click.echo()
        _show_attempts(history)
        _show_request(history)


def show_cancelled(firing: CancelledFiring) -> None:
    """Print a cancelled firing, and how soon that takes effect."""
    show_firing(firing)
    show_how_soon(firing["countsWithin"])


def _show_attempts(firing: FiringHistory) -> None:
    show_table(
        firing["attempts"],
        {
            "attempt": "attempt",
            "made": lambda one: one.get("madeAt", one["sentAt"]),
            "late ms": "latenessMs",
            "connect ms": "connectMs",
            "first byte ms": "firstByteMs",
            "took ms": "durationMs",
            "HTTP": "httpStatus",
            "status": "status",
            "error": "error",
        },
    )


def _show_request(firing: FiringHistory) -> None:
    request = firing["request"]
    if request is None:
        return
    click.echo()
    show_line(f"{request['method']} {request['url']} (attempt {request['attempt']}, as it was sent)")
    for name, values in request["headers"].items():
        for value in values:
            show_line(f"{name}: {value}")
    if request["body"]:
        show_line(f"\n{request['body']}")


def _calls(firing: Firing) -> str:
    """Return what its timer calls."""
    target = firing.get("target")
    return f"through {target}" if target else firing.get("url") or ""


def _ms(value: int | None) -> str | None:
    return None if value is None else f"{value} ms"
