"""How many of an app's firings came to what."""

from collections import Counter

from sqlalchemy import Connection, func, select

from wangtimer.core.clock import Clock
from wangtimer.core.firing import FiringStatus
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_lists import FiringFilter, matching
from wangtimer.store.sql.tables import firings

# A statement counts about 400,000 rows a second (2 cores, MariaDB), and is given up after 5 s; so a long time is
# counted part by part, each twice as long as the one before while that took no more than this.
SHORTEST_MS = 3_600_000
QUICK_S = 0.5
# Below what a stopping API process gives its requests.
LONGEST_S = 8.0


class FiringCounts:
    """Counts what `FiringLists` would list."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def by_status(self, wanted: FiringFilter) -> dict[FiringStatus, int] | None:
        """Return how many have each status, also where that is none; None where they cannot be counted in 8 s."""
        first, last = self._database.read(lambda sql: _span(sql, wanted))
        counts: Counter[FiringStatus] = Counter(dict.fromkeys(FiringStatus, 0))
        ends_at = self._clock.monotonic() + LONGEST_S
        length = SHORTEST_MS
        while first <= last:
            began_at = self._clock.monotonic()
            if began_at >= ends_at:
                return None
            counts += self._part(wanted, first, min(last, first + length - 1))
            first += length
            took_s = self._clock.monotonic() - began_at
            length = length * 2 if took_s <= QUICK_S else max(SHORTEST_MS, length // 2)
        return {status: counts[status] for status in FiringStatus}

    def _part(self, wanted: FiringFilter, first: int, last: int) -> Counter[FiringStatus]:
        query = select(firings.c.status, func.count()).where(
            matching(wanted), firings.c.fire_at.between(first, last)
        )
        rows = self._database.read(lambda sql: sql.execute(query.group_by(firings.c.status)).all())
        return Counter({FiringStatus(status): number for status, number in rows})


def _span(sql: Connection, wanted: FiringFilter) -> tuple[int, int]:
    """Return the first and last moment there may be any: both ends of the primary key, or nearer."""
    oldest, newest = (
        sql.execute(select(end(firings.c.fire_at))).scalar_one() for end in (func.min, func.max)
    )
    if oldest is None:
        return 0, -1
    first = oldest if wanted.first is None else max(oldest, wanted.first)
    return first, newest if wanted.last is None else min(newest, wanted.last)
