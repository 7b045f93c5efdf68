"""The gone teller: asks for timers whose target answered 410 to be disabled."""

from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread

import structlog

from wangtimer.core.time.clock import Clock

log = structlog.get_logger()

# Timers that wait to be told of. A further one is left out: its next answer comes again.
MOST_NOTED = 1_000
# Answers that come within this share one message.
GATHER_S = 0.1


class GoneTeller:
    """One thread of its own: no call and no outcome waits for the broker. A message that is lost is no harm.

    `send` takes, by the id of each timer, its version and that of the target it names (0: none).
    """

    def __init__(self, send: Callable[[Mapping[int, tuple[int, int]]], None], clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._noted: dict[int, tuple[int, int]] = {}
        self._lock, self._wake = Lock(), Event()

    def start(self) -> None:
        """Begin to tell, until the process ends."""
        Thread(target=self._run, name="gone-teller", daemon=True).start()

    def note(self, timer_id: int, version: int, target_version: int) -> None:
        """Note that the call of these versions was answered with 410; quick, from any thread."""
        with self._lock:
            if timer_id in self._noted or len(self._noted) < MOST_NOTED:
                self._noted[timer_id] = version, target_version
        self._wake.set()

    def tell(self) -> None:
        """Send what is noted, in one message; nothing if there is nothing."""
        with self._lock:
            noted, self._noted = self._noted, {}
        if noted:
            self._send(noted)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._clock.sleep(GATHER_S)
            self._wake.clear()
            try:
                self.tell()
            except Exception:
                log.exception("gone_teller_stumbled")
