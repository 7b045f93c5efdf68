"""Lists of firings in memory, as far as a replay asks for them; it shares its server with `MemoryFirings`."""

from collections.abc import Iterable

from wangtimer.core.flow.firing import Firing, FiringKind
from wangtimer.core.timers.timer import TimerStatus
from wangtimer.store.sql.firing_lists import FiringFilter
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryFiringLists:
    """Reads tables `firings` and `timers`."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def count(self, wanted: FiringFilter) -> int:
        return self.oldest(wanted, 0)[1]

    def oldest(self, wanted: FiringFilter, limit: int) -> tuple[list[Firing], int]:
        def work() -> tuple[list[Firing], int]:
            found = (record.firing for record in self._server.table("firings").values())
            matching = [one for one in found if self._is_wanted(wanted, one)]
            return sorted(matching, key=lambda one: (one.fire_at, one.timer_id))[:limit], len(matching)

        return self._server.call(work)

    def living(self, app: str, timer_ids: Iterable[int]) -> set[int]:
        return self._server.call(
            lambda: {one for one in timer_ids if self._is_apps(app, one, is_living=True)}
        )

    def latest_scheduled(self, timer_ids: Iterable[int], now: int) -> dict[int, FiringRecord]:
        def work() -> dict[int, FiringRecord]:
            rows = sorted(self._server.table("firings").values(), key=lambda row: row.firing.fire_at)
            wanted = set(timer_ids)
            return {
                row.firing.timer_id: row
                for row in rows
                if row.firing.timer_id in wanted
                and row.firing.fire_at <= now
                and row.firing.kind is FiringKind.SCHEDULED
            }

        return self._server.call(work)

    def _is_wanted(self, wanted: FiringFilter, one: Firing) -> bool:
        return (
            self._is_apps(wanted.app, one.timer_id, wanted.is_living)
            and wanted.timer_id in (None, one.timer_id)
            and (not wanted.statuses or one.status in wanted.statuses)
            and (wanted.first is None or one.fire_at >= wanted.first)
            and (wanted.last is None or one.fire_at <= wanted.last)
        )

    def _is_apps(self, app: str, timer_id: int, is_living: bool) -> bool:
        timer = self._server.table("timers").get(timer_id)
        if timer is None or timer.definition.app != app:
            return False
        return not is_living or timer.definition.status is not TimerStatus.DELETED
