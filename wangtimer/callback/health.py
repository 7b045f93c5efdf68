"""Whether a host answers the calls of one app: the one rule for a target's health."""

from enum import Enum

from wangtimer.callback.reply import BrokerAnswer, Reply

# So many failures in a row, and the host is failing. Fewer are a restart, or a few answers that got lost.
FAILING_AFTER = 5
# Calls that began together time out together: they count as one failure.
ONE_FAILURE_S = 0.05
# A call tries a failing host this long after the one before it began, then after twice as long, and so on.
FIRST_REST_S = 1.0
# The longest such rest. After so long one more call also tries a host whose calls seem to hang. So it is seen within
# that time, not within a time-out, that the host answers again.
TRIED_AGAIN_S = 5.0
# Too many requests, bad gateway, unavailable, gateway time-out: who answers so says that it, or what stands behind it,
# takes no calls now. Any other answer is the target's own, an error of one request included.
TURNS_AWAY = frozenset({429, 502, 503, 504})


# A host that nobody called for so long says nothing of that time: its failures count anew from the next one. A job of
# each day that fails each day is not that silent.
LONGEST_SILENCE_S = 36 * 3_600.0


class Sign(Enum):
    """What the end of a call says of its host."""

    ANSWERED = "answered"
    TURNED_AWAY = "turned away"
    SILENT = "silent"  # no connection, no TLS, a time-out, a broken answer
    NOT_ASKED = "not asked"


_OF_BROKERS = {
    BrokerAnswer.TAKEN: Sign.ANSWERED,
    BrokerAnswer.REJECTED: Sign.ANSWERED,
    BrokerAnswer.TURNED_AWAY: Sign.TURNED_AWAY,
}


def sign_of(reply: Reply) -> Sign:
    """Return what a reply says of its host."""
    if reply.is_refused or (reply.broker is BrokerAnswer.REJECTED and not reply.was_sent):
        return Sign.NOT_ASKED
    if reply.error:
        return Sign.SILENT if reply.broker is None else _OF_BROKERS[reply.broker]
    return Sign.TURNED_AWAY if reply.http_status in TURNS_AWAY else Sign.ANSWERED


class Health:
    """The failures in a row of one app's calls to one part of a scheme, host and port, as this process saw them.

    After `FAILING_AFTER` that part *is failing* (others say: its circuit breaker is open), and was so since the first
    of them. Then one call at a time tries it, with rests between. The first answer ends that. Moments are in monotonic
    seconds.
    """

    __slots__ = (
        "_failing_from",
        "_failing_until",
        "answered_at",
        "error",
        "failed_at",
        "failures",
        "since",
        "was_ever_failing",
    )

    def __init__(self) -> None:
        self.failures = 0  # in a row; those within `ONE_FAILURE_S` are one
        self.since = float("-inf")  # the first of them, since which it was never silent for long
        self.failed_at = float("-inf")  # the last of them
        self.error = ""  # of the last failure
        self.answered_at = float("-inf")
        self._failing_from = self._failing_until = float("-inf")
        self.was_ever_failing = False  # whether `failing_within` may say anything

    @property
    def is_failing(self) -> bool:
        """Whether its calls wait, and one at a time tries it."""
        return self.failures >= FAILING_AFTER

    @property
    def rest_s(self) -> float:
        """How long after a call to a failing host began the next one may."""
        return float(min(TRIED_AGAIN_S, FIRST_REST_S * 2 ** min(10, self.failures - FAILING_AFTER)))

    def answer(self, now: float) -> None:
        """Learn of an answer: it ends the row."""
        self.answered_at = now
        if self.failures:
            if self.is_failing:
                self._failing_until = now
            self.failures = 0

    def count_anew(self, answered_at: float) -> None:
        """Learn of an answer by another part of the host: since when it fails counts anew, and it goes on failing."""
        self.answered_at = max(self.answered_at, answered_at)

    def fail(self, now: float, error: str) -> bool:
        """Learn of a failure; False if it counts as one with the failure before it."""
        self.error = error
        if now - self.failed_at < ONE_FAILURE_S:
            return False
        was_silent = now - self.failed_at > LONGEST_SILENCE_S
        if not self.failures or self.answered_at > self.failed_at or was_silent:
            self.since = now
        self.failed_at = now
        self.failures += 1
        if self.failures == FAILING_AFTER:
            self._failing_from, self._failing_until = self.since, float("inf")
            self.was_ever_failing = True
        return True

    def failed_since(self, moment: float) -> bool:
        """Tell whether its last call failed, and after that moment."""
        return self.failures > 0 and self.failed_at > moment

    def failing_within(self, begin: float, end: float) -> float:
        """Return for how long between two moments it was failing, when it last was; in seconds."""
        return max(0.0, min(end, self._failing_until) - max(begin, self._failing_from))
