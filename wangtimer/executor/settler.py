"""The settler: writes outcomes to SQL, many together, a few times a second."""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple

import structlog

from wangtimer.base.loop import Loop
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.executor.claim import Held, by_claim, let_go
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.redis.slices import SliceStore
from wangtimer.store.sql.firings import FiringStore

log = structlog.get_logger()

# Outcomes one transaction writes at most.
BATCH = 1_000
# After SQL was away, outcomes go straight to the outbox for this long, so that not each waits for a time-out.
SQL_REST_S = 2.0
BOTH_AWAY_PAUSE_S = 0.5
# 150 ms: the calls due at a full second are out by then. In a long burst a few batches wait.
CALLS_GO_FIRST, CALLS_PAUSE_S = 15, 0.01


class Finished(NamedTuple):
    """An outcome, and the claim it is held under.

    `hide` takes from the outcome what may not be on record, in the settler's thread; None: there is nothing of that.
    """

    held: Held
    outcome: Outcome
    hide: Callable[[Outcome], Outcome] | None = None

    @property
    def recorded(self) -> Outcome:
        """The outcome as it goes on record."""
        return self.outcome if self.hide is None else self.hide(self.outcome)


# What is done with outcomes of a batch that SQL has. It gets all of them, so it looks at each as little as it can.
AfterSettled = Callable[[Sequence[Finished]], None]


class Settler:
    """Writes to SQL, else to the outbox, else tries again; then adds the retry to its slice and releases the member.

    Each of `after_settled` gets a batch that SQL has, in order.
    """

    def __init__(
        self,
        firings: FiringStore,
        outbox: Outbox,
        hot: HotStore,
        slices: SliceStore,
        clock: Clock,
        every_s: float,
        are_calls_waiting: Callable[[], bool],
        after_settled: Sequence[AfterSettled],
    ) -> None:
        self._firings = firings
        self._outbox = outbox
        self._hot = hot
        self._slices = slices
        self._clock = clock
        self._are_calls_waiting = are_calls_waiting
        self._after_settled = after_settled
        self._finished: deque[Finished] = deque()
        self._busy = Lock()
        self._sql_rests_until = float("-inf")
        self._every_s = every_s
        # Whether the loop waits for an outcome.
        self._rests = False
        self.loop = Loop("settler", self.settle_or_rest)

    def take(self, finished: Finished) -> None:
        """Queue an outcome; quick, from any thread."""
        self._finished.append(finished)
        if self._rests or len(self._finished) >= BATCH:
            self.loop.wake()

    def hurry(self) -> None:
        """Settle the queue at once, since a stage waits for it; quick, from any thread."""
        self._rests = False
        self.loop.wake()

    def settle_all(self) -> bool:
        """Settle the outcomes queued by now; False when neither SQL nor the outbox takes them.

        Outcomes queued meanwhile wait for the next time: under load there are always some, and a few would cost a
        commit of their own.
        """
        with self._busy:
            left = len(self._finished)
            while left > 0:
                batch = [self._finished.popleft() for _ in range(min(BATCH, left))]
                left -= len(batch)
                try:
                    in_sql = self._settle(batch)
                except StoreAway as error:
                    log.warning("outcomes_wait_in_memory", outcomes=len(batch), error=str(error))
                    self._put_back(batch)
                    return False
                except Exception:
                    self._put_back(batch)
                    raise
                # Of the others a sweep lets go what waits: it would hang at the same SQL.
                if in_sql:
                    for follow in self._after_settled:
                        try:
                            follow(in_sql)
                        except Exception as error:
                            # What it is for may be late; outcomes behind these must not wait for it, or get lost.
                            log.warning("after_settled_failed", what=repr(follow), error=repr(error))
            return True

    def _put_back(self, batch: Sequence[Finished]) -> None:
        self._finished.extendleft(reversed(batch))
        # The loop may have found none while another thread had them.
        if self._rests:
            self.loop.wake()

    def _settle(self, batch: Sequence[Finished]) -> Sequence[Finished]:
        """Settle these; return those that SQL has, and not the outbox."""
        outcomes = [finished.recorded for finished in batch]
        left = self._write(outcomes)
        if left:
            self._outbox.park(left)
        # Let go before the release: a renewal between the two would report the members as lost.
        held = [finished.held for finished in batch]
        let_go(held)
        try:
            self._hot.add(
                [outcome.retry_firing() for outcome in outcomes if outcome.status is FiringStatus.PENDING]
            )
            self._slices.release(by_claim(held))
        except StoreAway as error:
            log.info("release_left_to_lease", outcomes=len(batch), error=str(error))
        if not left:
            return batch
        parked = set(map(id, left))
        return [
            finished for finished, outcome in zip(batch, outcomes, strict=True) if id(outcome) not in parked
        ]

    def _write(self, outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
        """Write outcomes to SQL; return those that it did not take."""
        if self._clock.monotonic() < self._sql_rests_until:
            return outcomes
        try:
            left = self._firings.settle(outcomes)
        except Exception as error:
            # For any error: outcomes kept nowhere would mean that their firings are sent again.
            log.warning("outcomes_go_to_outbox", outcomes=len(outcomes), error=repr(error))
            self._sql_rests_until = self._clock.monotonic() + SQL_REST_S
            return outcomes
        if left:
            log.warning("outcomes_go_to_outbox", outcomes=len(left), error="others hold their rows")
        return left

    def _let_calls_go_first(self) -> None:
        """Wait a little while due calls wait for a place: settling would make them later."""
        for _ in range(CALLS_GO_FIRST):
            if not self._are_calls_waiting():
                return
            self._clock.sleep(CALLS_PAUSE_S)

    def settle_or_rest(self) -> float | None:
        """Settle what is queued; return in how many seconds to do so again, None: once an outcome comes.

        The outcome that ends a rest waits for those that come with it: half as long, as one does on the average that
        comes at any time.
        """
        if self._rests:
            self._rests = False
            return self._every_s / 2
        if not self._finished:
            # In this order: an outcome that comes between the two ends the rest.
            self._rests = True
            if not self._finished:
                return None
            self._rests = False
        self._let_calls_go_first()
        if not self.settle_all():
            self._clock.sleep(BOTH_AWAY_PAUSE_S)
        return self._every_s
