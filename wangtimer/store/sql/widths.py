"""Checks that what a timer's owner sets fits its columns, measured as it is stored."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import String

from wangtimer.core.errors import InvalidInput, InvalidSchedule
from wangtimer.core.timers.field import ColumnType
from wangtimer.core.timers.fields import FIELDS
from wangtimer.store.sql.tables import timers

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
    column.name: field.asked[0].place
    for field in FIELDS
    for column in field.columns
    if column.holds is ColumnType.TEXT
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
