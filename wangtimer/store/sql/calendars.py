"""Calendars that apps uploaded, in SQL."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import structlog
from sqlalchemy import Connection, LargeBinary, and_, case, cast, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.errors import Conflict, Limited, LimitReached, Subject
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.schedule import Schedule, as_bounded
from wangtimer.core.timers.timer import TimerStatus
from wangtimer.store.bounds import calendar_fields, calendar_from
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.statements import behind, by_index
from wangtimer.store.sql.tables import apps, calendars, timers

log = structlog.get_logger()

# Calendars of one app: one answer lists them all, up to 50 KB each.
MOST_CALENDARS = 100
# An app, and the name of a calendar.
Named = tuple[str, str]
FIRST: Named = ("", "")
# Index entries read at once.
PAGE = 1_000


class CalendarStore(SqlStore):
    """Each app's own calendars; timers carry their own copy of the days they leave out."""

    def __init__(
        self, database: Database, most_bytes_of: Callable[[str], int | None] = lambda _: None
    ) -> None:
        super().__init__(database)
        self._most_bytes_of = most_bytes_of

    def put(self, app: str, calendar: Calendar, now: int) -> None:
        """Store a calendar, replacing the app's one of this name; raises `Conflict`, `LimitReached`,
        `StoreAway`.

        If the app has `MOST_CALENDARS`, a further one is refused; the existing ones may still be replaced.

        Timers that name the calendar follow it later: its new `updated_at` differs from their marks, and it counts as
        not followed yet.
        """
        content = orjson.dumps(calendar_fields(calendar)).decode()
        at = calendars.c.updated_at
        replaced = {"content": content, "updated_at": case((at >= now, at + 1), else_=now), "followed_at": 0}

        most_bytes = self._most_bytes_of(app)

        def work(sql: Connection) -> None:
            if most_bytes is not None:
                _refuse_more_bytes(sql, app, calendar.name, len(content.encode()), most_bytes)
            is_new = not sql.execute(
                update(calendars).where(_is(app, calendar.name)).values(replaced)
            ).rowcount
            if is_new:
                _refuse_one_more(sql, app)
                sql.execute(
                    insert(calendars).values(app=app, name=calendar.name, content=content, updated_at=now)
                )
            noted = _noted(Action.CREATE, app, calendar.name) if is_new else _replaced(app, calendar.name)
            note_changes(sql, now, [noted])

        try:
            self._database.write(work, FailPoint.SQL_PUT_CALENDAR)
        except IntegrityError:
            raise Conflict(
                "calendar",
                f"{calendar.name!r} is being uploaded by somebody else",
                "repeat it where it is still wanted",
                about=Subject.CALENDAR,
            ) from None

    def get(self, app: str, name: str) -> Calendar | None:
        """Return the app's calendar of this name; None where it has none."""
        query = select(calendars.c.content).where(_is(app, name))
        text = self._database.read(lambda sql: sql.execute(query).scalar_one_or_none())
        return None if text is None else calendar_from(orjson.loads(text))

    def all_of(self, app: str) -> list[Calendar]:
        """Return the app's calendars by name; one that cannot be read is named in the log and left out."""
        query = select(calendars.c.name, calendars.c.content).where(calendars.c.app == app)
        rows = self._rows(query.order_by(calendars.c.name))
        found = []
        for name, text in rows:
            try:
                found.append(calendar_from(orjson.loads(text)))
            except Exception as error:
                log.error("calendar_cannot_be_read", app=app, calendar=name, error=repr(error))
        return found

    def remove(self, app: str, name: str, now: int) -> bool:
        """Forget a calendar; tell whether there was one. Timers keep the days they carry."""

        def work(sql: Connection) -> bool:
            is_gone = bool(sql.execute(delete(calendars).where(_is(app, name))).rowcount)
            if is_gone:
                note_changes(sql, now, [_noted(Action.DELETE, app, name)])
            return is_gone

        return self._database.write(work, FailPoint.SQL_REMOVE_CALENDAR)

    def timers_of(self, app: str, name: str) -> list[int]:
        """Return the ids of the app's living timers that name this calendar, ascending."""
        wanted = and_(timers.c.app == app, timers.c.calendar == name, timers.c.tombstone == 0)
        query = by_index(select(timers.c.id).where(wanted), "timer_follows", timers).order_by(timers.c.id)
        return self._database.read(lambda sql: list(sql.execute(query).scalars()))

    def named(self, after: Named = FIRST) -> tuple[list[Named], Named | None]:
        """Return pairs of an app and a calendar that its timers name, and where to go on; None at the end.

        Built-in calendars and deleted timers count. Each call reads one page of the index; the next call skips the
        remaining timers of the last pair.
        """
        columns = (timers.c.app, timers.c.calendar)
        query = by_index(select(*columns).where(behind(columns, after)), "timer_follows", timers)
        query = query.order_by(*columns).limit(PAGE)
        rows = self._rows(query)
        # An app's timers without a calendar come first, as "" sorts before any name.
        pairs = list(dict.fromkeys((app, name or "") for app, name in rows))
        return [pair for pair in pairs if pair[1]], pairs[-1] if len(rows) == PAGE else None

    def is_of_enabled(self, app: str, name: str) -> bool:
        """Tell whether an enabled timer of the app names this calendar."""
        wanted = and_(timers.c.app == app, timers.c.calendar == name, timers.c.status == TimerStatus.ENABLED)
        query = by_index(select(timers.c.id).where(wanted), "timer_follows", timers).limit(1)
        return self._database.read(lambda sql: sql.execute(query).first() is not None)


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
    query = (
        select(calendars.c.content, calendars.c.updated_at)
        .where(_is(app, excluded.name))
        .with_for_update(read=True)
    )
    row: Any = sql.execute(query).one_or_none()
    if row is None:
        return 0
    if calendar_from(orjson.loads(row.content)) == excluded:
        return int(row.updated_at)
    sql.execute(update(calendars).where(_is(app, excluded.name)).values(followed_at=0))
    return 0


