"""Limits how much slow work of a kind runs at once, so threads are left for all other requests."""

from collections import Counter
from collections.abc import Callable
from threading import Lock

from wangtimer.core.errors import TooManyAtOnce


class AtOnce:
    """A limit on what runs at once in this process; of what is one owner's, half of it, but at least one."""

    def __init__(self, most: int) -> None:
        self._most, self._most_of_one = most, max(1, most // 2)
        self._lock = Lock()
        self._running: Counter[str | None] = Counter()

    def has_all_of(self, owner: str | None) -> bool:
        """Tell whether as much of this owner's runs as may."""
        return self._running[owner] >= self._most_of_one

    def begin(self, owner: str | None) -> Callable[[], None]:
        """Begin one of an owner's (app; None: operators), until the returned function is called.

        That may be called more than once. Raises `TooManyAtOnce`.
        """
        with self._lock:
            if self.has_all_of(owner) or self._running.total() >= self._most:
                raise TooManyAtOnce
            self._running[owner] += 1
        may_end = Lock()

        def end() -> None:
            if may_end.acquire(blocking=False):
                with self._lock:
                    self._running[owner] -= 1
                    self._running += Counter()

        return end
