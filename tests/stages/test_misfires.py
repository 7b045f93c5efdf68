"""What becomes of moments that nobody was there for, by their timer's misfire policy."""

import pytest

from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.timers.misfire import COALESCED, MISSED, MisfirePolicy, MisfireRule
from wangtimer.core.timers.timer import NewTimer, Notify

GRACE_MS = 5_000
# A window that only the last of the three missed moments lies in when Redis is back, half a minute after it.
WINDOW_MS = 60_000
MADE = ""


@pytest.mark.parametrize(
    ("policy", "window_ms", "became"),
    [
        (MisfirePolicy.FIRE_ALL, 0, [MADE, MADE, MADE]),
        (MisfirePolicy.FIRE_ALL, WINDOW_MS, [MISSED, MISSED, MADE]),
        (MisfirePolicy.FIRE_LATEST, 0, [COALESCED, COALESCED, MADE]),
        (MisfirePolicy.SKIP, 0, [MISSED, MISSED, MISSED]),
    ],
)
def test_what_is_missed_is_made_or_skipped_as_its_policy_says(
    world: World, policy: MisfirePolicy, window_ms: int, became: list[str]
) -> None:
    rule = MisfireRule(policy, GRACE_MS, window_ms)
    each_minute = NewTimer(
        APP, "each minute", Cron.parse("0 * * * * *"), Notify("http://shop.test/due"), rule
    )
    timer = world.registrar.enable(APP, world.registrar.create(each_minute).id)
    world.run_for(25)
    world.redis.away = True
    world.run_for(170)
    world.redis.away = False
    world.run_for(25)
    missed = world.settled(timer)
    assert [record.error for record in missed] == became
    made = [record.firing.fire_at for record in missed if record.firing.status is FiringStatus.SUCCEEDED]
    assert made == world.target.moments(timer.id)
    assert len(made) == became.count(MADE)
