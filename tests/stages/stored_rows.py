"""Rows that a test puts into SQL by hand, and what of them stands in Redis."""

from tests.stages.world import World
from tests.store.members import row_at
from wangtimer.core.flow.firing import Firing


def stored(world: World, *seconds: float) -> list[Firing]:
    """Store pending rows of so many seconds from now that Redis knows nothing of."""
    rows = [row_at(world.now + int(second * 1_000), timer_id) for timer_id, second in enumerate(seconds, 1)]
    world.firings.insert(rows)
    return rows


def due(world: World) -> set[int]:
    """Return the timers that stand due in any slice."""
    return {member.timer_id for sets in world.redis.table("slices").values() for member in sets.due}
