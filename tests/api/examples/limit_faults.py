"""One error of each code that is about the limits of an app."""

from collections.abc import Callable
from typing import Any

from tests.api.keyed_world import KeyedWorld
from wangtimer.core.time.moment_text import show_moment

TARGET = {"url": "http://localhost:8080/expire"}
# Apps, each with the limit that it reaches.
LIMITED = {
    "trial": {"timers": 1},
    "reports": {"firingsPerSecond": 1},
    "plants": {"calendarBytes": 50},
    "archive": {"replaysPerHour": 1},
    "crawler": {"requestsPerSecond": 1, "requestsAtOnce": 1},
}


def limit_faults(database_url: str, store_url: str, now: int, is_v1: bool) -> dict[str, Any]:
    """Return an error by each of these codes, as v1 or as the compatible paths tell it."""
    world = KeyedWorld(database_url, store_url, now)
    try:
        for app, limits in LIMITED.items():
            world.wiring.apps.create_missing(app, limits, now)
        ways = _native(world) if is_v1 else _compatible(world)
        # Twice: the first may reach no limit yet.
        found = [way() for way in ways for _ in range(2)]
        return {str(one["code"]): one for one in found if one.get("code")}
    finally:
        world.close()


def _native(world: KeyedWorld) -> list[Callable[[], Any]]:
    keys = {app: world.key(app) for app in LIMITED}
    names = iter("abcdefghijkl")

    def made(app: str) -> Any:
        body = {"key": next(names), "schedule": {"cron": "* * * * * *"}, "target": TARGET}
        return world.ask("POST", "/v1/timers", keys[app], json=body).json

    def backfilled() -> Any:
        timer = made("archive")["id"]
        path = f"/v1/timers/{timer}:backfill"
        return world.ask("POST", path, keys["archive"], json=_past(world)).json

    def uploaded() -> Any:
        return world.ask("PUT", "/v1/calendars/plant", keys["plants"], json={"days": ["2027-01-01"]}).json

    def listed() -> Any:
        return world.ask("GET", "/v1/timers", keys["crawler"]).json

    return [lambda: made("trial"), lambda: made("reports"), uploaded, backfilled, listed]


def _compatible(world: KeyedWorld) -> list[Callable[[], Any]]:
    keys = {app: world.key(app) for app in LIMITED}
    names = iter("nopqrstuvwxyz")

    def made(app: str) -> Any:
        body = {"app": app, "name": next(names), "cron": "* * * * * *", "notifyHTTPParam": TARGET}
        return world.ask("POST", "/api/timer/v1/def", keys[app], json=body).json

    def enabled() -> Any:
        body = {"app": "reports", "id": made("reports")["id"]}
        return world.ask("POST", "/api/timer/v1/enable", keys["reports"], json=body).json

    def backfilled() -> Any:
        body = {"app": "archive", "id": made("archive")["id"], "perSecond": 1} | _past(world)
        return world.ask("POST", "/api/task/v1/backfill", keys["archive"], json=body).json

    def listed() -> Any:
        return world.ask("GET", "/api/timer/v1/defs", keys["crawler"]).json

    return [lambda: made("trial"), enabled, backfilled, listed]


def _past(world: KeyedWorld) -> dict[str, str]:
    """Return a range in which each timer has moments without a firing."""
    until = world.clock.now - 600_000
    return {"since": show_moment(until - 5_000), "until": show_moment(until)}
