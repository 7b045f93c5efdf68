"""Which apps have rules of alerts: what callback processes are told, so that they mark what the judge is to see."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wangtimer.core.replica_kind import ReplicaKind

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

    def __bool__(self) -> bool:
        return bool(self.late_ms)

    def __contains__(self, app: object) -> bool:
        return app in self.late_ms


NOBODY = AlertedApps()


def _to_json(alerted: AlertedApps) -> dict[str, Any]:
    return {
        app: {"lateMs": late_ms, "troubled": sorted(alerted.troubled.get(app, ()))}
        for app, late_ms in alerted.late_ms.items()
    }


def _from_json(told: Any) -> AlertedApps:
    late_ms = {app: None if one["lateMs"] is None else int(one["lateMs"]) for app, one in told.items()}
    troubled = {app: frozenset(map(str, one["troubled"])) for app, one in told.items()}
    return AlertedApps(late_ms, {app: places for app, places in troubled.items() if places})


ALERTED_APPS = ReplicaKind("alerted-apps", _to_json, _from_json, NOBODY, read_every_s=3.0)
