"""The rows of troubles: read, written, and looked up in the caller's transaction."""

from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any, TypeVar

import orjson
import structlog
from sqlalchemy import Connection, RowMapping, and_, delete, select
from sqlalchemy.engine import Dialect

from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.alerts.alert_rule import AlertEvent
from wangtimer.core.alerts.trouble import LastFiring, TimerCount, Trouble, TroubleKey
from wangtimer.store.sql.statements import ManyRows, Texts, by_index, number, upsert
from wangtimer.store.sql.tables import alerts

log = structlog.get_logger()

Read = TypeVar("Read")

KEY = (alerts.c.app, alerts.c.rule, alerts.c.timer_id, alerts.c.event, alerts.c.place)
_NAMES = (
    *("app", "rule", "timer_id", "event", "place", "timer_name"),
    *("fire_at", "since", "last_at", "times", "told_at", "late_ms", "content"),
)
_CHANGED = _NAMES[5:]
# Those that stand in the JSON beside the columns where they are set.
_OPTIONAL = (
    *("well_at", "error", "http_status", "lateness_ms"),
    *("failed_at", "is_broken", "told_times", "told_timers", "began_at"),
)


def read_each(read: Callable[[RowMapping], Read], rows: Iterable[RowMapping]) -> list[Read]:
    """Read rows one by one; one that cannot be read, say of another version, is named in the log and left out."""
    found = []
    for row in rows:
        try:
            found.append(read(row))
        except Exception as error:
            log.error("alert_row_cannot_be_read", timer_id=row["timer_id"], error=repr(error))
    return found


def trouble_text(trouble: Trouble) -> str:
    """Return what of it stands in no column."""
    fields: dict[str, Any] = {
        "host": trouble.place.host,
        "target": trouble.place.target,
        "last": [tuple(firing) for firing in trouble.last],
        "opened_at": trouble.opened_at,
    }
    if trouble.timers.marks:
        fields["timers"] = trouble.timers.marks
    fields |= {name: value for name in _OPTIONAL if (value := getattr(trouble, name))}
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
        tuple(LastFiring(*firing) for firing in fields["last"]),
        TimerCount(tuple(fields.get("timers", ()))),
        fields["opened_at"],
        **{name: fields[name] for name in _OPTIONAL if name in fields},
    )


def read_troubles(rows: Iterable[RowMapping]) -> list[Trouble]:
    """Return the troubles of rows."""
    return read_each(trouble_from, rows)


def troubles_of(sql: Connection, keys: Collection[TroubleKey]) -> dict[TroubleKey, Trouble]:
    """Return those of these troubles that are there, and lock them: those of timers, and those of hosts."""
    found: list[Trouble] = []
    if timer_ids := {key.timer_id for key in keys if not key.is_of_host}:
        query = select(alerts).where(alerts.c.timer_id.in_(sorted(timer_ids)))
        held = by_index(query, "alert_of_timer", alerts).with_for_update()
        found += read_troubles(sql.execute(held).mappings())
    if hosts := [key for key in keys if key.is_of_host]:
        is_one = and_(
            alerts.c.app.in_(sorted({key.app for key in hosts})),
            alerts.c.rule.in_(sorted({key.rule for key in hosts})),
            alerts.c.timer_id == 0,
            alerts.c.event.in_(sorted({key.event.value for key in hosts})),
            alerts.c.place.in_(sorted({key.place for key in hosts})),
        )
        held = by_index(select(alerts).where(is_one), "PRIMARY", alerts).with_for_update()
        found += read_troubles(sql.execute(held).mappings())
    return {trouble.key: trouble for trouble in found}


def write_troubles(sql: Connection, troubles: Iterable[Trouble]) -> None:
    """Write troubles, new ones too; statements of many rows."""
    _writing(sql.dialect).run(sql, sorted(troubles, key=lambda trouble: trouble.key), _written)


def end_trouble(sql: Connection, trouble: Trouble) -> bool:
    """Delete a trouble, unless somebody has seen it go on meanwhile: that moves its last moment."""
    as_read = and_(
        is_trouble(trouble.key), alerts.c.last_at == trouble.last_at, alerts.c.fire_at == trouble.fire_at
    )
    return bool(sql.execute(delete(alerts).where(as_read)).rowcount)


def is_trouble(key: TroubleKey) -> Any:
    """Return the condition that a row is this trouble."""
    return and_(*(column == value for column, value in zip(KEY, key, strict=True)))


@cache
def _writing(dialect: Dialect) -> ManyRows:
    """Return the upsert of troubles: a storm is judged in statements of many rows."""
    return upsert(alerts, _NAMES, dialect, lambda new: {name: new[name] for name in _CHANGED})


def _written(trouble: Trouble, texts: Texts) -> str:
    """Write a trouble, in the order of `_NAMES`: so its texts are written too."""
    app, rule, timer_id, event, place = trouble.key
    return (
        f"({texts.write(app)},{texts.write(rule)},{number(timer_id)},'{event.value}',{texts.write(place)},"
        f"{texts.write(trouble.timer_name)},"
        f"{number(trouble.fire_at)},{number(trouble.since)},{number(trouble.last_at)},{number(trouble.times)},{number(trouble.told_at)},"
        f"{number(trouble.late_ms)},{texts.write(trouble_text(trouble))})"
    )
