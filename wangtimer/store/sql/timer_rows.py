"""Writes timers as rows, and reads rows as timers; checks that what a timer's owner sets fits its columns."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

import orjson
from sqlalchemy import Enum, String, insert
from sqlalchemy.engine import Dialect

from wangtimer.core.errors import InvalidInput, InvalidSchedule, Unreadable
from wangtimer.core.kinds.kinds import firings_a_day, kind_of, rule_from_text
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import ENDLESS, Ending, Once, Schedule, rule_of
from wangtimer.core.timers.bad_timers import Readable, reason_of
from wangtimer.core.timers.field import TimerField
from wangtimer.core.timers.fields import FIELDS, IN_DEFINITION, IN_TIMER
from wangtimer.core.timers.timer import NO_CALL, UNREAD, Definition, NewTimer, Timer, TimerStatus
from wangtimer.store.bounds import BoundFields, bounded, bounds_from, bounds_of
from wangtimer.store.call_text import notify_of, notify_text
from wangtimer.store.sql.statements import ManyRows, Texts, number
from wangtimer.store.sql.tables import timers

Read = TypeVar("Read")

_ZERO_AT_FIRST = ("tombstone", "planned_seq", "followed_from", "followed_to")
_INSERTED = tuple(column.name for column in timers.c if column.name not in _ZERO_AT_FIRST)


@cache
def inserting(dialect: Dialect) -> ManyRows:
    """Return the insert of timers; `written_row` writes each row."""
    return ManyRows(insert(timers), _INSERTED, dialect)


def written_row(row: Mapping[str, Any], texts: Texts) -> str:
    """Write a timer's row, in the order of the insert's columns."""
    values = [row[name] for name in _INSERTED]
    # Half of the columns are mostly NULL: no call is made for these.
    written = [
        "NULL" if value is None else texts.write(value) if isinstance(value, str) else number(value)
        for value in values
    ]
    return f"({','.join(written)})"


def terms(of: NewTimer | Timer) -> dict[str, Any]:
    """Return the columns of what a timer's owner sets, except the name."""
    definition = of.definition if isinstance(of, Timer) else of
    columns = _schedule_columns(definition.schedule, of.ending)
    columns |= {"notify": notify_text(definition.notify), "target": definition.notify.target or None}
    for field in FIELDS:
        columns |= field.stored(of.value_of(field))
    return columns


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
        "firings_a_day": firings_a_day(rule),
        "bounds": _text_of(bounds),
        "calendar": bounds.get("excluded", {}).get("name"),
    }


def bytes_of_row(row: Mapping[str, Any]) -> int:
    """Return how many bytes a row's call and bounds take, which may be large."""
    return sum(len(text.encode()) for text in (row["notify"], row["bounds"]) if text is not None)


def bytes_of(timer: Timer) -> int:
    """Return the same of a timer."""
    definition = timer.definition
    return bytes_of_row(
        {"notify": notify_text(definition.notify), "bounds": bounds_text(definition.schedule, timer.ending)}
    )


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


# The column `notify` of a deleted timer.
NO_CALL_TEXT = notify_text(NO_CALL)
# The columns of a deleted timer that may be large: its row is kept as long as the records of its firings.
EMPTIED: dict[str, Any] = {"notify": NO_CALL_TEXT, "bounds": None}


def definition_of(row: Any) -> Definition:
    """Return the definition in a timer's row; its call is `UNREAD` if the query left it out."""
    return _definition(row, _bounds(row))


def _definition(row: Any, bounds: BoundFields | None) -> Definition:
    return Definition(
        timer_id=row["id"],
        app=row["app"],
        version=row["version"],
        status=TimerStatus(row["status"]),
        schedule=_schedule(row, bounds),
        notify=notify_of(row["notify"]) if "notify" in row else UNREAD,
        edited_at=row["edited_at"],
        edited_before_at=row["edited_before_at"],
        disabled_at=row["disabled_at"],
        **_values(row, IN_DEFINITION),
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
        followed=(row["followed_from"], row["followed_to"]),
        **_values(row, IN_TIMER),
    )


def _values(row: Any, fields: tuple[TimerField[Any], ...]) -> dict[str, Any]:
    return {field.name: field.from_row(row) for field in fields}


def read_rows(rows: Iterable[Any], read: Callable[[Any], Read]) -> Readable[int, Read]:
    """Read rows of timers one by one, in their order; one that cannot be read goes into `bad`, the others are read."""
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


# Bytes of the long columns: MySQL's MEDIUMTEXT.
MOST_LONG_BYTES = 2**24 - 1

# The place in `/v1` that each text column is written from: those of the schedule, then all others.
_OF_SCHEDULE = {
    "cron": "schedule.cron",
    "timezone": "schedule.timezone",
    "bounds": "schedule.excludeCalendar",
    "calendar": "schedule.excludeCalendar",
}
_OTHERS = {"app": "app", "name": "key", "notify": "target"} | {
    column: field.asked[0].place
    for field in FIELDS
    for column in field.columns
    if isinstance(timers.c[column].type, String) and not isinstance(timers.c[column].type, Enum)
}


def refuse_wide(row: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for the first column of a timer's row whose value is too long.

    For a column of the schedule `InvalidSchedule`. SQLite would store the value. MySQL would refuse the whole
    statement, also that of a batch.
    """
    for fields, error in ((_OTHERS, InvalidInput), (_OF_SCHEDULE, InvalidSchedule)):
        for column, field in fields.items():
            text = row.get(column)
            if text is not None:
                _refuse_if_wide(field, text, timers.c[column].type, error)


def _refuse_if_wide(field: str, text: str, kind: Any, error: type[InvalidInput]) -> None:
    if isinstance(kind, String) and kind.length is not None:
        size, most, unit = len(text), kind.length, "characters"
    else:
        size, most, unit = _bytes_of(text), MOST_LONG_BYTES, "bytes"
    if size > most:
        raise error(
            field,
            f"as it is stored (JSON, where each quote and backslash takes two) it has {size} {unit}",
            f"shorten it: {most} fit",
        )


def _bytes_of(text: str) -> int:
    # No character takes more than four bytes: a text that is short enough by count need not be encoded.
    return len(text) if len(text) * 4 <= MOST_LONG_BYTES else len(text.encode())
