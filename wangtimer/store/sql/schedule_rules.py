"""The rules of zones and built-in calendars by which timers were planned, in SQL: one row, written by who plans."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, func, insert, or_, select, update

from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan
from wangtimer.core.timers.bad_timers import BadTimers, reason_of
from wangtimer.core.timers.timer import Timer, TimerStatus
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import insert_missing
from wangtimer.store.sql.keyset import by_index, update_by_index
from wangtimer.store.sql.marks import move_marks
from wangtimer.store.sql.tables import schedule_rules, timers
from wangtimer.store.sql.timer_rows import timer_of
from wangtimer.store.sql.timers import changed_to

_ONLY_ROW = 1


class PlannedBy(NamedTuple):
    """The versions of the rules by which timers were planned, and a digest by the name of each zone and calendar.

    Timers up to the id `done_to` are planned anew by the rules of version `following` already.
    """

    version: str
    digests: Mapping[str, str]
    following: str = ""
    done_to: int = 0


@dataclass(frozen=True, slots=True)
class AnewPlanned:
    """A timer with its new marks, and its plans: of what came due unplanned, and from now on."""

    timer: Timer
    plans: tuple[Plan, ...]


class AnewPage(NamedTuple):
    """What one transaction did, and what Redis is to be told; `last_id` None: there is no further timer."""

    last_id: int | None
    changed: list[Timer]
    pending: list[Firing]


class ScheduleRuleStore:
    """Every method raises `StoreAway`."""

    def __init__(self, database: Database, bad_timers: BadTimers) -> None:
        self._database = database
        self._bad_timers = bad_timers

    def read(self) -> PlannedBy | None:
        """Return by which rules timers were planned; None: nobody has written it yet."""
        row = self._database.read(lambda sql: sql.execute(select(schedule_rules)).mappings().one_or_none())
        if row is None:
            return None
        return PlannedBy(row["version"], orjson.loads(row["digests"]), row["following"], row["done_to"])

    def write(self, planned_by: PlannedBy, instead_of: PlannedBy | None) -> None:
        """Write by which rules timers are planned now, unless somebody else wrote it meanwhile."""
        values = {
            "version": planned_by.version,
            "digests": orjson.dumps(dict(planned_by.digests)).decode(),
            "following": planned_by.following,
            "done_to": planned_by.done_to,
        }

        def work(sql: Connection) -> None:
            held = sql.execute(select(schedule_rules.c.version).with_for_update()).scalar_one_or_none()
            if held is None:
                sql.execute(insert(schedule_rules).values(id=_ONLY_ROW, **values))
            elif instead_of is not None and held == instead_of.version:
                sql.execute(update(schedule_rules).values(values))

        self._database.write(work, waits_for_locks=False)

    def left(self, names: Collection[str], after_id: int) -> int:
        """Return how many enabled timers behind an id are of these zones and calendars; reads all of them."""
        of_names = or_(timers.c.timezone.in_(sorted(names)), timers.c.calendar.in_(sorted(names)))
        query = select(func.count()).select_from(timers).where(timers.c.id > after_id, of_names)
        enabled = query.where(timers.c.status == TimerStatus.ENABLED.value)
        return int(self._database.read(lambda sql: sql.execute(enabled).scalar_one()))

    def plan_page_anew(
        self,
        version: str,
        names: Collection[str],
        after_id: int,
        limit: int,
        now: int,
        plan_anew: Callable[[Timer], AnewPlanned],
        firings_of: Callable[[list[Plan]], list[Firing]],
    ) -> AnewPage:
        """Plan enabled timers of these zones and calendars anew, among the `limit` timers behind an id, at once.

        `version` is that of the rules. Raises `RowsLocked` where somebody else holds one of them: the next sweep tries
        the same again. A timer that cannot be planned is noted and left as it is.
        """
        refused: dict[int, str] = {}

        def work(sql: Connection) -> AnewPage:
            refused.clear()
            columns = (timers.c.id, timers.c.timezone, timers.c.calendar, timers.c.status)
            seen = select(*columns).where(timers.c.id > after_id)
            rows = sql.execute(by_index(seen.order_by(timers.c.id).limit(limit), "PRIMARY", timers)).all()
            enabled = (row for row in rows if row.status == TimerStatus.ENABLED.value)
            ids = [row.id for row in enabled if row.timezone in names or row.calendar in names]
            done = []
            for timer in _locked(sql, ids, refused):
                try:
                    done.append(plan_anew(timer))
                except Exception as error:
                    refused[timer.id] = reason_of(
                        "it cannot be planned by the present rules of its zone", error
                    )
            pending = _write(sql, done, now, firings_of)
            sql.execute(
                update(schedule_rules).values(following=version, done_to=rows[-1].id if rows else after_id)
            )
            changed = [changed_to(one.timer.definition.status, one.timer, now) for one in done]
            return AnewPage(rows[-1].id if len(rows) == limit else None, changed, pending)

        page = self._database.write(work, waits_for_locks=False)
        if refused:
            self._bad_timers.note(refused)
        return page


def _locked(sql: Connection, ids: Collection[int], refused: dict[int, str]) -> list[Timer]:
    """Return those that can be read, their rows locked."""
    if not ids:
        return []
    query = by_index(select(timers).where(timers.c.id.in_(sorted(ids))), "PRIMARY", timers)
    found = []
    for row in sql.execute(query.order_by(timers.c.id).with_for_update()).mappings():
        try:
            found.append(timer_of(row))
        except Exception as error:
            refused[row["id"]] = reason_of("its row cannot be read", error)
    return [one for one in found if one.definition.is_enabled]


def _write(
    sql: Connection, done: list[AnewPlanned], now: int, firings_of: Callable[[list[Plan]], list[Firing]]
) -> list[Firing]:
    if not done:
        return []
    # MySQL assigns from left to right, in the order of the table's columns.
    changed = {"edited_before_at": timers.c.edited_at, "edited_at": now, "updated_at": now}
    ids = [one.timer.id for one in done]
    moving = update(timers).where(timers.c.id.in_(ids)).values(changed | {"version": timers.c.version + 1})
    sql.execute(update_by_index(moving, "PRIMARY"))
    move_marks(sql, [one.plans[-1] for one in done])
    plans = [plan for one in done for plan in one.plans if plan.moments]
    return insert_missing(sql, firings_of(plans)) if plans else []
