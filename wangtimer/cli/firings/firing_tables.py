"""Prints firings for people."""

from collections.abc import Iterable
from typing import cast

import click

from wangtimer.cli.terminal.how_soon import show_how_soon
from wangtimer.cli.terminal.output import show_line, show_pairs, show_table
from wangtimer.client import Firing, FiringHistory
from wangtimer.client.firing_types import CancelledFiring


def show_firings(firings: Iterable[Firing], of_all_apps: bool) -> None:
    """Print a line for each firing, with its app where it may be any."""
    app = ("app",) if of_all_apps else ()
    show_table(
        (
            *app,
            "firing",
            "timer",
            "moment",
            "status",
            "late ms",
            "took ms",
            "attempt",
            "HTTP",
            "waited for",
            "calls",
            "error",
        ),
        (
            (
                *(firing["app"] for _ in app),
                firing["id"],
                firing.get("timerKey"),
                firing["fireAt"],
                firing["status"],
                firing["latenessMs"],
                firing["durationMs"],
                firing["attempt"],
                firing["httpStatus"],
                firing["waitedFor"],
                _calls(firing),
                firing["error"],
            )
            for firing in firings
        ),
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
        ("attempt", "made", "late ms", "connect ms", "first byte ms", "took ms", "HTTP", "status", "error"),
        (
            (
                one["attempt"],
                one.get("madeAt", one["sentAt"]),
                one["latenessMs"],
                one["connectMs"],
                one["firstByteMs"],
                one["durationMs"],
                one["httpStatus"],
                one["status"],
                one["error"],
            )
            for one in firing["attempts"]
        ),
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
