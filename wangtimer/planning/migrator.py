"""The migrator: turns the next stretch of every schedule into firings, rows in SQL and members in Redis.

It migrates firings, not tables: `wangtimer schema upgrade` does that. The worker process `migrate` is named after it.
That process runs other stages too: it feeds Redis and its lanes, sweeps, compares, follows calendars and purges.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import structlog

from wangtimer.core.errors import RowsLocked, StoreAway
from wangtimer.core.flow.planning import Ahead, Plan, plan, plan_ahead
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import BadTimers, Readable, reason_of
from wangtimer.core.timers.timer import Timer
from wangtimer.planning.plan_writer import ROWS_A_TRANSACTION, PlanWriter
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# A bad timer rests for 1 / REST_SHARE of the near future, so that a thousand bad ones do not cost each look a second.
# Whoever mends a timer plans its near future within the request, so the timer is still planned in time.
REST_SHARE = 2
# Bad timers one statement leaves out; further ones take up places of a page.
MOST_RESTING = 20_000

# In a rush a plan of so many moments is made in two parts: first the near moments, then the rest.
MANY_MOMENTS = 100

# While calls come close to their moments, planning beyond the near future rests so many times as long as it worked:
# within what Redis holds at least, and beyond that. Else ten thousand timers that are enabled at once would take the
# CPU from all calls for minutes.
REST_WITHIN_WINDOW, REST_BEYOND = 1, 4
LONGEST_REST_S = 5.0

# Plans one timer.
Expand = Callable[[Timer], Plan]


@dataclass(frozen=True, slots=True)
class PlanRule:
    """How timers are planned.

    `ahead`: how far. `page_timers`: how many are read at once. `threads`: how many threads plan such a page together.
    `near_ms`: lagging timers are first planned so far ahead, and the rest of their horizon after that. `window_ms`: so
    far ahead Redis holds firings at least.
    """

    ahead: Ahead
    page_timers: int
    near_ms: int
    window_ms: int
    threads: int


@dataclass(frozen=True, slots=True)
class Migrator:
    """Reads only timers that are not planned far enough; two migrators at once waste work, and harm nothing.

    A timer that cannot be read or planned here is noted, and rests: it costs the others nothing.
    """

    timers: TimerStore
    plan_writer: PlanWriter
    clock: Clock
    plan_rule: PlanRule
    bad_timers: BadTimers
    is_strained: Callable[[], bool]
    is_stopping: Callable[[], bool]
    may_plan: Callable[[], bool]
    _resting: dict[int, float] = field(default_factory=dict, init=False)

    def plan_due(self) -> int:
        """Plan until every timer is planned far enough; return how many plans were made.

        However long planning was away, it goes on from each timer's own mark, so that the present does not wait for
        the past. The order: timers whose next moment is yet to come, then lagging ones, each up to the near future;
        then the rest of the horizon, slowly while calls come close to their moments. Where more timers are due than one
        page holds, the near moments of all come before the later ones of any. A timer that cannot be planned is left
        out. Timers made since the beginning wait for the next call, in which many are planned together, or for half of
        the near future, which their makers planned. Once the process is asked to stop, no further part begins.

        Raises `StoreAway`.
        """
        planned, began_at = 0, self.clock.now_ms()
        if not self._is_any_due():
            return planned
        left_out = self._still_resting()
        before: list[Timer] = []
        while True:
            page, expand = self._next_page(left_out, began_at)
            if not page or page == before or self.is_stopping():
                return planned
            # The moments of a process with older zone rules would stand in place of the right ones.
            if not self.may_plan():
                return planned
            # If another migrator took the page meanwhile, no timer of it moves on, and the next page differs.
            planned += self._plan_page(page, expand, left_out)
            before = page

    def _is_any_due(self) -> bool:
        """Tell whether a look at timers may find some: what is mostly not so is to cost little."""
        now, rule = int(self.clock.now_ms()), self.plan_rule
        firsts = (
            (self.timers.first_unplanned(), now + rule.near_ms),
            (self.timers.first_plan_by(), now + rule.ahead.step_ms),
        )
        return any(first is not None and first <= until for first, until in firsts)

    def _next_page(self, left_out: set[int], began_at: float) -> tuple[list[Timer], Expand]:
        """Return the timers to plan next, and the function that plans one of them; no page of new timers only."""
        now, rule = int(self.clock.now_ms()), self.plan_rule

        def far(timer: Timer) -> Plan:
            return plan_ahead(timer, now, rule.ahead)

        def up_to_near(timer: Timer) -> Plan:
            return plan(timer, now + rule.near_ms, rule.ahead.most_moments)

        def soon_first(timer: Timer) -> Plan:
            whole = far(timer)
            if timer.planned_until > now + rule.near_ms or len(whole.moments) < MANY_MOMENTS:
                return whole
            return plan(timer, now + 2 * rule.near_ms, rule.ahead.most_moments)

        def has_others(page: list[Timer]) -> bool:
            # A clock that is ahead may have made a timer later than now: it is no new one.
            new_since = max(began_at, now - rule.near_ms // 2)
            return not all(new_since < timer.created_at <= now for timer in page)

        lagging = self._page(partial(self.timers.unplanned, now), left_out)
        if not lagging:
            page = self._page(partial(self.timers.to_plan, now + rule.ahead.step_ms), left_out)
            page = page if has_others(page) else []
        elif not has_others(
            page := self._page(partial(self.timers.unplanned, now + rule.near_ms, after=now), left_out)
        ):
            return lagging, up_to_near
        is_rush = len(page) >= rule.page_timers or (bool(page) and self.is_strained())
        return page, soon_first if is_rush else far

    def _page(self, read: Callable[..., Readable[int, Timer]], left_out: set[int]) -> list[Timer]:
        while True:
            without = sorted(left_out)[:MOST_RESTING]
            found = read(limit=self.plan_rule.page_timers + len(left_out) - len(without), without=without)
            page = [timer for timer in found.values() if timer.id not in left_out]
            news = found.bad.keys() - left_out
            self._leave_out(news, left_out)
            if page or not news:
                return page

    def _still_resting(self) -> set[int]:
        now = self.clock.monotonic()
        # A copy: another thread of this process may be planning too.
        for timer_id, until in list(self._resting.items()):
            if until <= now:
                self._resting.pop(timer_id, None)
        return set(self._resting)

    def _leave_out(self, timer_ids: Iterable[int], left_out: set[int]) -> None:
        until = self.clock.monotonic() + self.plan_rule.near_ms / REST_SHARE / 1_000
        for timer_id in timer_ids:
            left_out.add(timer_id)
            self._resting[timer_id] = until

    def _plan_page(self, page: list[Timer], expand: Expand, left_out: set[int]) -> int:
        """Plan a page in parts, a transaction each; return how many timers moved on.

        While one thread waits for SQL or Redis, another expands schedules and writes rows. A thread takes no further
        part after one that was followed by a rest, as something nearer may have come up, or once the process is asked
        to stop.
        """
        rest = iter(page)

        def work() -> int:
            held, began_at = 0, self.clock.monotonic()
            while plans := self._plans_of(rest, expand, left_out):
                held += self._plan_apart(plans, left_out)
                if self.is_stopping() or self._rests_after(plans, self.clock.monotonic() - began_at):
                    break
                began_at = self.clock.monotonic()
            return held

        threads = min(self.plan_rule.threads, len(page))
        if threads <= 1:
            return work()
        with ThreadPoolExecutor(threads, "plan") as pool:
            return sum(done.result() for done in [pool.submit(work) for _ in range(threads)])

    def _rests_after(self, plans: Sequence[Plan], worked_s: float) -> bool:
        """Rest after these plans if there is strain and one could have waited; tell whether there was a rest."""
        ahead_ms = max(plan.timer.planned_until for plan in plans) - int(self.clock.now_ms())
        times = self._rest_of(ahead_ms)
        if not times or not self.is_strained():
            return False
        rest_s = min(times * worked_s, LONGEST_REST_S)
        log.info("planning_rests", seconds=round(rest_s, 1))
        self.clock.sleep(rest_s)
        return True

    def _rest_of(self, ahead_ms: int) -> int:
        """Return how many times its work a rest in strain lasts, for timers planned so far ahead."""
        if ahead_ms <= self.plan_rule.near_ms:
            return 0
        return REST_WITHIN_WINDOW if ahead_ms <= self.plan_rule.window_ms else REST_BEYOND

    def _plans_of(self, timers: Iterator[Timer], expand: Expand, left_out: set[int]) -> list[Plan]:
        """Take timers and plan them, up to about `ROWS_A_TRANSACTION` moments."""
        plans: list[Plan] = []
        rows = 0
        for timer in timers:
            try:
                plans.append(expand(timer))
            except Exception as error:
                # This process's tzdata or croniter may not know its zone or expression.
                self._give_up(timer.id, error, left_out)
                continue
            rows += len(plans[-1].moments)
            if rows >= ROWS_A_TRANSACTION:
                break
        return plans

    def _plan_apart(self, plans: Sequence[Plan], left_out: set[int]) -> int:
        """Plan together. Where that fails, but not for `StoreAway`, plan in halves until the bad timer stands alone.

        So with rows that somebody else holds, other than those of timers: the next pass tries that timer again.
        """
        try:
            moved_on, locked = self.plan_writer.commit(list(plans))
            left_out |= locked  # the next pass tries them again
            return moved_on
        except Exception as error:
            if isinstance(error, StoreAway) and not isinstance(error, RowsLocked):
                raise
            if len(plans) == 1:
                if isinstance(error, RowsLocked):
                    left_out.add(plans[0].timer.id)
                else:
                    self._give_up(plans[0].timer.id, error, left_out)
                return 0
            half = len(plans) // 2
            return self._plan_apart(plans[:half], left_out) + self._plan_apart(plans[half:], left_out)

    def _give_up(self, timer_id: int, error: Exception, left_out: set[int]) -> None:
        self.bad_timers.note({timer_id: reason_of("it cannot be planned", error)})
        self._leave_out([timer_id], left_out)
