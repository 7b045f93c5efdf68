"""The migrator: turns the next stretch of every schedule into firings."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog

from wangtimer.core.clock import Clock
from wangtimer.core.errors import StoreAway
from wangtimer.core.planning import Ahead, Plan, count_by_minute, firings_of, plan, plan_ahead
from wangtimer.core.slicing import BucketRule
from wangtimer.core.timer import Timer
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.load import MinuteLoad
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# Rows one planning transaction inserts: more gains nothing, and holds locks longer.
ROWS_A_TRANSACTION = 20_000

# Plans one timer.
Expand = Callable[[Timer], Plan]


@dataclass(frozen=True, slots=True)
class PlanRule:
    """How timers are planned: so far `ahead`, `page_timers` read at once; those that lag up to `near_ms` ahead first.

    `threads` plan a page together.
    """

    ahead: Ahead
    page_timers: int
    near_ms: int
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Migrator:
    """Reads only timers that are not planned far enough; two of them at once waste work, and harm nothing."""

    timers: TimerStore
    hot: HotStore
    definitions: DefinitionStore
    load: MinuteLoad
    clock: Clock
    rule: PlanRule
    buckets: BucketRule

    def plan_due(self) -> int:
        """Plan until no timer is left that is not planned far enough; return how many plans were made.

        However long planning was away, it goes on from each timer's own mark: first those whose next moment is yet to
        come, then those that lag, each up to the near future, so that the present does not wait for the past; then the
        rest of the horizon. A timer that cannot be planned is left out. Raises `StoreAway`.
        """
        planned = 0
        left_out: set[int] = set()
        before: list[Timer] = []
        while True:
            page, expand = self._next_page(left_out)
            if not page or page == before:
                return planned
            # Of a page that another migrator has taken meanwhile nothing moves on, and the next one is another.
            planned += self._plan_page(page, expand, left_out)
            before = page

    def _next_page(self, left_out: set[int]) -> tuple[list[Timer], Expand]:
        """Return the timers to plan next, and what plans one of them."""
        now, rule = int(self.clock.now_ms()), self.rule
        size = rule.page_timers + len(left_out)

        def far(timer: Timer) -> Plan:
            return plan_ahead(timer, now, rule.ahead)

        def up_to_near(timer: Timer) -> Plan:
            return plan(timer, now + rule.near_ms, rule.ahead.most_moments)

        def but_left_out(page: list[Timer]) -> list[Timer]:
            return [timer for timer in page if timer.id not in left_out]

        lagging = but_left_out(self.timers.unplanned(now, size))
        if not lagging:
            return but_left_out(self.timers.to_plan(now + rule.ahead.step_ms, size)), far
        if near := but_left_out(self.timers.unplanned(now + rule.near_ms, size, after=now)):
            return near, far
        return lagging, up_to_near

    def _plan_page(self, page: list[Timer], expand: Expand, left_out: set[int]) -> int:
        """Plan a page in transactions of its own for each part; return how many timers moved on.

        While one thread waits for SQL or Redis, another expands schedules and writes rows.
        """
        rest = iter(page)

        def work() -> int:
            held = 0
            while plans := self._plans_of(rest, expand, left_out):
                held += self._plan_together(plans)
            return held

        threads = min(self.rule.threads, len(page))
        if threads <= 1:
            return work()
        with ThreadPoolExecutor(threads, "plan") as pool:
            return sum(done.result() for done in [pool.submit(work) for _ in range(threads)])

    def _plans_of(self, timers: Iterator[Timer], expand: Expand, left_out: set[int]) -> list[Plan]:
        """Take timers and plan them, up to about `ROWS_A_TRANSACTION` moments."""
        plans: list[Plan] = []
        rows = 0
        for timer in timers:
            try:
                plans.append(expand(timer))
            except Exception as error:
                # Its zone or expression may be one that this process's tzdata or croniter does not know.
                log.error("timer_cannot_be_planned", timer_id=timer.id, error=repr(error))
                left_out.add(timer.id)
                continue
            rows += len(plans[-1].moments)
            if rows >= ROWS_A_TRANSACTION:
                break
        return plans

    def _plan_together(self, plans: list[Plan]) -> int:
        """Make plans rows, then tell Redis; return how many timers moved on."""
        firings = firings_of(plans, self._planned_before(plans), self.buckets)
        held, pending = self.timers.commit_plans(plans, firings)
        try:
            near = self.hot.near(pending)
            due = {firing.timer_id for firing in near}
            self.definitions.put([a_plan.timer.definition for a_plan in held if a_plan.timer.id in due])
            self.hot.add_all(near)
        except StoreAway as error:
            log.warning("plan_not_in_redis_yet", firings=len(pending), error=str(error))
        return len(held)

    def _planned_before(self, plans: list[Plan]) -> dict[int, int]:
        try:
            return self.load.reserve(count_by_minute(plans))
        except StoreAway:
            return {}
