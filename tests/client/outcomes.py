"""Firings with outcomes, put into SQL as the stages do."""

from tests.api.world import World
from tests.store.members import outcome_of, row_at
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.store.sql.firings import insert_missing


def fired(world: World, timer_id: int, number: int, failed: bool = False) -> list[int]:
    """Let so many firings, a second apart until just now, have succeeded or failed; return their moments, ascending."""
    now = int(world.clock.now_ms())
    moments = [now - 1_000 * back for back in range(number, 0, -1)]
    rows = [row_at(moment, timer_id) for moment in moments]
    status = FiringStatus.FAILED if failed else FiringStatus.SUCCEEDED
    world.wiring.database.write(lambda sql: insert_missing(sql, rows))
    world.wiring.firings.settle([outcome_of(row.member, status) for row in rows])
    return moments
