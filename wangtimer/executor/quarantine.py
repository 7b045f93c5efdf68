"""The quarantine: firings that two executors died on are tried once more, each alone."""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Lock, Thread
from typing import NamedTuple

import structlog

from wangtimer.callback import Call, DeliveryEngine
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import DueMember
from wangtimer.core.time.clock import Clock
from wangtimer.executor.claim import Held, by_claim, let_go
from wangtimer.store.redis.slices import SliceStore

log = structlog.get_logger()

# Executors that died with a firing (or lost its lease otherwise) before it is tried alone. The scripts that take leases
# back (turn.lua, lane_pull.lua) count up to this.
ALONE_AFTER = 2
# What Redis notes of one that an executor died on while it ran alone: it has failed. The version before this one noted
# 3 and 4 of what it had tried in groups: such are tried alone.
DIED_ALONE = 5
LOOK_EACH_S = 0.005


class Quarantined(NamedTuple):
    """A firing that executors died on, and the call that may be why."""

    held: Held
    call: Call


class Quarantine:
    """Sends one firing at a time; one that kills its executor has failed.

    Its thread starts with the first firing: there is hardly ever one.
    """

    def __init__(
        self,
        slices: SliceStore,
        engine: DeliveryEngine,
        clock: Clock,
        is_safe: Callable[[Held], bool],
        longest_s: float,
    ) -> None:
        self._slices = slices
        self._engine = engine
        self._clock = clock
        self._is_safe = is_safe
        self._longest_s = longest_s
        self._line: SimpleQueue[Quarantined] = SimpleQueue()
        self._tried: Held | None = None
        self._is_started = False
        self._starting = Lock()

    def take(self, quarantined: Sequence[Quarantined]) -> None:
        """Send each of these when its turn comes."""
        for one in quarantined:
            self._line.put(one)
        if not quarantined:
            return
        with self._starting:
            if not self._is_started:
                self._is_started = True
                self._start()

    def is_trying(self, held: Held) -> bool:
        """Tell whether this is the one under way: the next one waits until it is recorded."""
        return self._tried is held

    def try_next(self) -> None:
        """Wait for one, then send it and wait until it is answered and recorded: the next may kill this process.

        What is not surely held when its turn comes is not tried, and so not blamed: it comes back.
        """
        held, call = self._line.get()
        if not _is_held(held):
            return
        if not self._is_safe(held):
            self._put_back(held)
        elif self._is_noted(held):
            log.warning("tried_alone", member=str(held.member))
            self._tried = held
            self._engine.submit([call])
            until = self._clock.monotonic() + self._longest_s
            while self._clock.monotonic() < until and _is_held(held):
                self._clock.sleep(LOOK_EACH_S)

    def _is_noted(self, held: Held) -> bool:
        """Have Redis know who is to blame should this process die now; let go of whom it does not know."""
        try:
            noted = self._slices.try_apart(by_claim([held]), DIED_ALONE)
            is_mine = held.member in noted[held.claim.stands_in, held.claim.id]
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", member=str(held.member), error=str(error))
            is_mine = False
        if not is_mine:
            let_go([held])
        return is_mine

    def _put_back(self, held: Held) -> None:
        """Give it back to its slice; where Redis is away its lease runs out, which does not blame it."""
        now = int(self._clock.now_ms())
        try:
            self._slices.put_back(held.claim.stands_in, held.claim.id, [DueMember(held.member, now)])
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", member=str(held.member), error=str(error))
        let_go([held])

    def _start(self) -> None:
        Thread(target=self._run, name="quarantine", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self.try_next()
            except Exception:
                log.exception("quarantine_stumbled")


def _is_held(held: Held) -> bool:
    return held.claim.holds(held.member)
