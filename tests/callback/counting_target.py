"""A target that takes its time, and counts the calls it has at once, whatever becomes of their callers."""

import time
from threading import Lock

from tests.callback.target import NO_CONTENT, Received, Target


class CountingTarget:
    """`with CountingTarget(0.4) as target: target.url`; each call takes so many seconds."""

    def __init__(self, takes_s: float) -> None:
        self._takes_s = takes_s
        self._lock = Lock()
        self._now = 0
        self.most = 0
        self.began_at: list[float] = []
        self._target = Target(self._answer)
        self.url = self._target.url

    def __enter__(self) -> "CountingTarget":
        return self

    def __exit__(self, *_: object) -> None:
        self._target.close()

    def most_within(self, seconds: float) -> int:
        """Return how many calls began within so many seconds, at most."""
        began = sorted(self.began_at)
        first = most = 0
        for number, at in enumerate(began):
            while began[first] <= at - seconds:
                first += 1
            most = max(most, number - first + 1)
        return most

    def _answer(self, received: Received) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.began_at.append(time.monotonic())
        time.sleep(self._takes_s)
        with self._lock:
            self._now -= 1
        received.connection.sendall(NO_CONTENT)
