"""How many of an app's firings have each status."""

from collections import Counter
from typing import Any

from sqlalchemy import Select, func, select

from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.time.clock import Clock
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firing_filter import FiringFilter, reach_of
from wangtimer.store.sql.parts import PARTS_OF_COUNTS, end_of_patience, parts_of
from wangtimer.store.sql.tables import firings


class FiringCounts:
    """Counts what `FiringLists` would list."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def by_status(self, wanted: FiringFilter) -> dict[FiringStatus, int]:
        """Return how many have each status, zeros included; raises `InvalidInput` if there are too many to count."""
        counts: Counter[FiringStatus] = Counter()
        reach = self._database.read(lambda sql: reach_of(sql, wanted))
        query = reach.narrow(select(firings.c.status, func.count())).group_by(firings.c.status)
        ends_at = end_of_patience(self._clock)
        for part in parts_of(reach.first, reach.last, PARTS_OF_COUNTS, self._clock, ends_at, wanted.app):
            counts += self._counted(query.where(reach.within(part)))
        return {status: counts[status] for status in FiringStatus}

    def _counted(self, query: Select[Any]) -> Counter[FiringStatus]:
        rows = self._database.read(lambda sql: sql.execute(query).all())
        # A status that only another version knows is left to that version.
        known = {status.value: status for status in FiringStatus}
        return Counter({known[status]: number for status, number in rows if status in known})
