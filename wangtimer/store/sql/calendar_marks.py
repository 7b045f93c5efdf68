"""Which upload of a calendar the days of a timer are of that is being made or edited."""

from typing import Any

import orjson
from sqlalchemy import Connection, and_, select, update

from wangtimer.core.schedules.calendars import built_in
from wangtimer.core.schedules.schedule import Schedule, as_bounded
from wangtimer.store.bounds import calendar_from
from wangtimer.store.sql.tables import calendars


def calendar_mark(sql: Connection, app: str, schedule: Schedule) -> int:
    """Return what a timer of this schedule has as `calendar_at`: the upload its days are of, 0 for an older one.

    The calendar's row is held until the transaction ends. So an upload waits for it, and then finds the timer; or was
    before it, and then it is seen here that the days are older: the calendar is followed again.
    """
    excluded = as_bounded(schedule).excluded
    if excluded is None or excluded.name in built_in():
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
