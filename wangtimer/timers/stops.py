"""What timers that were just disabled or deleted may still do: the answer to "did I come in time?"."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.stopped_moment import StoppedMoment, StopState, stopped_moment
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.change_delay import COUNTS_WITHIN_MS
from wangtimer.core.timers.timer import Timer
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.sql.firing_lists import FiringLists
from wangtimer.store.sql.firings import FiringRecord

# By timer; None: it has no stopped moment.
Stopped = dict[int, StoppedMoment | None]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Stops:
    """Looks at SQL and Redis after the change; `soon_ms` is how long before its moment a firing may be on its way."""

    firing_lists: FiringLists
    definitions: DefinitionStore
    clock: Clock
    soon_ms: int

    def of(self, timers: Sequence[Timer]) -> dict[int, StoppedMoment]:
        """Return the stopped moment of each timer, as it stands switched off, by id.

        A timer without one is absent; so is one that cannot be planned here. All are absent where SQL does not answer.
        The change stands all the same.
        """
        untold = self._untold(timers)
        # Read after Redis was told: a firing nearer than the reach from now may have been armed before that.
        now = int(self.clock.now_ms())
        try:
            latest = self.firing_lists.latest_scheduled([timer.id for timer in timers], now)
        except StoreAway as error:
            log.warning("stopped_moments_unknown", timers=len(timers), error=str(error))
            return {}
        found = {timer.id: self._judged(timer, latest, now, now, timer.id in untold) for timer in timers}
        told = [timer for timer in timers if timer.id not in untold]
        for timer, off_at in self._off_before(told, found):
            found[timer.id] = self._judged(timer, latest, now, off_at, is_untold=False)
        self._note_off(told, found, now)
        return {moment.timer_id: moment for moment in found.values() if moment is not None}

    def _off_before(self, timers: Sequence[Timer], found: Stopped) -> list[tuple[Timer, int]]:
        """Return the timers that an earlier stop switched off, and when Redis knew of that: nothing was armed since."""
        near = {timer.id: timer for timer in timers if _is(StopState.IN_FLIGHT, found[timer.id])}
        try:
            known = self.definitions.known_off(
                {timer.id: timer.definition.disabled_at for timer in near.values()}
            )
        except StoreAway:
            return []
        return [(near[timer_id], off_at) for timer_id, off_at in known.items()]

    def _note_off(self, timers: Sequence[Timer], found: Stopped, now: int) -> None:
        """Note that Redis knows by now that timers are off whose next moment a soon second stop would find near."""
        last = now + COUNTS_WITHIN_MS + self.soon_ms
        cancelled = (timer for timer in timers if _is(StopState.CANCELLED, found[timer.id], last))
        with suppress(StoreAway):
            self.definitions.note_off({timer.id: timer.definition.disabled_at for timer in cancelled}, now)

    def _judged(
        self, timer: Timer, latest: Mapping[int, FiringRecord], now: int, off_at: int, is_untold: bool
    ) -> StoppedMoment | None:
        reach = off_at + self.soon_ms + (COUNTS_WITHIN_MS if is_untold else 0)
        record = latest.get(timer.id)
        firing, was_sent = (None, False) if record is None else (record.firing, record.was_sent)
        try:
            stopped = stopped_moment(timer.id, timer.definition.schedule, firing, was_sent, now, reach)
        except Exception as error:
            log.warning("timer_cannot_be_planned", timer_id=timer.id, error=repr(error))
            return None
        is_near = stopped is not None and stopped.state is StopState.IN_FLIGHT and stopped.at_ms > now
        return None if is_near and _was_off(timer, now, is_untold) else stopped

    def _untold(self, timers: Sequence[Timer]) -> set[int]:
        """Return the ids of the timers whose older definition Redis holds; of all where Redis cannot be asked."""
        try:
            held = self.definitions.get([timer.id for timer in timers]).definitions
        except StoreAway:
            return {timer.id for timer in timers}
        return {
            timer.id
            for timer in timers
            if timer.id in held and held[timer.id].version < timer.definition.version
        }


def _is(state: StopState, stopped: StoppedMoment | None, last: float = inf) -> bool:
    return stopped is not None and stopped.state is state and stopped.at_ms <= last


def _was_off(timer: Timer, now: int, is_untold: bool) -> bool:
    """Tell whether a timer was never enabled, or is off for so long that no coming firing can be on its way."""
    disabled_at = timer.definition.disabled_at
    return not disabled_at or (not is_untold and now - disabled_at > COUNTS_WITHIN_MS)