def _refuse_one_more(sql: Connection, app: str) -> None:
    number = sql.execute(select(func.count(calendars.c.name)).where(calendars.c.app == app)).scalar_one()
    if number >= MOST_CALENDARS:
        raise Conflict(
            "calendar",
            f"the app has {number} calendars, and may have {MOST_CALENDARS}",
            "delete one that no timer names, or upload these days under the name of another",
            about=Subject.CALENDAR,
        )


def _noted(action: Action, app: str, name: str) -> AuditedChange:
    return AuditedChange(action, AuditedKind.CALENDAR, name, app)


def _replaced(app: str, name: str) -> AuditedChange:
    """Return what the audit says of an upload over an older one: it replaces all of its days."""
    return replace(_noted(Action.EDIT, app, name), fields=("weekdays", "days", "working"))


def _refuse_more_bytes(sql: Connection, app: str, name: str, size: int, most: int) -> None:
    """Raise `LimitReached` if an app's calendars would take too many bytes; the app's other uploads wait."""
    sql.execute(select(apps.c.name).where(apps.c.name == app).with_for_update())
    own = and_(calendars.c.app == app, calendars.c.name != name)
    sizes = select(func.sum(func.length(cast(calendars.c.content, LargeBinary)))).where(own)
    would_be = int(sql.execute(sizes).scalar_one() or 0) + size
    if would_be > most:
        raise LimitReached(
            Limited.CALENDARS,
            f"the calendars of app {app!r} would take {would_be:,} bytes, and may take {most:,}",
            "delete one that no timer names, or ask an operator for a higher limit",
        )


def _is(app: str, name: str) -> Any:
    return and_(calendars.c.app == app, calendars.c.name == name)
