"""The sweeper: adds again from SQL what Redis or a crash lost, and writes parked outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from wangtimer.base.in_turn import do_in_turn
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.redis.process_marks import GRACE_MS
from wangtimer.store.refresher import CopyRefresher, Refresher
from wangtimer.store.sql.firings import FiringStore
from wangtimer.store.sql.timers import TimerStore

log = structlog.get_logger()

# A firing due for so long without an outcome is added again. The metric of overdue firings counts from 60 s on.
SWEPT_AFTER_MS = 5_000
PAGE = 2_000
# Parked outcomes one transaction writes: even the longest fit in the 16 MB a server takes at once.
FLUSH_PAGE = 500
# After this long no further page of parked outcomes is begun: the rest of the sweep waits. The next sweep goes on.
LONGEST_FLUSH_S = 2.0
# A log line names so many of the outcomes that SQL refuses.
MEMBERS_SHOWN = 10
# Bounds one sweep; the next goes on where it stopped.
PAGES_A_SWEEP = 10


@dataclass(slots=True)
class Sweeper:
    """Repairs add without asking what is missing: adding a member that its slice already holds does nothing."""

    timers: TimerStore
    firings: FiringStore
    hot: HotStore
    definitions: DefinitionStore
    outbox: Outbox
    clock: Clock
    copy_refreshers: Sequence[CopyRefresher]
    _refresher: Refresher = field(init=False)
    _swept: int = field(default=0, init=False)
    _swept_to: Firing | None = field(default=None, init=False)
    _lanes_swept_to: Firing | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Begin with nothing told."""
        self._refresher = Refresher(self.timers, self.definitions, self.copy_refreshers)

    def sweep(self) -> int:
        """Write parked outcomes, add overdue firings, refresh changed definitions; return how many were overdue.

        Each part is tried: SQL may refuse outcomes and still say what is overdue, or be too slow for one query and
        answer the next. Raises `StoreAway` after all of them.
        """
        try:
            self.flush()
        except Exception as error:
            log.warning("outcomes_stay_parked", error=repr(error))
        now = int(self.clock.now_ms())
        before = self._swept
        do_in_turn(
            lambda: self._refresher.refresh(now),
            lambda: self._sweep_slices(now),
            lambda: self._sweep_lanes(now),
        )
        return self._swept - before

    def _sweep_slices(self, now: int) -> None:
        """Add overdue firings of slices, `PAGES_A_SWEEP` pages at most."""
        before = self._swept
        for _ in range(PAGES_A_SWEEP):
            page = self.firings.pending_between(0, now - SWEPT_AFTER_MS, PAGE, self._swept_to, in_lanes=False)
            self.hot.add_all(page, is_repair=True)
            self._swept += len(page)
            self._swept_to = page[-1] if len(page) == PAGE else None
            if self._swept_to is None:
                break
        if self._swept > before:
            log.info("swept", firings=self._swept - before)

    def _sweep_lanes(self, now: int) -> None:
        """Add one page of firings that wait in lanes: there may be very many, and the lanes hold most of them."""
        page = self.firings.pending_between(
            0, now - SWEPT_AFTER_MS, PAGE, self._lanes_swept_to, in_lanes=True
        )
        self.hot.add(page, is_repair=True)
        self._lanes_swept_to = page[-1] if len(page) == PAGE else None

    def flush(self) -> int:
        """Write parked outcomes to SQL for a while, add their retries, then forget them; return how many.

        An outcome stays parked that cannot be read here, that SQL refuses, or whose row somebody else holds; the others
        are written. Exception: where SQL refuses a whole page that can be read, the outcomes are not at fault, and
        flushing ends. Raises `StoreAway`.
        """
        flushed = 0
        ends_at = self.clock.monotonic() + LONGEST_FLUSH_S
        stay: dict[str, str] = {}
        while self.clock.monotonic() < ends_at and (texts := self._parked_but(stay)):
            held, refused = self._write(texts)
            stay |= held | refused
            flushed += len(texts) - len(held) - len(refused)
            if len(refused) == len(texts) and not self.outbox.read(texts).bad:
                break
        return flushed

    def _parked_but(self, stay: dict[str, str]) -> dict[str, str]:
        page = self.outbox.page(FLUSH_PAGE + len(stay))
        return {member: text for member, text in page.items() if stay.get(member) != text}

    def _write(self, texts: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """Write parked outcomes, one by one where that fails. Return those whose rows are held, and refused ones."""
        try:
            return self._write_together(texts), {}
        except StoreAway:
            raise
        except Exception as error:
            held, refused = self._write_one_by_one(texts)
            if refused:
                shown = list(refused)[:MEMBERS_SHOWN]
                log.error("outcomes_refused", outcomes=len(refused), members=shown, error=repr(error))
            return held, refused

    def _write_one_by_one(self, texts: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        held: dict[str, str] = {}
        refused: dict[str, str] = {}
        for member, text in texts.items():
            try:
                held |= self._write_together({member: text})
            except StoreAway:
                raise
            except Exception:
                refused[member] = text
        return held, refused

    def _write_together(self, texts: dict[str, str]) -> dict[str, str]:
        """Write parked outcomes and forget them; return those whose rows somebody else holds."""
        found = self.outbox.read(texts)
        if found.bad:
            raise ValueError(next(iter(found.bad.values())))
        outcomes = self._of_known_timers(list(found.values()))
        outcomes = self._with_time_left(outcomes)
        locked = {outcome.member for outcome in self.firings.settle(outcomes)}
        written = [outcome for outcome in outcomes if outcome.member not in locked]
        self.hot.add([outcome.retry_firing() for outcome in written if outcome.is_retry], is_repair=True)
        held = {text: texts[text] for text in texts if found[text].member in locked}
        self.outbox.forget({text: texts[text] for text in texts if text not in held})
        return held

    def _with_time_left(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Let the targets of accepted firings say that they are done: while these were parked, no word could count."""
        until = int(self.clock.now_ms()) + GRACE_MS
        return [
            outcome._replace(due_at=max(outcome.due_at, until))
            if outcome.status is FiringStatus.ACCEPTED
            else outcome
            for outcome in outcomes
        ]

    def _of_known_timers(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Return the outcomes whose timer or firing SQL knows; SQL has lost those of the others."""
        known = self.timers.known(outcome.member.timer_id for outcome in outcomes)
        unknown = [outcome.member for outcome in outcomes if outcome.member.timer_id not in known]
        if not unknown:
            return outcomes
        rows = self.firings.rows(unknown)
        lost = {member for member in unknown if member.key not in rows and member.key not in rows.bad}
        if lost:
            shown = sorted(map(str, lost))[:MEMBERS_SHOWN]
            log.warning("outcomes_of_unknown_timers", outcomes=len(lost), members=shown)
        return [outcome for outcome in outcomes if outcome.member not in lost]
