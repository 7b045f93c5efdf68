"""Overlaps: once a firing is done, the one that waits for it goes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk, FiringStatus, Member, MemberKey
from wangtimer.core.time.clock import Clock
from wangtimer.store.hot import HotStore
from wangtimer.store.sql.begun_firings import BegunFirings
from wangtimer.store.sql.firings import FiringStore

log = structlog.get_logger()

# Firings on record that one sweep looks at; the next goes on behind them.
PAGE = 1_000
BEFORE_ALL: MemberKey = (0, 0)


@dataclass(slots=True)
class Overlaps:
    """Ends what is on record of firings that are done, of timers whose firings are not to overlap."""

    begun: BegunFirings
    firings: FiringStore
    hot: HotStore
    send_chunk: Callable[[Chunk], None]
    clock: Clock
    _swept_to: MemberKey = field(default=BEFORE_ALL, init=False)

    def end(self, keys: Collection[MemberKey], has_broker: bool = True) -> None:
        """Let go what waits for these firings, each (timer_id, fire_at), if they are done; a sweep does what fails.

        Without a broker it is armed all the same, and goes once that has run out: some 10 s later.
        """
        try:
            self._end(keys, has_broker)
        except StoreAway as error:
            log.info("overlaps_left_to_sweep", firings=len(keys), error=str(error))

    def sweep(self) -> None:
        """Forget firings that have an outcome, or are gone, a page at a time. Raises `StoreAway`."""
        page = self.begun.page(self._swept_to, PAGE)
        self._swept_to = page[-1] if len(page) == PAGE else BEFORE_ALL
        if not page:
            return
        rows = self.firings.rows(Member(timer_id, fire_at, 0) for timer_id, fire_at in page)
        open_ = (FiringStatus.PENDING, FiringStatus.ACCEPTED)
        over = {
            key for key in page if key not in rows.bad and (key not in rows or rows[key].status not in open_)
        }
        if over:
            log.info("overlaps_swept", firings=len(over))
            self._end(over)

    def _end(self, keys: Collection[MemberKey], has_broker: bool = True) -> None:
        woken = self.begun.end(keys, int(self.clock.now_ms()))
        for chunk in self.hot.arm_now(woken):
            if has_broker:
                self.send_chunk(chunk)
