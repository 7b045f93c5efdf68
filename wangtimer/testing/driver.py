"""The driver: runs each stage at the moments when it has work, and lets time pass in between.

A stage that runs every second or two in a deployment runs here only when it would find work. So a year without a
firing passes at once. The calls and their moments are the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil, floor, inf

from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.slicing import Slice, TriggerOrder
from wangtimer.core.time.zones import DAY_MS
from wangtimer.testing.deployment import Deployment

TICK_MS = 1_000
# The sweep finds firings that have been due for 5 s. This many sweeps after a change see all its effects.
SWEEPS_AFTER_A_CHANGE = 3


class Driver:
    """Runs a deployment in the order of moments, in the caller's thread."""

    def __init__(self, parts: Deployment) -> None:
        self._parts = parts
        self._clock = parts.steered
        self._events = parts.events
        self._held: dict[Slice, Iterator[float]] = {}
        self._agenda_seen = -1
        self._need = inf
        self._ticks_from = self._plans_from = 0.0
        self._plan_by: float | None = None
        self._is_running = self._is_keeping = self._is_settling = False
        self._sweeps_left = 0
        self._purged_at, self._is_purged = self._clock.now_ms(), True
        parts.messages.take_chunk = lambda chunk: self._events.soon(partial(self._fire, chunk))
        parts.messages.take_trigger = lambda order: self._events.soon(partial(self._watch, order))
        parts.messages.take_follow = lambda: self._events.soon(self._follow)
        parts.messages.take_controls = lambda: self._events.soon(self._control)
        parts.settler.on_taken = self._settle_soon

    def run_to(self, moment_ms: float) -> None:
        """Do all work that comes due up to and at a moment, ms UTC; raises what a target's function raises."""
        with self._alone():
            while self._do_next(moment_ms):
                pass
            self._clock.move_to(moment_ms)
            if not self._is_purged or self._is_a_day_since_purge:
                self._purge()

    def stand_still_to(self, moment_ms: float) -> None:
        """Let time pass up to a moment, ms UTC, without any work."""
        with self._alone():
            self._clock.move_to(moment_ms)
            self.note_change()

    def note_change(self) -> None:
        """Note a change from outside, such as a request."""
        self._plan_by = None
        self._is_purged = False
        self._wait_for_accepted()
        if not self._sweeps_left:
            self._sweep_later()
        self._sweeps_left = SWEEPS_AFTER_A_CHANGE

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._is_running:
            raise RuntimeError(
                "time goes on already: advance and sleep cannot be called while a target answers"
            )
        self._is_running = True
        try:
            yield
        finally:
            self._is_running = False

    def _do_next(self, until_ms: float) -> bool:
        """Do the next work at its moment; False where there is none up to `until_ms`."""
        plan_at, tick_at, event_at = self._next_plan(), self._next_tick(), self._events.next_at
        next_at = min(plan_at, tick_at, event_at)
        if next_at > until_ms:
            return False
        self._clock.move_to(next_at)  # never back: the work may have been due for long
        if plan_at == next_at:
            self._plan()
        elif tick_at == next_at:
            self._ticks_from = self._clock.now_ms() + 1
            self._parts.scheduler.tick()
        else:
            self._events.do_next()
        return True

    # planning

    def _next_plan(self) -> float:
        if self._plan_by is None:
            plan_by = self._parts.plan_by()
            self._plan_by = inf if plan_by is None else plan_by - self._parts.settings.step_s * 1_000
        return max(self._plan_by, self._plans_from)

    def _plan(self) -> None:
        self._parts.migrator.plan_due()
        self._plan_by = None
        # A timer that could not be planned is tried again then.
        self._plans_from = self._clock.now_ms() + self._parts.settings.plan_every_s * 1_000

    def _follow(self) -> None:
        self._parts.calendar_follower.follow_all()
        self.note_change()

    # arming

    def _next_tick(self) -> float:
        """Return the last full second, ms UTC, at which a tick is in time for every slice without a trigger."""
        agenda = self._parts.noted_agenda
        if self._agenda_seen != agenda.changes:
            self._agenda_seen = agenda.changes
            self._need = inf
            for slice_, moment in agenda.needs.items():
                if moment < self._need and slice_ not in self._held:
                    self._need = moment
        if self._need == inf:
            return inf
        return max(floor(self._need / TICK_MS), ceil(self._ticks_from / TICK_MS)) * TICK_MS

    def _watch(self, order: TriggerOrder) -> None:
        self._held[order.slice] = self._parts.trigger.turns(order.slice, order.token, order.credit)
        self._agenda_seen = -1
        self._turn(order.slice)

    def _turn(self, slice_: Slice) -> None:
        pause_s = next(self._held[slice_], None)
        if pause_s is None:
            del self._held[slice_]
            self._agenda_seen = -1
        else:
            self._events.at(self._clock.now_ms() + pause_s * 1_000, partial(self._turn, slice_))

    # calling

    def _fire(self, chunk: Chunk) -> None:
        # In a deployment the sweep notes this every few seconds; here each change updates the definitions at once.
        self._parts.definitions.note_told(int(self._clock.now_ms()))
        self._parts.executor.begin(chunk)
        self._keep_later()

    def _keep_later(self) -> None:
        """Schedule a renewal of the leases of running calls."""
        if not self._is_keeping and self._parts.claims.current():
            self._is_keeping = True
            self._events.at(self._clock.now_ms() + self._parts.settings.renew_every_ms, self._keep)

    def _keep(self) -> None:
        self._is_keeping = False
        self._parts.keeper.renew_due()
        self._keep_later()

    def _settle_soon(self) -> None:
        """Schedule settling, so that all that ends at this moment is settled together."""
        if not self._is_settling:
            self._is_settling = True
            self._events.soon(self._settle)

    def _settle(self) -> None:
        self._is_settling = self._is_purged = False
        self._parts.settler.settle_all()
        self._wait_for_accepted()
        if self._is_a_day_since_purge:
            self._purge()

    # what answers make of their timers

    def _control(self) -> None:
        self._parts.control_applier.sweep()
        self.note_change()

    # long work

    def _wait_for_accepted(self) -> None:
        """Schedule the end of the firing whose target is to say first that it is done."""
        if self._parts.settler.has_accepted and (ack_by := self._parts.ack_by()) is not None:
            self._events.at(max(ack_by, self._clock.now_ms() + TICK_MS), self._end_accepted)

    def _end_accepted(self) -> None:
        self._parts.long_work.sweep()
        self._wait_for_accepted()

    # repairs

    def _sweep_later(self) -> None:
        self._events.at(self._clock.now_ms() + self._parts.settings.sweep_every_s * 1_000, self._sweep)

    def _sweep(self) -> None:
        self._parts.sweeper.sweep()
        self._parts.overlaps.cancel_rest()
        self._sweeps_left -= 1
        if self._sweeps_left:
            self._sweep_later()

    @property
    def _is_a_day_since_purge(self) -> bool:
        return self._clock.now_ms() >= self._purged_at + DAY_MS

    def _purge(self) -> None:
        """Delete what has outlived its retention: at least once a day, and before each request."""
        self._purged_at, self._is_purged = self._clock.now_ms(), True
        self._parts.purger.purge()
        self._parts.finished_purger.purge()
