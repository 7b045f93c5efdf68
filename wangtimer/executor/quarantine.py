"""The quarantine: firings that two executors died on are tried once more, each alone."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock, Thread

import structlog

from wangtimer.callback import Call, DeliveryEngine, PlainCall, Reply
from wangtimer.core.clock import Clock
from wangtimer.core.errors import StoreAway
from wangtimer.core.firing import DueMember
from wangtimer.executor.claim import Held
from wangtimer.store.redis.slices import SliceStore

log = structlog.get_logger()

# Executors that died with a firing (or lost its lease otherwise) before it is tried alone; and before it has failed.
ALONE_AFTER = 2
LAST_DEATH = 3


class Quarantine:
    """Sends one firing at a time, so that only the one that kills its executor is held to blame.

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
        self._waiting: SimpleQueue[tuple[Held, Call]] = SimpleQueue()
        self._is_started = False
        self._starting = Lock()

    def take(self, held: Held, call: Call) -> None:
        """Send this when its turn comes."""
        self._waiting.put((held, call))
        with self._starting:
            if not self._is_started:
                self._is_started = True
                self._start()

    def try_next(self) -> None:
        """Send the next one, and wait until it is answered.

        One whose turn comes when its lease may be over is not tried, and so not blamed: it comes back.
        """
        held, call = self._waiting.get()
        if not held.claim.holds(held.member):
            return
        if not self._is_safe(held):
            self._put_back(held)
            return
        if not self._is_noted(held):
            held.claim.let_go([held.member])
            return
        log.warning("tried_alone", member=str(held.member))
        over = Event()
        self._engine.submit([_noting(call, over)])
        over.wait(self._longest_s)

    def _is_noted(self, held: Held) -> bool:
        try:
            return self._slices.try_alone(held.claim.slice, held.claim.id, held.member)
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", member=str(held.member), error=str(error))
            return False

    def _put_back(self, held: Held) -> None:
        """Give it back to its slice; where Redis is away its lease runs out, which counts as no death of it alone."""
        again = DueMember(held.member, int(self._clock.now_ms()))
        try:
            self._slices.put_back(held.claim.slice, held.claim.id, [again])
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", member=str(held.member), error=str(error))
        held.claim.let_go([held.member])

    def _start(self) -> None:
        Thread(target=self._run, name="quarantine", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self.try_next()
            except Exception:
                log.exception("quarantine_stumbled")


def _noting(call: Call, over: Event) -> Call:
    """Return the call, with a note made when it is over."""

    def on_reply(replied: Call, reply: Reply) -> None:
        call.on_reply(replied, reply)
        over.set()

    return PlainCall(call.request, call.due_at_ms, call.may_send, call.on_held_back, on_reply)
