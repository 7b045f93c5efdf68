"""The migrator: turns the next stretch of every schedule into firings."""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from wangtimer.core.clock import Clock
from wangtimer.core.errors import StoreAway
from wangtimer.core.planning import Plan, count_by_minute, firings_of, plan
from wangtimer.core.slicing import BucketRule
from wangtimer.core.timer import Timer
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.load import MinuteLoad
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# Rows one planning transaction inserts: more gains nothing, and holds locks longer.
ROWS_A_TRANSACTION = 20_000


@dataclass(frozen=True, slots=True)
class PlanRule:
    """Plan timers with less than one step left up to two steps ahead, `page_timers` read at once, and for each
    at most `most_moments` at a time.
    """

    step_ms: int
    page_timers: int
    most_moments: int


@dataclass(frozen=True, slots=True)
class Migrator:
    """Reads only timers that come due within a step; two of them at once waste work, and harm nothing."""

    timers: TimerStore
    hot: HotStore
    definitions: DefinitionStore
    load: MinuteLoad
    clock: Clock
    rule: PlanRule
    buckets: BucketRule

    def plan_due(self) -> int:
        """Plan page after page until no timer is left with less than a step; return how many plans were made.

        However long planning was away, it goes on from each timer's own mark. Raises `StoreAway`.
        """
        now = int(self.clock.now_ms())
        planned = 0
        while page := self.timers.to_plan(now + self.rule.step_ms, self.rule.page_timers):
            held = [self._plan_together(plans) for plans in self._plans(page, now)]
            if not any(held):
                break
            planned += sum(held)
        return planned

    def _plans(self, page: list[Timer], now: int) -> Iterable[list[Plan]]:
        """Yield the page's plans in groups of about `ROWS_A_TRANSACTION` moments, nearest first."""
        group: list[Plan] = []
        rows = 0
        for timer in page:
            group.append(plan(timer, now + 2 * self.rule.step_ms, self.rule.most_moments))
            rows += len(group[-1].moments)
            if rows >= ROWS_A_TRANSACTION:
                yield group
                group, rows = [], 0
        if group:
            yield group

    def _plan_together(self, plans: list[Plan]) -> int:
        """Make plans rows, then tell Redis; return how many timers moved on."""
        firings = firings_of(plans, self._planned_before(plans), self.buckets)
        held, pending = self.timers.commit_plans(plans, firings)
        try:
            self.definitions.put([a_plan.timer.definition for a_plan in held])
            self.hot.add(pending)
        except StoreAway as error:
            log.warning("plan_not_in_redis_yet", firings=len(pending), error=str(error))
        return len(held)

    def _planned_before(self, plans: list[Plan]) -> dict[int, int]:
        try:
            return self.load.reserve(count_by_minute(plans))
        except StoreAway:
            return {}
