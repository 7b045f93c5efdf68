"""What one process believes of Redis' time, from answers that carry it; a clock that was put is noticed by them."""

from collections import deque
from dataclasses import dataclass

# The best answer of so long counts: after that the two clocks may have drifted apart.
SAMPLES_LIVE_S = 60.0
# Leases go by both times for so long after a step: every process that holds or takes back any has noticed it by then,
# and its holders have renewed in the new time (an idle process looks every 10 s, a holder renews every 2 s).
STEP_LASTS_S = 15.0
# What is asked for the time at most 4 times a second keeps a minute's samples.
MOST_SAMPLES = 256


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer: Redis' time less the stop-watch is from `least_ms` to `most_ms`; when it came, s of the stop-watch.

    Redis read its time after the question was sent and before its answer came.
    """

    least_ms: float
    most_ms: float
    came_at: float

    def contradicts(self, other: "Sample") -> bool:
        """Tell whether both cannot be true of one clock."""
        return self.least_ms > other.most_ms or self.most_ms < other.least_ms


class TimeBelief:
    """Offsets of Redis' time from the stop-watch, ms; None before the first answer.

    `now_ms` is a lower bound, the best of what the latest answer does not contradict: a clock that was put back or
    ahead, or another node's, counts with its first answer. `latest_ms` and `earliest_ms` are the extremes of what
    was believed in the last `STEP_LASTS_S`: leases are written by the one and taken back by the other.
    """

    def __init__(self) -> None:
        self.now_ms: float | None = None
        self.latest_ms = self.earliest_ms = 0.0
        self._samples: deque[Sample] = deque(maxlen=MOST_SAMPLES)
        # (until when it was believed, the offset)
        self._replaced: deque[tuple[float, float]] = deque(maxlen=MOST_SAMPLES)

    @property
    def came_at(self) -> float:
        """When the latest answer came, s of the stop-watch."""
        return self._samples[-1].came_at if self._samples else float("-inf")

    def note(self, redis_ms: float, sent_at: float, came_at: float, since: float = float("-inf")) -> None:
        """Take an answer in; what came before `since` (s of the stop-watch) was another server's.

        One that was asked for before the last one came is left out: it may be the older of the two.
        """
        if sent_at < self.came_at:
            return
        new = Sample(redis_ms - came_at * 1_000, redis_ms - sent_at * 1_000, came_at)
        oldest = max(came_at - SAMPLES_LIVE_S, since)
        kept = [one for one in self._samples if one.came_at >= oldest and not new.contradicts(one)]
        self._samples = deque([*kept, new], maxlen=MOST_SAMPLES)
        self._believe(max(one.least_ms for one in self._samples), came_at)

    def _believe(self, offset_ms: float, at: float) -> None:
        if self.now_ms is not None and self.now_ms != offset_ms:
            self._replaced.append((at, self.now_ms))
        while self._replaced and self._replaced[0][0] < at - STEP_LASTS_S:
            self._replaced.popleft()
        offsets = [offset_ms, *(offset for _, offset in self._replaced)]
        self.latest_ms, self.earliest_ms = max(offsets), min(offsets)
        self.now_ms = offset_ms
