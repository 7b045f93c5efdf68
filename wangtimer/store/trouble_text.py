"""How a trouble is written in SQL beside its columns: JSON of where its calls went, its last firings, its timers."""

from typing import Any

import orjson

from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.alerts.alert_rule import AlertEvent
from wangtimer.core.alerts.timer_count import TimerCount
from wangtimer.core.alerts.trouble import LastFiring, Trouble, TroubleKey

# Those that are written where they are set.
_OPTIONAL = (
    *("well_at", "error", "http_status", "lateness_ms"),
    *("failed_at", "is_broken", "told_times", "told_timers", "began_at"),
)


def trouble_text(one: Trouble) -> str:
    """Return what of it stands in no column."""
    fields: dict[str, Any] = {
        "host": one.place.host,
        "target": one.place.target,
        "last": [tuple(firing) for firing in one.last],
        "opened_at": one.opened_at,
    }
    if one.timers.marks:
        fields["timers"] = one.timers.marks
    fields |= {name: value for name in _OPTIONAL if (value := getattr(one, name))}
    return orjson.dumps(fields).decode()


def trouble_from(row: Any) -> Trouble:
    """Read a row back; raises an error for one that this version does not know."""
    fields = orjson.loads(row["content"])
    key = TroubleKey(row["app"], row["rule"], row["timer_id"], AlertEvent(row["event"]), row["place"])
    return Trouble(
        key,
        row["timer_name"],
        row["fire_at"],
        row["since"],
        row["last_at"],
        row["times"],
        row["told_at"],
        row["late_ms"],
        AlertPlace(row["app"], fields["host"], fields["target"]),
        tuple(LastFiring(*one) for one in fields["last"]),
        TimerCount(tuple(fields.get("timers", ()))),
        fields["opened_at"],
        **{name: fields[name] for name in _OPTIONAL if name in fields},
    )
