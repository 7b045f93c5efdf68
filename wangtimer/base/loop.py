"""The loop: does a service's work again and again, in a thread of its own."""

from collections.abc import Callable
from threading import Event, Lock, Thread

import structlog

from wangtimer.core.errors import StoreAway

log = structlog.get_logger()

# s; the least pause after work that failed, unless the service has one of its own.
PAUSE_S = 0.5


class Loop:
    """One daemon thread, from the first `start` until the process ends. Work that fails is logged, and ends nothing.

    * `work` is done at once, and again after as many seconds as it returns, or `every_s` if it returns None. None for
      both: once it is woken.
    * `wake` is quick, from any thread: what it announces is seen by work that begins after it.
    * After work that failed there is a pause that no `wake` shortens, `every_s` or `pause_s`: a store that is away is
      not asked again and again.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], float | None],
        every_s: float | None = None,
        pause_s: float | None = None,
    ) -> None:
        self._name = name
        self._work = work
        self._every_s = every_s
        self._pause_s = max(PAUSE_S, every_s or 0.0) if pause_s is None else pause_s
        self._woken = Event()
        # The event's own method: whoever wakes on the way of a firing pays for no call more.
        self.wake: Callable[[], None] = self._woken.set
        self._is_started = False
        self._starting = Lock()

    def start(self) -> None:
        """Begin, unless it has begun already."""
        with self._starting:
            if not self._is_started:
                self._is_started = True
                Thread(target=self._run, name=self._name, daemon=True).start()

    def _run(self) -> None:
        while True:
            self._woken.clear()
            wait_s = self._work_once()
            self._woken.wait(self._every_s if wait_s is None else wait_s)

    def _work_once(self) -> float | None:
        """Work, and return what the work returned; after a failure, pause and have it work again at once."""
        try:
            return self._work()
        except StoreAway as error:
            log.info("loop_waits_for_store", loop=self._name, error=str(error))
        except Exception:
            log.exception("loop_stumbled", loop=self._name)
        Event().wait(self._pause_s)
        return 0.0
