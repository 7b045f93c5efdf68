"""How fast a client is to take an answer: a thread sends it, and is held no longer than this allows."""

# s that a client may be behind the least pace, and so the longest it may take nothing at all: a lost mobile
# connection is back within them.
BEHIND_S = 20.0
# Of an answer, over all of it: the pace of a bad mobile connection. An export of a million rows, 300 MB, then takes
# eight hours at most.
LEAST_BYTES_PER_S = 10_000
# Sent at once; at the least pace it takes 7 s, so that a client that keeps it is not cut off within a part.
PART_BYTES = 65_536


class AnswerPace:
    """Counts bytes and seconds of one answer.

    What is taken at once only fills buffers: bytes never give a client more than `BEHIND_S`, however many they are.
    """

    def __init__(self) -> None:
        self._left_s = BEHIND_S

    def may_take_s(self, part_bytes: int) -> float:
        """Return how many seconds this part may take."""
        self._left_s = min(BEHIND_S, self._left_s + part_bytes / LEAST_BYTES_PER_S)
        return self._left_s

    def took(self, seconds: float) -> None:
        """Note how long the part took."""
        self._left_s = max(0.0, self._left_s - seconds)
