"""A message of a rule: what happened since the last one, as texts and as the body of a webhook."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.alerts.alert_rule import AlertEvent
from wangtimer.core.flow.firing import Member
from wangtimer.core.time.moment_text import show_moment
from wangtimer.core.timers.misfire import COALESCED

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
    AlertEvent.SKIPPED: "a firing was skipped or cancelled",
    AlertEvent.LATE: "a firing was sent {late} ms late",
    AlertEvent.RECOVERED: "back to normal",
    AlertEvent.TEST: "this is a test, nothing has happened",
}
# Of all timers of a host.
_WORDS_OF_HOST = {
    AlertEvent.FIRST_FAILURE: "{attempts} of {timers} failed",
    AlertEvent.FAILURES_IN_A_ROW: "{attempts} in a row of {timers} failed",
    AlertEvent.FAILED_FOR_GOOD: "{firings} of {timers} failed for good",
    AlertEvent.MISSED: "{firings} of {timers} {were} missed",
    AlertEvent.SKIPPED: "{firings} of {timers} {were} skipped or cancelled",
    AlertEvent.LATE: "{firings} of {timers} {were} sent late, the last {late} ms",
    AlertEvent.RECOVERED: "back to normal ({about}), after {times} with {timers}",
}
_WORDS_OF_BROKEN_ROW = "{attempts} of {timers} failed, with successes between"
# Why a firing was skipped, by its error.
_WHY_SKIPPED = {COALESCED: "as a later one was due"}


@dataclass(frozen=True, slots=True)
class Alert:
    """What is told of one timer, or of all timers of a host.

    `times`: how often it has happened since `since` (ms UTC); timer and `fire_at` are those of the last one. `about`:
    what is over, of one that tells of a recovery. `host` and `target` are what was called, and the named target it went
    through; "": nobody knows, and none. `timers`: how many it is of, 0: of one alone; where they are not all counted,
    some as many. `last_ids`: the last of its firings, where it is of a host. `is_broken`: it tells again of failures
    in a row, and some call has succeeded between.
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
    host: str = ""
    target: str = ""
    timers: int = 0
    are_counted: bool = True
    last_ids: tuple[str, ...] = ()
    is_broken: bool = False

    @property
    def is_of_host(self) -> bool:
        """Whether it is of all timers of a host."""
        return self.timers > 0

    @property
    def story(self) -> tuple[object, ...]:
        """What two alerts of one host have in common that tell of the same, the later one of more of it."""
        return self.event, self.about, self.host, self.target, self.since

    @property
    def firing_id(self) -> str:
        """The id of the last firing; "": it is a test."""
        return Member(self.timer_id, self.fire_at, 1).firing_id if self.timer_id else ""

    @property
    def line(self) -> str:
        """One line of text."""
        if self.event is AlertEvent.TEST:
            return _WORDS[self.event]
        return self._line_of_host if self.is_of_host else self._line_of_timer

    @property
    def _line_of_timer(self) -> str:
        words = _WORDS[self.event].format(times=self.times, late=self.lateness_ms)
        about = f" ({self.about.value})" if self.about else ""
        often = f", {self.times} times since {show_moment(self.since)}" if self.times > 1 else ""
        due = f"due {show_moment(self.fire_at)}{often}, firing {self.firing_id}{self._where}{self._why}"
        return f"{_one_line(self.timer_name)}: {words}{about}, {due}"

    @property
    def _line_of_host(self) -> str:
        words = _WORDS_OF_BROKEN_ROW if self.is_broken else _WORDS_OF_HOST[self.event]
        words = words.format(
            attempts=_counted(self.times, "attempt"),
            firings=_counted(self.times, "firing"),
            times=_counted(self.times, "time"),
            timers=("" if self.are_counted else "some ") + _counted(self.timers, "timer"),
            were="was" if self.times == 1 else "were",
            late=self.lateness_ms,
            about=self.about.value if self.about else "",
        )
        last = ", ".join(self.last_ids)
        return f"{words}{self._where} since {show_moment(self.since)}, the last: {last}{self._why}"

    @property
    def _where(self) -> str:
        place = AlertPlace("", self.host, self.target).shown
        return f" at {place}" if place else ""

    @property
    def _why(self) -> str:
        error = _WHY_SKIPPED.get(self.error, self.error)
        return f": {_short(error)}" if error else ""

    @property
    def fields(self) -> dict[str, Any]:
        """What a webhook is told."""
        return {
            "event": self.event.value,
            "about": self.about.value if self.about else None,
            "host": self.host or None,
            "target": self.target or None,
            "timerId": str(self.timer_id),
            "timer": self.timer_name,
            "fireAt": show_moment(self.fire_at),
            "firingId": self.firing_id or None,
            "since": show_moment(self.since),
            "times": self.times,
            "timers": self.timers or 1,
            "lastFiringIds": list(self.last_ids or filter(None, [self.firing_id])),
            "error": self.error,
            "httpStatus": self.http_status,
            "latenessMs": self.lateness_ms,
        }


