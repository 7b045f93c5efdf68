"""Timers of these tests, made by the SDK."""

from collections.abc import Callable
from typing import Any

from wangtimer.testing import MadeCall, WangTimer

# What the fixture `make_wangtimer` is.
Make = Callable[..., WangTimer]

URL = "http://shop.example/due"


def timer(wangtimer: WangTimer, key: str = "nightly", /, **schedule: Any) -> int:
    """Make an enabled timer that calls `URL`; return its id."""
    return wangtimer.client.create_timer(key=key, schedule=schedule, target={"url": URL})["id"]


def times(calls: list[MadeCall]) -> list[str]:
    """Return when calls were made, in the zone of their service, as in `01-04 09:00:00.000`."""
    return [f"{call.at:%m-%d %H:%M:%S}.{call.at.microsecond // 1_000:03}" for call in calls]


def statuses(wangtimer: WangTimer, which: int) -> list[str]:
    """Return what became of a timer's firings, earliest first."""
    found = [one["status"] for one in wangtimer.client.firings(timer=which, until=wangtimer.now)]
    return found[::-1]
