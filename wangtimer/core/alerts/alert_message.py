"""A message of a rule: what happened since the last one, as texts and as the body of a webhook."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from wangtimer.core.alerts.alert_rule import AlertEvent
from wangtimer.core.time.moment_text import show_moment

# Alerts that a message names; others are counted.
MOST_NAMED = 20
# Of an error in a line.
SHOWN_CHARACTERS = 120
EVENT_TYPE = "wangtimer.alert"
_WORDS = {
    AlertEvent.FIRST_FAILURE: "an attempt failed",
    AlertEvent.FAILURES_IN_A_ROW: "{times} attempts in a row failed",
    AlertEvent.FAILED_FOR_GOOD: "a firing failed for good",
    AlertEvent.MISSED: "a firing was missed",
    AlertEvent.SKIPPED: "a firing was skipped, as a later one was due",
    AlertEvent.LATE: "a firing was sent {late} ms late",
    AlertEvent.RECOVERED: "back to normal",
    AlertEvent.TEST: "this is a test, nothing has happened",
}


@dataclass(frozen=True, slots=True)
class Alert:
    """What is told of one timer. `times`: how often it has happened since `since` (ms UTC), `fire_at` the last one's.

    `about`: what is over, of one that tells of a recovery.
    """

    event: AlertEvent
    timer_id: int
    timer_name: str
    fire_at: int
    since: int
    times: int = 1
    error: str = ""
    http_status: int | None = None
    lateness_ms: int | None = None
    about: AlertEvent | None = None

    @property
    def line(self) -> str:
        """One line of text."""
        words = _WORDS[self.event].format(times=self.times, late=self.lateness_ms)
        if self.event is AlertEvent.TEST:
            return words
        about = f" ({self.about.value})" if self.about else ""
        often = f", {self.times} times since {show_moment(self.since)}" if self.times > 1 else ""
        why = f": {_short(self.error)}" if self.error else ""
        return f"{_one_line(self.timer_name)}: {words}{about}, due {show_moment(self.fire_at)}{often}{why}"

    @property
    def fields(self) -> dict[str, Any]:
        """What a webhook is told."""
        return {
            "event": self.event.value,
            "about": self.about.value if self.about else None,
            "timerId": str(self.timer_id),
            "timer": self.timer_name,
            "fireAt": show_moment(self.fire_at),
            "since": show_moment(self.since),
            "times": self.times,
            "error": self.error,
            "httpStatus": self.http_status,
            "latenessMs": self.lateness_ms,
        }


@dataclass(frozen=True, slots=True)
class AlertMessage:
    """The alerts of one rule that are told together; `more`: how many others there were."""

    app: str
    rule: str
    alerts: tuple[Alert, ...] = ()
    more: int = 0

    def with_more(self, alerts: Sequence[Alert]) -> "AlertMessage":
        """Return it with these too: as many as have room are named, the others counted."""
        room = max(0, MOST_NAMED - len(self.alerts))
        return replace(
            self,
            alerts=(*self.alerts, *alerts[:room]),
            more=self.more + max(0, len(alerts) - room),
        )

    @property
    def title(self) -> str:
        """What it is about."""
        return f"WangTimer: {self.rule} of {self.app}"

    @property
    def lines(self) -> list[str]:
        """All of it as lines of text."""
        more = (
            [f"{len(self.alerts) + self.more} alerts, of which {len(self.alerts)} are named:"]
            if self.more
            else []
        )
        return [self.title, *more, *(one.line for one in self.alerts)]

    def text(self, most_bytes: int) -> str:
        """Return as many of the lines as have room, and say how many have none."""
        lines, kept, left = self.lines, list[str](), most_bytes - 40
        for line in lines:
            size = len(line.encode()) + 1
            if size > left and kept:
                return "\n".join([*kept, f"and {len(lines) - len(kept)} more lines"])
            kept.append(line)
            left -= size
        return "\n".join(kept)

    def body(self, now: int) -> bytes:
        """Return the body of a webhook, sent at `now` (ms UTC)."""
        data = {
            "app": self.app,
            "rule": self.rule,
            "alerts": [one.fields for one in self.alerts],
            "more": self.more,
        }
        return orjson.dumps({"type": EVENT_TYPE, "timestamp": show_moment(now), "data": data})

    def stored(self) -> str:
        """Return it as SQL has it, without its app and rule."""
        rows = [
            [
                one.event.value,
                one.timer_id,
                one.timer_name,
                one.fire_at,
                one.since,
                one.times,
                one.error,
                one.http_status,
                one.lateness_ms,
                one.about.value if one.about else None,
            ]
            for one in self.alerts
        ]
        return orjson.dumps({"alerts": rows, "more": self.more}).decode()

    @classmethod
    def from_stored(cls, app: str, rule: str, text: str) -> "AlertMessage":
        """Read back what `stored` wrote."""
        fields = orjson.loads(text)
        alerts = [Alert(*row) for row in fields["alerts"]]
        read = (
            replace(one, event=AlertEvent(one.event), about=AlertEvent(one.about) if one.about else None)
            for one in alerts
        )
        return cls(app, rule, tuple(read), fields["more"])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _short(error: str) -> str:
    text = _one_line(error)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
