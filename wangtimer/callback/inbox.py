"""How calls reach the engine's thread, and what wakes it."""

import math
import os
from collections.abc import Iterable
from threading import Lock

from wangtimer.callback.call import Call

# So long before its moment a call is to be known: its connection may have to be opened by then.
_KNOWN_MS = 500.0


class Inbox:
    """Calls handed in by any thread for the engine's thread to take.

    The engine is woken (by `wake_fd`, which becomes readable) only for a call that it would otherwise know less than
    `_KNOWN_MS` before its moment, and at most once a rest: submitting well ahead costs no system call.
    """

    def __init__(self) -> None:
        self.wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = Lock()
        self._calls: list[Call] = []
        self._rests_until_ms = -math.inf
        self._is_closed = False
        self._is_called = False

    def __len__(self) -> int:
        return len(self._calls)

    def put(self, calls: Iterable[Call]) -> bool:
        """Hand calls in; once closed, return False and take none."""
        batch = list(calls)
        wanted_ms = min((call.due_at_ms for call in batch), default=math.inf) - _KNOWN_MS
        with self._lock:
            if self._is_closed:
                return False
            self._calls += batch
            if wanted_ms < self._rests_until_ms:
                self._wake()
        return True

    def take(self) -> list[Call]:
        """Take the calls handed in since the last time."""
        if not self._calls:
            return []
        with self._lock:
            batch, self._calls = self._calls, []
        return batch

    def wake(self) -> None:
        """Wake the engine, or keep it from its next rest: something else came for it. From any thread."""
        with self._lock:
            self._is_called = True
            if self._rests_until_ms > -math.inf and not self._is_closed:
                self._wake()

    def begin_rest(self, until_ms: float) -> bool:
        """Note when the engine will wake by itself; False if there is something to take right now."""
        with self._lock:
            if self._calls or self._is_called:
                self._is_called = False
                return False
            self._rests_until_ms = until_ms
        return True

    def end_rest(self) -> None:
        """Note that the engine is awake and needs no waking."""
        self._rests_until_ms = -math.inf

    def drain_wake(self) -> None:
        """Make `wake_fd` unreadable again."""
        os.eventfd_read(self.wake_fd)

    def close(self) -> None:
        """Take nothing from now on, and wake the engine."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                os.eventfd_write(self.wake_fd, 1)

    def release(self) -> None:
        """Give the descriptor back; once, after `close`, when no thread rests on it."""
        os.close(self.wake_fd)

    def _wake(self) -> None:
        self._rests_until_ms = -math.inf
        os.eventfd_write(self.wake_fd, 1)
