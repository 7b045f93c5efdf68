"""Definitions as tests write them."""

from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule, Spread
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus

NOTIFY = Notify(
    "https://shop.example/早?a=1&b=ü",
    "PUT",
    (("X-A", "1"), ("X-A", "2"), ("content-type", "text/plain")),
    '{"say": "喂 🙂", "quote": "\'\\""}',
)
MISFIRE = MisfireRule(MisfirePolicy.FIRE_LATEST, 5_000, 90_000)
EVERY_MINUTE = Cron("* * * * *", "Asia/Shanghai")
CANCELLED = Bounded(EVERY_MINUTE, cancelled=frozenset({1_800_000_000_000, 1_800_000_060_000}))
RESPREAD = Bounded(
    EVERY_MINUTE, spread=Spread(0, 1, ((1_800_000_001_500, 15_000), (1_800_000_040_000, 2_000)))
)
ONCE = Once(1_800_000_000_123)


def definition(
    timer_id: int = 1,
    version: int = 1,
    status: TimerStatus = TimerStatus.ENABLED,
    schedule: Schedule = EVERY_MINUTE,
) -> Definition:
    return Definition(timer_id, "shop", version, status, schedule, NOTIFY, edited_at=7, misfire=MISFIRE)
