"""The sweeper: whatever Redis or a crash forgot is added again from SQL; parked outcomes are written."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import uuid4

import structlog

from wangtimer.core.clock import Clock
from wangtimer.core.errors import StoreAway
from wangtimer.core.firing import Firing
from wangtimer.core.slicing import MINUTE_MS
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.agenda import Agenda
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.refresher import Refresher
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

OVERDUE_MS = 5_000
PAGE = 2_000
# Parked outcomes one transaction writes: each at its longest, they fit in the 16 MB a server takes at once.
FLUSH_PAGE = 500
# Of the outcomes that SQL refuses, a line of the log names so many.
MEMBERS_SHOWN = 10
# Bounds one sweep; the next goes on where it stopped.
PAGES_A_SWEEP = 10
# For this long after Redis was away a sweep adds the present and the coming minute too: what was planned meanwhile
# is not in Redis, and reconcile comes once a minute.
AFTER_RECONNECT_S = 15.0


@dataclass(slots=True)
class Sweeper:
    """Repairs add, whatever is there: adding what stands in its slice already does nothing.

    Only `reconcile` asks first, because each minute it comes to every firing; what it is wrong about is swept.
    """

    timers: TimerStore
    firings: FiringStore
    hot: HotStore
    agenda: Agenda
    definitions: DefinitionStore
    outbox: Outbox
    clock: Clock
    horizon_ms: int
    _refresher: Refresher = field(init=False)
    _swept_to: Firing | None = field(default=None, init=False)
    _lanes_swept_to: Firing | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Begin with nothing told."""
        self._refresher = Refresher(self.timers, self.definitions)

    def sweep(self) -> int:
        """Write parked outcomes, add overdue firings, refresh changed definitions; return the overdue.

        An SQL that takes no outcomes may still say what is overdue. Raises `StoreAway`.
        """
        try:
            self.flush()
        except Exception as error:
            log.warning("outcomes_stay_parked", error=repr(error))
        now = int(self.clock.now_ms())
        if self.hot.seconds_since_reconnect < AFTER_RECONNECT_S:
            self._add_until(now, _end_of_coming_minute(now))
        self._refresher.refresh(now)
        added = 0
        for _ in range(PAGES_A_SWEEP):
            page = self.firings.pending_between(0, now - OVERDUE_MS, PAGE, self._swept_to, in_lanes=False)
            self.hot.add(page, is_repair=True)
            added += len(page)
            self._swept_to = page[-1] if len(page) == PAGE else None
            if self._swept_to is None:
                break
        self._sweep_lanes(now)
        if added:
            log.info("swept", firings=added)
        return added

    def _sweep_lanes(self, now: int) -> None:
        """Add a page of what waits in lanes: most of it stands there, and there may be very much of it."""
        page = self.firings.pending_between(0, now - OVERDUE_MS, PAGE, self._lanes_swept_to, in_lanes=True)
        self.hot.add(page, is_repair=True)
        self._lanes_swept_to = page[-1] if len(page) == PAGE else None

    def flush(self) -> int:
        """Write parked outcomes to SQL, add their retries, then forget them; return how many.

        What SQL refuses stays parked, and keeps no other from being written; but where a whole page is refused, it
        is not the outcomes that are at fault, and flushing ends. Raises `StoreAway`.
        """
        flushed = 0
        refused: dict[str, str] = {}
        while texts := self._parked_but(refused):
            refused_now = self._write(texts)
            refused |= refused_now
            flushed += len(texts) - len(refused_now)
            if len(refused_now) == len(texts):
                break
        return flushed

    def reconcile(self) -> int:
        """Add the coming minute's pending firings to those of its slices that hold others; return how many they have.

        All its slices go onto the agenda. Raises `StoreAway`.
        """
        end = _end_of_coming_minute(int(self.clock.now_ms()))
        others = self.hot.raise_same(self.firings.tallies(end // MINUTE_MS - 1))
        if not others:
            return 0
        added = 0
        for page in self._pages(end - MINUTE_MS, end - 1):
            added += self._add([firing for firing in page if firing.slice in others])
        log.info("reconciled", firings=added)
        return added

    def rehydrate(self) -> int:
        """Load the horizon after Redis lost it, nearest first; return how many firings were added.

        Another load that begins, or another loss, leaves it undeclared, and it is done again. Raises `StoreAway`.
        """
        token = uuid4().hex
        if not self.agenda.begin_load(token):
            return 0
        added = 0
        for page in self._pages(0, int(self.clock.now_ms()) + self.horizon_ms):
            self.definitions.put(self.timers.definitions({firing.timer_id for firing in page}).values())
            added += self._add(page)
        self.agenda.end_load(token)
        log.warning("rehydrated", firings=added)
        return added

    def _parked_but(self, refused: dict[str, str]) -> dict[str, str]:
        page = self.outbox.page(FLUSH_PAGE + len(refused))
        return {member: text for member, text in page.items() if refused.get(member) != text}

    def _write(self, texts: dict[str, str]) -> dict[str, str]:
        """Write parked outcomes, one by one where they do not go together; return those that are refused."""
        try:
            self._write_together(texts)
        except StoreAway:
            raise
        except Exception as error:
            refused = dict(pair for pair in texts.items() if not self._is_written(*pair))
            if refused:
                shown = list(refused)[:MEMBERS_SHOWN]
                log.error("outcomes_refused", outcomes=len(refused), members=shown, error=repr(error))
            return refused
        return {}

    def _is_written(self, member: str, text: str) -> bool:
        try:
            self._write_together({member: text})
        except StoreAway:
            raise
        except Exception:
            return False
        return True

    def _write_together(self, texts: dict[str, str]) -> None:
        outcomes = self.outbox.read(texts)
        self.firings.settle(outcomes)
        self.hot.add([outcome.retry_firing() for outcome in outcomes if outcome.is_retry], is_repair=True)
        self.outbox.forget(texts)

    def _pages(self, first: int, last: int) -> Iterator[list[Firing]]:
        after: Firing | None = None
        while page := self.firings.pending_between(first, last, PAGE, after):
            yield page
            after = page[-1]

    def _add_until(self, start: int, end: int) -> int:
        return sum(self._add(page) for page in self._pages(start, end - 1))

    def _add(self, page: list[Firing]) -> int:
        self.hot.add(page, is_repair=True)
        return len(page)


def _end_of_coming_minute(now: int) -> int:
    return (now // MINUTE_MS + 2) * MINUTE_MS
