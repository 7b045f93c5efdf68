"""How fast a client must take an answer. A thread sends it, and this limits how long the thread is held."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

# s for a whole answer. An export may be this far behind the least pace. So any client may take nothing for this long: a
# lost mobile connection comes back in that time.
BEHIND_S = 20.0
# The least pace of an export, averaged over the whole answer: that of a bad mobile connection. An export of a million
# rows, 300 MB, then takes eight hours at most.
LEAST_BYTES_PER_S = 10_000
# Bytes sent at once. They take 7 s at the least pace, so a client that keeps the pace is not cut off within a part.
PART_BYTES = 65_536


# The key of a request's environment under which gunicorn has its connection.
SOCKET = "gunicorn.socket"


class AnswerPace:
    """Counts an answer's seconds, and bytes where they earn time: a client is at most `BEHIND_S` behind."""

    def __init__(self, earns: bool = False) -> None:
        self._left_s, self._earns = BEHIND_S, earns

    def may_take_s(self, part_bytes: int) -> float:
        """Return how many seconds this part may take."""
        if self._earns:
            self._left_s = min(BEHIND_S, self._left_s + part_bytes / LEAST_BYTES_PER_S)
        return self._left_s

    def took(self, seconds: float) -> None:
        """Count the seconds that the part took."""
        self._left_s = max(0.0, self._left_s - seconds)


class Earning(Protocol):
    """A connection whose answer can earn time."""

    def earn_time(self) -> None:
        """Let the answer take longer than `BEHIND_S`, at the least pace."""


def earn_time(environment: Mapping[str, Any]) -> None:
    """Let an answer take over `BEHIND_S`: only where `AtOnce` limits such answers, each of which holds a thread."""
    connection = cast("Earning | None", environment.get(SOCKET))
    if connection is not None:
        connection.earn_time()
