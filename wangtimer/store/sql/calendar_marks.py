"""The mark of a timer that is being made or edited: which upload of a calendar its days come from."""

from typing import Any

import orjson
from sqlalchemy import Connection, and_, select, update

from wangtimer.core.schedules.calendars import built_in
from wangtimer.core.schedules.schedule import Schedule, as_bounded
from wangtimer.store.bounds import calendar_from
from wangtimer.store.sql.tables import calendars


def is_marked(schedule: Schedule) -> bool:
    """Tell whether timers of this schedule are marked: they have a calendar of their app."""
    excluded = as_bounded(schedule).excluded
    return excluded is not None and excluded.name not in built_in()


def calendar_mark(sql: Connection, app: str, schedule: Schedule) -> int:
    """Return `calendar_at` for a timer of this schedule: the upload its days come from, 0 for an older one.

    The calendar's row is locked until the transaction ends. A later upload waits for it, and then finds the timer.
    After an earlier upload the days are seen to be older here: the calendar is then followed again.
    """
    excluded = as_bounded(schedule).excluded
    if excluded is None or not is_marked(schedule):
        return 0
    own = and_(calendars.c.app == app, calendars.c.name == excluded.name)
    query = select(calendars.c.content, calendars.c.updated_at).where(own).with_for_update(read=True)
    row: Any = sql.execute(query).one_or_none()
    if row is None:
        return 0
    if calendar_from(orjson.loads(row.content)) == excluded:
        return int(row.updated_at)
    sql.execute(update(calendars).where(own).values(followed_at=0))
    return 0
