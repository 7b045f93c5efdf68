"""The rules of zones and built-in calendars by which timers are planned, in SQL: one row, written by who plans."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, insert, select, update

from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan
from wangtimer.core.timers.bad_timers import BadTimers, reason_of
from wangtimer.core.timers.timer import Timer, TimerStatus
from wangtimer.store.sql.calendar_followers import Following, InTime, write_followings
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.statements import by_index
from wangtimer.store.sql.tables import firings, schedule_rules, timers
from wangtimer.store.sql.timer_rows import timer_of
from wangtimer.store.sql.while_unchanged import while_unchanged

_ONLY_ROW = 1
# Stands before a moment in place of a digest.
_SINCE = "since "
_LIVING = (TimerStatus.ENABLED.value, TimerStatus.DISABLED.value)


class PlannedBy(NamedTuple):
    """The versions of the rules by which timers are planned, and a digest by the name of each zone and calendar.

    A process that has them was there at `seen_at` (ms UTC). While timers of a zone or calendar may still have moments
    of other rules, since when they are looked at stands in place of its digest.
    """

    version: str
    digests: Mapping[str, str]
    seen_at: int = 0

    @property
    def to_follow(self) -> frozenset[str]:
        """The zones and calendars of which timers may have moments of other rules."""
        return frozenset(name for name, digest in self.digests.items() if digest.startswith(_SINCE))

    @property
    def followed_since(self) -> int:
        """Since when they are looked at, ms UTC."""
        since = (self.digests[name].removeprefix(_SINCE) for name in self.to_follow)
        return max(map(int, since), default=0)


def followed_from(now: int) -> str:
    """Return what stands in place of a digest from now on, ms UTC."""
    return f"{_SINCE}{now}"


class AnewPage(NamedTuple):
    """What one transaction did, and what Redis is to be told; `last_id` None: there is no further timer."""

    last_id: int | None
    changed: list[Timer]
    pending: list[Firing]


# Returns a timer with its new plan; None if its moments are right, all of which are planned already but those after
# its mark. May raise to refuse.
PlanAnew = Callable[[Timer, Collection[int]], Following | None]


class ScheduleRuleStore:
    """Every method raises `StoreAway`."""

    def __init__(self, database: Database, bad_timers: BadTimers) -> None:
        self._database = database
        self._bad_timers = bad_timers

    @while_unchanged
    def read(self) -> PlannedBy | None:
        """Return by which rules timers are planned; None: nobody has written it yet."""
        row = self._database.read_current(
            lambda sql: sql.execute(select(schedule_rules)).mappings().one_or_none()
        )
        if row is None:
            return None
        return PlannedBy(row["version"], orjson.loads(row["digests"]), row["seen_at"])

    @while_unchanged
    def version(self) -> str | None:
        """Return the version of these rules alone."""
        query = select(schedule_rules.c.version)
        return self._database.read_current(lambda sql: sql.execute(query).scalar_one_or_none())

    def write(self, planned_by: PlannedBy, instead_of: PlannedBy | None) -> None:
        """Write by which rules timers are planned now, unless somebody else wrote others meanwhile.

        Nor are others written in place of rules whose processes have said meanwhile that they are there.
        """
        values = {"version": planned_by.version, "seen_at": planned_by.seen_at}
        if instead_of is None or planned_by.digests is not instead_of.digests:
            values["digests"] = orjson.dumps(dict(planned_by.digests)).decode()

        def work(sql: Connection) -> None:
            columns = (schedule_rules.c.version, schedule_rules.c.seen_at)
            held = sql.execute(select(*columns).with_for_update()).one_or_none()
            if held is None:
                sql.execute(insert(schedule_rules).values(id=_ONLY_ROW, **values))
            elif (
                instead_of is not None
                and held.version == instead_of.version
                and (held.version == planned_by.version or held.seen_at == instead_of.seen_at)
            ):
                sql.execute(update(schedule_rules).values(values))

        self._database.write(work, waits_for_locks=False)

    def plan_page_anew(
        self,
        names: Collection[str],
        after_id: int,
        limit: int,
        now: int,
        plan_anew: PlanAnew,
        firings_of: Callable[[list[Plan]], list[Firing]],
        is_time_over: Callable[[], bool],
    ) -> AnewPage:
        """Plan timers of these zones and calendars anew, among the `limit` timers behind an id, at once.

        `is_time_over` is asked after each of them: if True no further one is looked at, so that rows are not locked
        long. Raises `RowsLocked` where somebody else holds one of them: the next sweep tries the same again. A timer
        that cannot be planned is noted and left as it is.
        """
        refused: dict[int, str] = {}

        def work(sql: Connection) -> AnewPage:
            refused.clear()
            columns = (timers.c.id, timers.c.timezone, timers.c.calendar, timers.c.status)
            seen = select(*columns).where(timers.c.id > after_id)
            rows = sql.execute(by_index(seen.order_by(timers.c.id).limit(limit), "PRIMARY", timers)).all()
            living = (row for row in rows if row.status in _LIVING)
            ids = [row.id for row in living if row.timezone in names or row.calendar in names]
            locked = by_index(select(timers).where(timers.c.id.in_(ids)), "PRIMARY", timers)
            locked = locked.order_by(timers.c.id).with_for_update()
            in_time = InTime(sql.execute(locked).mappings().all() if ids else (), is_time_over)
            last_id = rows[-1].id if len(rows) == limit else None
            followings = []
            for row in in_time:
                try:
                    timer = timer_of(row)
                    following = plan_anew(timer, _planned(sql, timer, now))
                except Exception as error:
                    reason = "it cannot be planned by the present rules of its zone"
                    refused[row["id"]] = reason_of(reason, error)
                    following = None
                if following is not None:
                    followings.append(following)
            if not in_time.is_all:
                last_id = row["id"]
            return AnewPage(last_id, *write_followings(sql, followings, {}, now, firings_of))

        page = self._database.write(work, waits_for_locks=False)
        if refused:
            self._bad_timers.note(refused)
        return page


def _planned(sql: Connection, timer: Timer, now: int) -> list[int]:
    of_timer = select(firings.c.fire_at).where(firings.c.timer_id == timer.id, firings.c.fire_at > now)
    query = by_index(of_timer.where(firings.c.fire_at <= timer.planned_until), "firing_of_timer", firings)
    return list(sql.execute(query).scalars())
