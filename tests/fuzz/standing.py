"""What stands in the app meanwhile: timers, firings and calendars that a made-up request can name."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

# Method, path, query or body; returns the answer's JSON.
Send = Callable[[str, str, dict[str, Any]], dict[str, Any]]

APP = "shop"
TIMERS = 12
# What is nearer cannot be cancelled any more.
SOON_MS = 5_000
CALENDARS = ("plant", "weekends", "cn-off-days")
# No timer names it, so that it can be deleted.
SPARE = "spare"
# Listening there is nobody, and no executor runs that could ask.
URL = "http://target.invalid/fire"
ALERT_RULE = {"events": ["recovered"], "failuresInARow": 9, "destination": {"kind": "webhook", "url": URL}}
DEF = "/api/timer/v1/def"
KEYS = (f"/v1/apps/{APP}/keys", "/v1/operator-keys")


@dataclass(slots=True)
class Standing:
    """The ids, names and moments there are; `look` after some requests, as they come and go."""

    send: Send
    ids: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    firings: list[tuple[int, int]] = field(default_factory=list)
    # Those of them that can be cancelled.
    coming: list[tuple[int, int]] = field(default_factory=list)
    # Of the app and of operators.
    key_ids: list[str] = field(default_factory=list)
    now: int = 0
    _number: Any = field(default_factory=count)

    def look(self) -> None:
        """Make up for what is gone, and read what is there."""
        found = self._timers()
        for _ in range(TIMERS - len(found)):
            self._make()
        timers = self._timers()
        self.ids = [timer["id"] for timer in timers]
        self.names = [timer["name"] for timer in timers]
        far = {"app": APP, "until": "2199-01-01T00:00:00Z", "limit": 200}
        rows = self.send("GET", "/api/task/v1/firings", far)["data"]
        self.firings = [(row["timerID"], row["fireAtMs"]) for row in rows] or [(self.ids[0], self.now)]
        self.coming = [
            (row["timerID"], row["fireAtMs"])
            for row in rows
            if row["statusName"] == "pending"
            and row["timerID"] in self.ids
            and row["fireAtMs"] > self.now + SOON_MS
        ] or self.firings
        for name in (CALENDARS[0], SPARE):
            self.send("PUT", f"/v1/calendars/{name}", {"days": ["2027-01-01"], "weekdays": ["sunday"]})
            # Named as a calendar is: in a path both are a name.
            self.send("PUT", f"/v1/targets/{name}", {"url": URL})
            self.send("PUT", f"/v1/alert-rules/{name}", ALERT_RULE)
        self.key_ids = [key for path in KEYS for key in self._keys(path)]

    def _keys(self, path: str) -> list[str]:
        """Return the ids of keys that are not revoked; there are some."""
        living = [
            one["id"] for one in self.send("GET", path, {"limit": 200})["items"] if not one["revokedAt"]
        ]
        return living or [self.send("POST", path, {"name": "standing"})["id"]]

    def _timers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.send("GET", "/api/timer/v1/defs", {"app": APP, "limit": 100})[
            "data"
        ]
        return found

    def _make(self) -> None:
        number = next(self._number)
        when = ({"cron": "* * * * * *"}, {"everyMs": 60_000}, {"delayMs": 3_600_000})[number % 3]
        timer = {"app": APP, "name": f"standing-{number}", "notifyHTTPParam": {"url": URL}} | when
        made = self.send("POST", DEF, timer)
        if number % 4 and made["code"] == 0:
            self.send("POST", "/api/timer/v1/enable", {"app": APP, "id": made["id"]})
