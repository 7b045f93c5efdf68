"""Counts the totals of apps anew: for the first time after an upgrade, and now and then, so that no error lasts."""

from sqlalchemy import Connection, and_, select, update

from wangtimer.core.kinds.how_often import firings_a_day
from wangtimer.store.sql.app_totals import count_anew
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.keyset import by_index, update_by_index
from wangtimer.store.sql.tables import apps, timers
from wangtimer.store.sql.timer_rows import read_rows, timer_of

# Timers whose firings a day are filled in by one transaction.
PAGE = 500
# Columns that a schedule is read from, and what `timer_of` wants beside: not the call, which may be large.
_COLUMNS = [column for column in timers.c if column is not timers.c.notify]


class TotalCounts:
    """Finds apps whose totals are old, and counts them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def to_count(self, before: int, limit: int) -> list[str]:
        """Return apps that were last counted before a moment (ms UTC), or never, the longest ago first."""
        query = select(apps.c.name).where(apps.c.counted_at < before).order_by(apps.c.counted_at).limit(limit)
        return self._database.read(lambda sql: list(sql.execute(query).scalars()))

    def fill_in(self, app: str, after_id: int) -> int | None:
        """Note how often timers fire that an older version made, a page of them; return where to go on, None: done."""
        wanted = and_(timers.c.app == app, timers.c.tombstone == 0, timers.c.id > after_id)
        query = by_index(
            select(*_COLUMNS).where(wanted, timers.c.firings_a_day.is_(None)), "timer_of_app", timers
        )
        query = query.order_by(timers.c.id).limit(PAGE)

        def work(sql: Connection) -> int | None:
            rows = sql.execute(query).mappings().all()
            by_number: dict[int, list[int]] = {}
            for timer in read_rows(rows, timer_of).values():
                by_number.setdefault(firings_a_day(timer.definition.schedule), []).append(timer.id)
            for number, ids in sorted(by_number.items()):
                # An edit meanwhile has filled it in itself.
                unfilled = and_(timers.c.id.in_(ids), timers.c.firings_a_day.is_(None))
                filled = update(timers).where(unfilled).values(firings_a_day=number)
                sql.execute(update_by_index(filled, "PRIMARY"))
            return int(rows[-1]["id"]) if len(rows) == PAGE else None

        return self._database.write(work)

    def count(self, app: str, now: int) -> None:
        """Count an app's timers and write its totals."""

        def work(sql: Connection) -> None:
            sql.execute(select(apps.c.name).where(apps.c.name == app).with_for_update())
            count_anew(sql, app, now)

        self._database.write(work)
