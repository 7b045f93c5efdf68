"""The quarantine: firings that two executors died on are tried once more, each alone."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import structlog

from wangtimer.base.loop import Loop
from wangtimer.callback import Call, Delivery
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import DueMember
from wangtimer.core.time.clock import Clock
from wangtimer.executor.claim import Held, by_claim, let_go
from wangtimer.store.redis.slices import SliceStore

log = structlog.get_logger()

# A firing is tried alone once so many executors died on it, or lost its lease otherwise. The scripts that take leases
# back (turn.lua, lane_pull.lua) count up to this.
ALONE_AFTER = 2
# Redis notes this for a firing on which an executor died while it ran alone: it has failed.
DIED_ALONE = 3
LOOK_EACH_S = 0.005
# Once a target took longer than this to answer, its other firings come last.
SLOW_S = 0.5
# The pause after Redis did not answer.
AGAIN_S = 1.0


class Quarantined(NamedTuple):
    """A firing that executors died on, and the call that may be why."""

    held: Held
    call: Call

    @property
    def host(self) -> str:
        """The host it calls."""
        return self.call.request.host


class Quarantine:
    """Sends one firing at a time; one that kills its executor has failed.

    Those for a slow target come last, so that no other waits for it. Any thread may add some, and one takes the next.
    `tried` is the firing that is being tried: the next one waits until its outcome is recorded. The thread starts with
    the first firing: there is hardly ever one.
    """

    def __init__(
        self,
        slices: SliceStore,
        engine: Delivery,
        clock: Clock,
        is_safe: Callable[[Held], bool],
        longest_s: float,
    ) -> None:
        self._slices = slices
        self._engine = engine
        self._clock = clock
        self._is_safe = is_safe
        self._longest_s = longest_s
        self._waiting: list[Quarantined] = []
        self._slow_hosts: set[str] = set()
        self.tried: Held | None = None
        self._loop = Loop("quarantine", self.try_next)

    def take(self, quarantined: Sequence[Quarantined]) -> None:
        """Send each of these when its turn comes."""
        if quarantined:
            self._waiting += quarantined
            self._loop.start()
            self._loop.wake()

    def try_next(self) -> float | None:
        """Send a firing, and wait until its outcome is recorded: the next may kill this process.

        A firing that is not surely held when its turn comes is not tried, and so not blamed. It comes back.
        Return in how many seconds the next one has its turn: 0, or None if there was none.
        """
        firing = self._next()
        if firing is None:
            return None
        held, call = firing
        if not _is_held(held):
            return 0.0
        if not self._is_safe(held):
            self._put_back(held)
        elif self._is_noted(firing):
            log.warning("tried_alone", member=str(held.member))
            self.tried = held
            began_at = self._clock.monotonic()
            self._engine.submit([call])
            while self._clock.monotonic() < began_at + self._longest_s and _is_held(held):
                self._clock.sleep(LOOK_EACH_S)
            if self._clock.monotonic() > began_at + SLOW_S:
                self._slow_hosts.add(firing.host)
        return 0.0

    def _next(self) -> Quarantined | None:
        waiting = self._waiting
        if not waiting:
            self._slow_hosts.clear()
            return None
        quick = (at for at, firing in enumerate(waiting) if firing.host not in self._slow_hosts)
        return waiting.pop(next(quick, 0))

    def _is_noted(self, firing: Quarantined) -> bool:
        """Note in Redis which firing is to blame if this process dies now; let go of it if the claim is lost.

        If Redis does not answer it may have noted it all the same. The firing then has its turn again: if its lease
        ran out, it would be blamed.
        """
        held = firing.held
        try:
            noted = self._slices.try_apart(by_claim([held]), DIED_ALONE)
        except StoreAway as error:
            log.warning("quarantined_has_its_turn_again", member=str(held.member), error=str(error))
            self._clock.sleep(AGAIN_S)
            self._waiting.append(firing)
            return False
        is_mine = held.member in noted[held.claim.stands_in, held.claim.id]
        if not is_mine:
            let_go([held])
        return is_mine

    def _put_back(self, held: Held) -> None:
        """Give it back to its slice; while Redis is away, its lease runs out.

        That blames the firing only if Redis noted the try and was then away for longer than the lease.
        """
        now = int(self._clock.now_ms())
        try:
            self._slices.put_back(held.claim.stands_in, held.claim.id, [DueMember(held.member, now)])
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", member=str(held.member), error=str(error))
        let_go([held])


def _is_held(held: Held) -> bool:
    return held.claim.holds(held.member)
