"""Whose outcomes the judge of alerts sees: which apps have rules, where a call goes, and what an outcome tells."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wangtimer.core.flow.outcome import Note, Outcome
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.core.replica_kind import ReplicaKind

# No host has a slash: `target:443` may be one.
_TARGET = "target/"


class AlertPlace(NamedTuple):
    """The app of a call, the host and port that it calls, and the named target it goes through.

    `app` "": nobody knows whose it is; `host` and `target` "": nobody knows the host, and there is no such target.
    """

    app: str = ""
    host: str = ""
    target: str = ""

    @property
    def text(self) -> str:
        """What trouble of one place has in common: the named target, else the host."""
        return (f"{_TARGET}{self.target}" if self.target else self.host)[:LANE_CHARACTERS]

    @property
    def shown(self) -> str:
        """The same in words, for a message; "" where nobody knows it."""
        if not self.target:
            return self.host
        return f"target {self.target} ({self.host})" if self.host else f"target {self.target}"


NOWHERE = AlertPlace()


# Places of an app that are told, those that failed last: one success of each is noted a second.
MOST_PLACES = 200


@dataclass(frozen=True, slots=True)
class AlertedApps:
    """The apps with rules of alerts.

    `late_ms` has, by app, the least lateness that one of its rules tells of; None: its rules tell of other things only.
    `troubled` has, by app, the hosts and named targets of whose trouble the judge knows, as `AlertPlace.text` writes
    them: that they answer is noted too.
    """

    late_ms: Mapping[str, int | None] = field(default_factory=dict)
    troubled: Mapping[str, frozenset[str]] = field(default_factory=dict)


NOBODY = AlertedApps()


def _to_json(alerted: AlertedApps) -> dict[str, Any]:
    return {
        app: {"lateMs": late_ms, "troubled": sorted(alerted.troubled.get(app, ()))}
        for app, late_ms in alerted.late_ms.items()
    }


def _from_json(told: Any) -> AlertedApps:
    late_ms = {
        app: None if fields["lateMs"] is None else int(fields["lateMs"]) for app, fields in told.items()
    }
    troubled = {app: frozenset(map(str, fields["troubled"])) for app, fields in told.items()}
    return AlertedApps(late_ms, {app: places for app, places in troubled.items() if places})


ALERTED_APPS = ReplicaKind("alerted-apps", _to_json, _from_json, NOBODY, read_every_s=3.0)


class NotedAt(NamedTuple):
    """Whose an outcome is and where it went, where the judge is to see it.

    `known_at`: when it was known (ms UTC); None: nobody says. `well_at`: of a failure, when a call there last succeeded
    in this process since the failure before; None: none did.
    """

    app: str
    host: str
    target: str
    known_at: int | None = None
    well_at: int | None = None

    @classmethod
    def of(cls, outcome: Outcome) -> "NotedAt | None":
        """Return what the judge is told of an outcome; None: it is not to see it."""
        told = outcome.note("alert")
        return None if told is None else cls(*told)

    @property
    def note(self) -> Note:
        """The same as an outcome tells it."""
        return "alert", list(self)
