"""What one process believes of Redis' time: the answers that carry it also show when a clock was set."""

from collections import deque
from dataclasses import dataclass

# The best answer of the last so many seconds counts: after that the two clocks may have drifted apart.
SAMPLES_LIVE_S = 60.0
# So long after a step, leases go by both times. By then every process that holds or takes back leases has noticed the
# step, and holders have renewed in the new time (an idle process looks every 10 s, a holder renews every 2 s).
STEP_LASTS_S = 15.0
# A minute's samples, at up to 4 a second.
MOST_SAMPLES = 256


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer: Redis' time minus the stop-watch lies from `least_ms` to `most_ms`; `came_at` in s of the stop-watch.

    Redis read its time after the question was sent and before its answer came.
    """

    least_ms: float
    most_ms: float
    came_at: float

    def contradicts(self, other: "Sample") -> bool:
        """Tell whether one clock cannot have given both."""
        return self.least_ms > other.most_ms or self.most_ms < other.least_ms


class TimeBelief:
    """Offsets of Redis' time from the stop-watch, ms; None before the first answer.

    `now_ms` is a lower bound: the best of the answers that the latest does not contradict. So a clock that was set back
    or ahead, or another node's, counts from its first answer. `latest_ms` and `earliest_ms` are the extremes believed
    in the last `STEP_LASTS_S`: leases are written by `latest_ms` and taken back by `earliest_ms`.
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
        """Take in an answer; those that came before `since` (s of the stop-watch) were another server's.

        An answer whose question was sent before the last answer came is left out: it may be the older of the two.
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
