"""What became of one call."""

from typing import NamedTuple


class Reply(NamedTuple):
    """The end of one call: an HTTP answer, or why there was none. A tuple, for every call makes one.

    `sent_at_ms`   when the request went out, its connection open, by the deployment's clock; for a call that
                   was never sent, when it was given up or its connecting began
    `cost_ms`      from there the whole of it: connecting, sending, answering
    `http_status`  as answered, also when the answer was then broken off; None where no status line came
    `output`       the beginning of the answer's body (Limits.excerpt_bytes), as UTF-8
    `error`        "" when an answer came, whatever its status
    `was_sent`     False: not a byte reached the target, so another send cannot be a duplicate
    """

    sent_at_ms: float
    cost_ms: float
    http_status: int | None
    output: str
    error: str
    was_sent: bool = True

    @property
    def succeeded(self) -> bool:
        """Tell whether a complete 2xx answer came."""
        return not self.error and self.http_status is not None and 200 <= self.http_status < 300
