"""The result of one call."""

from enum import Enum
from typing import NamedTuple

from wangtimer.callback.reply_headers import shown_place

# How the error of a call begins whose time was over.
TIME_OVER = "timed out after"
SENT_ONCE = "the target closed the connection without an answer; it may have acted, so nothing is sent again"
# What the record says of a call that was written twice, whatever its end.
SENT_AGAIN = (
    "the target closed a kept connection without an answer; the request was sent again at once, on a new one"
)


class BrokerAnswer(Enum):
    """What a broker says of a message."""

    TAKEN = "taken"
    REJECTED = "rejected"  # this one; others may be taken
    TURNED_AWAY = "turned away"  # it takes none for now


class Reply(NamedTuple):
    """The end of one call: an HTTP answer, or why there was none. It is a tuple, because every call makes one.

    `sent_at_ms`   when the request went out over its open connection, by the deployment's clock; for a call that
                   was never sent, when it began
    `cost_ms`      the whole time of the call: connecting, sending, answering
    `http_status`  as answered, also if the answer then broke off; None if no status line came
    `output`       the beginning of the answer's body (Limits.excerpt_bytes), as UTF-8
    `error`        "" when an answer came, whatever its status
    `was_sent`     False: not a byte reached the target, so another send cannot be a duplicate
    `connect_ms`   the part of the cost until the connection was open (name, TCP, TLS; 0 for one
                   kept open); None if there was none
    `first_byte_ms`  the part until the answer began; None if none did
    `host_failing_ms`  between the call's moment and its sending, how long its host was failing; None: not at all
    `told`         of a 429 or 503 its Retry-After, of a redirect its Location, of a success its X-WangTimer-Control,
                   as written; "" where there is none
    `is_refused`   the rules of egress do not allow it; another attempt would be refused too
    `broker`       of a message what its broker said of it; None of a call, and where no word came
    `is_again`     it was sent again, because a kept connection turned out to be dead
    """

    sent_at_ms: float
    cost_ms: float
    http_status: int | None
    output: str
    error: str
    was_sent: bool = True
    connect_ms: int | None = None
    first_byte_ms: int | None = None
    is_refused: bool = False
    host_failing_ms: int | None = None
    told: str = ""
    broker: BrokerAnswer | None = None
    is_again: bool = False

    @property
    def succeeded(self) -> bool:
        """Tell whether a complete 2xx answer came, or a broker took the message."""
        if self.error:
            return False
        if self.http_status is None:
            return self.broker is BrokerAnswer.TAKEN
        return 200 <= self.http_status < 300

    @property
    def shown_error(self) -> str:
        """What records say of the call: why it did not succeed, and that it was sent again; "" if there is nothing."""
        if self.is_again:
            return "; ".join(filter(None, (self._replace(is_again=False).shown_error, SENT_AGAIN)))
        if self.error or self.succeeded:
            return self.error
        place = (
            shown_place(self.told) if self.http_status is not None and 300 <= self.http_status < 400 else ""
        )
        said = f"HTTP {self.http_status}"
        return f"{said}: it points to {place}, and redirects are not followed" if place else said
