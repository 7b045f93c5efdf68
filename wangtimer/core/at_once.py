"""Limits how much slow work of a kind runs at once, so threads are left for all other requests."""

from collections.abc import Callable
from threading import BoundedSemaphore, Lock

from wangtimer.core.errors import TooManyAtOnce


class AtOnce:
    """A limit on what runs at once in this process."""

    def __init__(self, most: int) -> None:
        self._free = BoundedSemaphore(most)

    def begin(self) -> Callable[[], None]:
        """Begin one; return the function to call at its end, once or more often. Raises `TooManyAtOnce`."""
        if not self._free.acquire(blocking=False):
            raise TooManyAtOnce
        may_end = Lock()

        def end() -> None:
            if may_end.acquire(blocking=False):
                self._free.release()

        return end
