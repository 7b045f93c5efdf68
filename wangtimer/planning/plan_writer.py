"""The plan writer: commits plans of several timers together, and tells Redis."""

from dataclasses import dataclass

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.planning import Plan, count_by_minute, firings_of
from wangtimer.core.flow.slicing import BucketRule
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.window import MinuteLoad, planned_before
from wangtimer.store.refresher import tell
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# Rows one planning transaction inserts: more gains nothing, and holds locks longer.
ROWS_A_TRANSACTION = 20_000


@dataclass(frozen=True, slots=True)
class PlanWriter:
    """What Redis was not told of a commit, the sweep tells it."""

    timers: TimerStore
    hot: HotStore
    definitions: DefinitionStore
    load: MinuteLoad
    buckets: BucketRule

    def commit(self, plans: list[Plan]) -> tuple[int, set[int]]:
        """Commit plans and tell Redis; return how many timers moved on, and which somebody else holds."""
        firings = firings_of(plans, planned_before(self.load, count_by_minute(plans)), self.buckets)
        held, pending, locked = self.timers.commit_plans(plans, firings)
        try:
            if len(firings) >= ROWS_A_TRANSACTION:
                self.hot.expect_many()
            in_window = self.hot.in_window(pending)
            due = {firing.timer_id for firing in in_window}
            tell(
                self.timers, self.definitions, [a_plan.timer.id for a_plan in held if a_plan.timer.id in due]
            )
            self.hot.add_all(in_window)
        except StoreAway as error:
            log.warning("plan_not_in_redis_yet", firings=len(pending), error=str(error))
        return len(held), locked
