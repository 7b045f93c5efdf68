"""A turnstile: lets one piece of work through at a time, small ones before large ones."""

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import Event, Lock


class Turnstile:
    """A lock that goes to the smallest waiting piece of work; of equal ones, to the first that came.

    Large pieces wait for as long as small ones come. So use it only where small ones alone can never keep it taken.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_taken = False
        self._waiting: list[tuple[int, int, Event]] = []
        self._arrivals = count()

    @contextmanager
    def one(self, size: int) -> Iterator[None]:
        """Wait for the turn, and hold it."""
        self._enter(size)
        try:
            yield
        finally:
            self._leave()

    def _enter(self, size: int) -> None:
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return
            called = Event()
            heapq.heappush(self._waiting, (size, next(self._arrivals), called))
        called.wait()

    def _leave(self) -> None:
        """Hand the turn on: it stays taken where anybody waits."""
        with self._lock:
            if self._waiting:
                heapq.heappop(self._waiting)[2].set()
            else:
                self._is_taken = False
