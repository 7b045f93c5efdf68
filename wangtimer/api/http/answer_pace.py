"""How fast a client must take an answer. A thread sends it, and this limits how long the thread is held."""

# s that a client may be behind the least pace. So a client may take nothing for this long: a lost mobile connection
# comes back in that time.
BEHIND_S = 20.0
# The least pace, averaged over the whole answer: that of a bad mobile connection. An export of a million rows, 300 MB,
# then takes eight hours at most.
LEAST_BYTES_PER_S = 10_000
# Bytes sent at once. They take 7 s at the least pace, so a client that keeps the pace is not cut off within a part.
PART_BYTES = 65_536


class AnswerPace:
    """Counts bytes and seconds of one answer.

    Bytes that are taken at once only fill buffers, so a client can never be more than `BEHIND_S` behind.
    """

    def __init__(self) -> None:
        self._left_s = BEHIND_S

    def may_take_s(self, part_bytes: int) -> float:
        """Return how many seconds this part may take."""
        self._left_s = min(BEHIND_S, self._left_s + part_bytes / LEAST_BYTES_PER_S)
        return self._left_s

    def took(self, seconds: float) -> None:
        """Count the seconds that the part took."""
        self._left_s = max(0.0, self._left_s - seconds)
