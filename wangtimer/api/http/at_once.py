"""How many answers of a kind that takes long may be under way at once, so that threads are left for all else."""

from collections.abc import Callable
from threading import BoundedSemaphore, Lock

from wangtimer.core.errors import TooManyAtOnce


class AtOnce:
    """So many at once in this process."""

    def __init__(self, most: int) -> None:
        self._free = BoundedSemaphore(most)

    def begin(self) -> Callable[[], None]:
        """Return what is to be called at the end, once or more often; raises `TooManyAtOnce`."""
        if not self._free.acquire(blocking=False):
            raise TooManyAtOnce
        may_end = Lock()

        def end() -> None:
            if may_end.acquire(blocking=False):
                self._free.release()

        return end
