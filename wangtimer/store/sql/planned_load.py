"""How many firings are planned into each minute to come, by app."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from sqlalchemy import Select, func, select

from wangtimer.core.errors import InvalidInput, TooManyAtOnce
from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import TimerStatus
from wangtimer.core.work_budget import refuse_more
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import PENDING
from wangtimer.store.sql.parts import end_of_patience
from wangtimer.store.sql.statements import by_index, in_this_order
from wangtimer.store.sql.tables import firings, timers

# Counting takes 2.5 s for 1,000,000 planned rows (2 cores, MariaDB). Counts are reused for this many times as long as
# counting took, so that counting takes at most a twentieth of one connection.
REMEMBERED_TIMES = 20
# Who waits longer for another request's counting comes again: each holds a thread of the process.
LONGEST_WAIT_S = 0.3
_ENABLED = TimerStatus.ENABLED.value


@dataclass(frozen=True, slots=True)
class _Counted:
    """One minute's firings by app; when they were counted, and how long that took (s of the stop-watch)."""

    by_app: Mapping[str, int]
    at: float
    took_s: float


class PlannedLoad:
    """Counts pending rows of enabled timers by due moment; a process counts a minute once for all callers.

    A coming retry counts in its minute. A firing that an edit superseded counts until its moment comes.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._counting = Lock()
        self._counted: dict[int, _Counted] = {}

    def minutes(self, first: int, number: int) -> dict[int, Mapping[str, int]]:
        """Return the firings by app of so many minutes (since 1970-01-01 UTC), from `first` on.

        Raises `StoreAway`, `TooMuchWork`, and `TooManyAtOnce` while another request's counting goes on. Raises
        `InvalidInput` after some seconds of counting; what is counted by then is remembered for the next request.
        """
        ends_at = end_of_patience(self._clock)
        if not self._counting.acquire(timeout=LONGEST_WAIT_S):
            raise TooManyAtOnce
        try:
            self._forget_before(first)
            return {minute: self._count(minute, ends_at).by_app for minute in range(first, first + number)}
        finally:
            self._counting.release()

    def first_unplanned(self) -> int | None:
        """Return the first moment (ms UTC) of any enabled timer that has no row yet; None if there is none."""
        query = select(func.min(timers.c.next_fire_at)).where(timers.c.status == _ENABLED)
        first: int | None = self._database.read(lambda sql: sql.execute(query).scalar_one())
        return first

    def _count(self, minute: int, ends_at: float) -> _Counted:
        refuse_more()
        began_at = self._clock.monotonic()
        known = self._counted.get(minute)
        if known is not None and began_at < known.at + self._remembered_s():
            return known
        if began_at >= ends_at:
            raise InvalidInput(
                "minutes",
                "there are too many firings to count in a few seconds",
                "ask for fewer minutes, or ask again: what is counted is remembered for a while",
            )
        found = self._database.read(lambda sql: dict(sql.execute(_by_app(minute)).all()))
        ended_at = self._clock.monotonic()
        counted = _Counted(found, ended_at, ended_at - began_at)
        self._counted[minute] = counted
        return counted

    def _remembered_s(self) -> float:
        return REMEMBERED_TIMES * sum(counted.took_s for counted in self._counted.values())

    def _forget_before(self, first: int) -> None:
        for minute in [minute for minute in self._counted if minute < first]:
            del self._counted[minute]


def _by_app(minute: int) -> Select[str, int]:
    """Return the count of one minute, of all apps: it takes 20 ms; the whole horizon would take seconds.

    It reads every firing of the minute in any case, as a firing's row does not have its app. So one count serves all.

    In this order of tables it reads one range of the index `firing_due`; without the hint MariaDB begins with all
    timers.
    """
    starts_at = minute * MINUTE_MS
    is_due = firings.c.due_at.between(starts_at, starts_at + MINUTE_MS - 1)
    query = select(timers.c.app, func.count()).select_from(
        firings.join(timers, timers.c.id == firings.c.timer_id)
    )
    query = in_this_order(by_index(by_index(query, "firing_due"), "PRIMARY", timers))
    return query.where(firings.c.status == PENDING, is_due, timers.c.status == _ENABLED).group_by(
        timers.c.app
    )