@dataclass(frozen=True, slots=True)
class AlertMessage:
    """Alerts of one rule that are told together; `more`: how many others there were.

    `gathered_at` is when the last of them came to the others (ms UTC); 0: none did.
    """

    app: str
    rule: str
    alerts: tuple[Alert, ...] = ()
    more: int = 0
    gathered_at: int = 0

    def with_more(self, alerts: Sequence[Alert]) -> "AlertMessage":
        """Return it with these too: as many as have room are named, the others counted."""
        updated = self.updated(alerts)
        told = {alert.story for alert in self.alerts if alert.is_of_host}
        new = [alert for alert in alerts if not (alert.is_of_host and alert.story in told)]
        room = max(0, MOST_NAMED - len(self.alerts))
        return replace(
            updated,
            alerts=(*updated.alerts, *new[:room]),
            more=self.more + max(0, len(new) - room),
        )

    def updated(self, alerts: Sequence[Alert]) -> "AlertMessage":
        """Return it with these in the places of those that tell less of the same host; others are left out."""
        newest = {alert.story: alert for alert in alerts if alert.is_of_host}
        return replace(
            self,
            alerts=tuple(
                newest.get(alert.story, alert) if alert.is_of_host else alert for alert in self.alerts
            ),
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
        return [self.title, *more, *(alert.line for alert in self.alerts)]

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
            "alerts": [alert.fields for alert in self.alerts],
            "more": self.more,
        }
        return orjson.dumps({"type": EVENT_TYPE, "timestamp": show_moment(now), "data": data})

    def stored(self) -> str:
        """Return it as SQL has it, without its app and rule."""
        rows = [
            [
                alert.event.value,
                alert.timer_id,
                alert.timer_name,
                alert.fire_at,
                alert.since,
                alert.times,
                alert.error,
                alert.http_status,
                alert.lateness_ms,
                alert.about.value if alert.about else None,
                alert.host,
                alert.target,
                alert.timers,
                alert.are_counted,
                alert.last_ids,
                alert.is_broken,
            ]
            for alert in self.alerts
        ]
        fields = {"alerts": rows, "more": self.more, "gathered_at": self.gathered_at}
        return orjson.dumps(fields).decode()

    @classmethod
    def from_stored(cls, app: str, rule: str, text: str) -> "AlertMessage":
        """Read back what `stored` wrote."""
        fields = orjson.loads(text)
        alerts = [Alert(*row) for row in fields["alerts"]]
        read = (
            replace(
                alert,
                event=AlertEvent(alert.event),
                about=AlertEvent(alert.about) if alert.about else None,
                last_ids=tuple(alert.last_ids),
            )
            for alert in alerts
        )
        return cls(app, rule, tuple(read), fields["more"], fields["gathered_at"])


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _short(error: str) -> str:
    text = _one_line(error)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
