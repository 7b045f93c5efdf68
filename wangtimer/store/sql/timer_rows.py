"""How timers become rows, and rows timers."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

import orjson
from sqlalchemy import insert
from sqlalchemy.engine import Dialect

from wangtimer.core.errors import Unreadable
from wangtimer.core.kinds.kinds import kind_of, rule_from_text
from wangtimer.core.schedules.ending import ENDLESS, Ending
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Once, Schedule, rule_of
from wangtimer.core.timers.bad_timers import Readable, reason_of
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.timer import UNREAD, Definition, Notify, Timer, TimerStatus
from wangtimer.store.bounds import BoundFields, bounded, bounds_from, bounds_of
from wangtimer.store.sql.many_rows import ManyRows, Texts, number, rows_to_come
from wangtimer.store.sql.tables import KEPT_AFTER_FAILURE, timers

Read = TypeVar("Read")

_INSERTED = tuple(column.name for column in timers.c if column is not timers.c.tombstone)


@cache
def inserting(dialect: Dialect) -> ManyRows:
    """Return the insert of timers; `written_row` puts each in words."""
    named = insert(timers).from_select(_INSERTED, rows_to_come(), include_defaults=False)
    return ManyRows(named, dialect)


def written_row(row: Mapping[str, Any], texts: Texts) -> str:
    """Write a timer's row, in the order of the insert's columns."""
    values = [row[name] for name in _INSERTED]
    written = [texts.write(value) if isinstance(value, str) else number(value) for value in values]
    return f"({','.join(written)})"


def terms(
    schedule: Schedule,
    ending: Ending,
    notify: Notify,
    misfire: MisfireRule,
    tags: tuple[str, ...],
    keep_days: int | None,
) -> dict[str, Any]:
    """Return the columns of what its owner says of a timer."""
    return _schedule_columns(schedule, ending) | {
        "notify": _notify_text(notify),
        "misfire": misfire.policy.value,
        "misfire_grace_ms": misfire.grace_ms,
        "catchup_window_ms": misfire.window_ms,
        "tags": orjson.dumps(tags).decode() if tags else None,
        "keep_days": keep_days,
    }


def _schedule_columns(schedule: Schedule, ending: Ending) -> dict[str, Any]:
    rule = rule_of(schedule)
    stored = kind_of(rule).stored(rule)
    bounds = _bounds_of(schedule, ending)
    return {
        "cron": stored.text,
        "timezone": stored.timezone,
        "every_ms": stored.every_ms,
        "anchor_ms": stored.anchor_ms,
        "at_ms": stored.at_ms,
        "bounds": _text_of(bounds),
        "calendar": bounds.get("excluded", {}).get("name"),
    }


def bounds_text(schedule: Schedule, ending: Ending) -> str | None:
    """Return the column `bounds`."""
    return _text_of(_bounds_of(schedule, ending))


def _bounds_of(schedule: Schedule, ending: Ending) -> BoundFields:
    return (bounds_of(schedule) or {}) | _ending_fields(ending)


def _text_of(bounds: BoundFields) -> str | None:
    return orjson.dumps(bounds).decode() if bounds else None


def _ending_fields(ending: Ending) -> BoundFields:
    fields = {"end": ending.end_ms, "most": ending.most, "from": ending.counted_from}
    return {name: value for name, value in fields.items() if value is not None}


def _bounds(row: Any) -> BoundFields | None:
    return None if row["bounds"] is None else bounds_from(row["bounds"])


def _schedule(row: Any, bounds: BoundFields | None) -> Schedule:
    if row["at_ms"] is not None:
        return Once(row["at_ms"])
    return bounded(_rule(row), bounds, row["id"])


def _rule(row: Any) -> Rule:
    if row["cron"] is not None:
        return rule_from_text(row["cron"], row["timezone"])
    return Every(row["every_ms"], row["anchor_ms"], row["timezone"])


def _ending(bounds: BoundFields | None) -> Ending:
    if bounds is None:
        return ENDLESS
    return Ending(bounds.get("end"), bounds.get("most"), bounds.get("from"))


def _notify_text(notify: Notify) -> str:
    fields = {"url": notify.url, "method": notify.method, "headers": notify.headers, "body": notify.body}
    return orjson.dumps(fields).decode()


def _notify(text: str) -> Notify:
    fields = orjson.loads(text)
    headers = tuple((name, value) for name, value in fields["headers"])
    return Notify(fields["url"], fields["method"], headers, fields["body"])


def definition_of(row: Any) -> Definition:
    """Return what firing needs to know of a row's timer; its call is `UNREAD` where the row has none."""
    return _definition(row, _bounds(row))


def _definition(row: Any, bounds: BoundFields | None) -> Definition:
    return Definition(
        timer_id=row["id"],
        app=row["app"],
        version=row["version"],
        status=TimerStatus(row["status"]),
        schedule=_schedule(row, bounds),
        notify=_notify(row["notify"]) if "notify" in row else UNREAD,
        edited_at=row["edited_at"],
        misfire=MisfireRule(MisfirePolicy(row["misfire"]), row["misfire_grace_ms"], row["catchup_window_ms"]),
        disabled_at=row["disabled_at"],
    )


def timer_of(row: Any) -> Timer:
    """Return a row's timer."""
    bounds = _bounds(row)
    return Timer(
        definition=_definition(row, bounds),
        name=row["name"],
        planned_until=row["planned_until"],
        next_fire_at=row["next_fire_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        ending=_ending(bounds),
        tags=tuple(orjson.loads(row["tags"])) if row["tags"] else (),
        keep_days=0 if row["keep_days"] == KEPT_AFTER_FAILURE else row["keep_days"],
    )


def read_rows(rows: Iterable[Any], read: Callable[[Any], Read]) -> Readable[int, Read]:
    """Read rows of timers one by one, in their order; one that cannot be read keeps no other from being read."""
    found: Readable[int, Read] = Readable()
    for row in rows:
        try:
            found[row["id"]] = read(row)
        except Exception as error:
            found.bad[row["id"]] = reason_of("its row cannot be read", error)
    return found


def one_timer_of(row: Any) -> Timer:
    """Return the row's timer; raises `Unreadable`."""
    try:
        return timer_of(row)
    except Exception as error:
        raise Unreadable(row["id"], reason_of("its row", error)) from error
