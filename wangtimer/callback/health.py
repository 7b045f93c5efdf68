"""Whether a host answers the calls of one app: the one rule for a target's health."""

from enum import Enum

from wangtimer.callback.reply import Reply

# So many failures in a row, and the host is failing. Fewer are a restart, or a few answers that got lost.
FAILING_AFTER = 5
# Calls that began together time out together: they count as one failure.
ONE_FAILURE_S = 0.05
# A call tries a failing host this long after the one before it began, then after twice as long, and so on.
FIRST_PAUSE_S = 1.0
# The longest such pause. After so long one more call also tries a host whose calls seem to hang. So it is seen within
# that time, not within a time-out, that the host answers again.
TRIED_AGAIN_S = 5.0
# Too many requests, bad gateway, unavailable, gateway time-out: who answers so says that it, or what stands behind it,
# takes no calls now. Any other answer is the target's own, an error of one request included.
TURNS_AWAY = frozenset({429, 502, 503, 504})


class Sign(Enum):
    """What the end of a call says of its host."""

    ANSWERED = "answered"
    TURNED_AWAY = "turned away"
    SILENT = "silent"  # no connection, no TLS, a time-out, a broken answer
    NOT_ASKED = "not asked"


def sign_of(reply: Reply) -> Sign:
    """Return what a reply says of its host."""
    if reply.is_refused:
        return Sign.NOT_ASKED
    if reply.error:
        return Sign.SILENT
    return Sign.TURNED_AWAY if reply.http_status in TURNS_AWAY else Sign.ANSWERED


class Health:
    """The failures in a row of one app's calls to one scheme, host and port, as this process saw them.

    The host fails from the first of them on; it *is failing* (a circuit breaker is open, as others say) after
    `FAILING_AFTER`. Then one call at a time tries it, with pauses between. The first answer ends that.
    Moments are in monotonic seconds.
    """

    __slots__ = ("_failed_at", "answered_at", "error", "failed_until", "failing_since", "failures")

    def __init__(self) -> None:
        self.failures = 0  # in a row; those within `ONE_FAILURE_S` are one
        self.failing_since: float | None = None  # the first failure of this row; else of the last one
        self.failed_until: float | None = None  # when an answer ended the last row; None while it lasts
        self.answered_at = float("-inf")
        self.error = ""  # of the last failure
        self._failed_at = float("-inf")

    @property
    def is_failing(self) -> bool:
        """Whether its calls wait, and one at a time tries it."""
        return self.failures >= FAILING_AFTER

    @property
    def tried_at(self) -> float:
        """When the last failure came that was counted."""
        return self._failed_at

    @property
    def pause_s(self) -> float:
        """How long after a call to a failing host began the next one may."""
        return float(min(TRIED_AGAIN_S, FIRST_PAUSE_S * 2 ** min(10, self.failures - FAILING_AFTER)))

    def answer(self, now: float) -> None:
        """Learn of an answer: it ends the row."""
        self.answered_at = now
        if self.failures:
            self.failures = 0
            self.failed_until = now

    def fail(self, now: float, error: str) -> bool:
        """Learn of a failure; False if it counts as one with the failure before it."""
        self.error = error
        if now - self._failed_at < ONE_FAILURE_S:
            return False
        self._failed_at = now
        if not self.failures:
            self.failing_since, self.failed_until = now, None
        self.failures += 1
        return True

    def failed_within(self, begin: float, end: float) -> float:
        """Return how long it failed between two moments, in seconds, as far as the last row shows."""
        if self.failing_since is None:
            return 0.0
        until = end if self.failed_until is None else min(end, self.failed_until)
        return max(0.0, until - max(begin, self.failing_since))
