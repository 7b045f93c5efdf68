"""Overlaps: once a firing is done, the one that waits for it goes."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import structlog

from wangtimer.base.in_turn import do_in_turn
from wangtimer.core.alerts.alert_place import AlertedApps
from wangtimer.core.alerts.alert_rule import noted
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_order import place_of
from wangtimer.core.flow.firing import Chunk, FiringStatus, Member, MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.store.hot import HotStore
from wangtimer.store.sql.begun_firings import BegunFirings
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.firings_to_cancel import FiringsToCancel
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# Firings on record that one sweep looks at; the next goes on behind them.
PAGE = 1_000
# After so long a sweep cancels no further page: the next one goes on.
LONGEST_CANCELLING_S = 2.0
BEFORE_ALL: MemberKey = (0, 0)


@dataclass(slots=True)
class Overlaps:
    """Ends what is on record of firings that are done, or are to be cancelled, of timers with an overlap policy."""

    begun_firings: BegunFirings
    firings: FiringStore
    hot: HotStore
    send_chunk: Callable[[Chunk], None]
    clock: Clock
    to_cancel: FiringsToCancel
    timers: TimerStore
    alerted: Callable[[], AlertedApps]
    _swept_to: MemberKey = field(default=BEFORE_ALL, init=False)

    def end(self, keys: Collection[MemberKey], has_broker: bool = True) -> None:
        """Let go what waits for these firings, each (timer_id, fire_at), if they are done; a sweep does what fails.

        Without a broker it is armed all the same, and goes once that has run out: some 10 s later.
        """
        try:
            self._end(keys, has_broker)
        except StoreAway as error:
            log.info("overlaps_left_to_sweep", firings=len(keys), error=str(error))
        # Whatever it is: the outcomes of these firings are written, and others are still to be.
        except Exception:
            log.exception("overlaps_not_ended", firings=len(keys))

    def sweep(self) -> None:
        """Cancel what newer firings left to be cancelled; forget firings that are done. Raises `StoreAway`."""
        do_in_turn(self.cancel_rest, self._forget_done)

    def cancel_rest(self) -> None:
        """Cancel firings for which a newer one began, a page at a time, for a while. Raises `StoreAway`."""
        ends_at, number, after = self.clock.monotonic() + LONGEST_CANCELLING_S, 0, BEFORE_ALL
        while self.clock.monotonic() < ends_at and (page := self.to_cancel.page(after)):
            number += self.to_cancel.cancel(page, self._noted_of({firing.key[0] for firing in page}))
            after = page[-1].key
        if number:
            log.info("older_firings_cancelled", firings=number)

    def _noted_of(self, timer_ids: set[int]) -> Callable[[Outcome], Outcome]:
        """Return what marks outcomes of these timers for the judge of alerts."""
        alerted = self.alerted()
        definitions = self.timers.definitions(timer_ids) if alerted.late_ms else {}
        places = {timer_id: place_of(definitions.get(timer_id)) for timer_id in timer_ids}
        return lambda outcome: noted(outcome, places[outcome.member.timer_id], alerted)

    def _forget_done(self) -> None:
        """Forget firings that have an outcome, or are gone, a page at a time."""
        page = self.begun_firings.page(self._swept_to, PAGE)
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
        woken = self.begun_firings.end(keys, int(self.clock.now_ms()))
        for chunk in self.hot.arm_now(woken):
            if has_broker:
                self.send_chunk(chunk)
