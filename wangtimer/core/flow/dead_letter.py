"""A dead letter: what is known of a firing that has failed for good, until somebody replays or discards it."""

from dataclasses import dataclass
from typing import NamedTuple

from wangtimer.core.flow.firing import FiringKind, Member, MemberKey
from wangtimer.core.flow.outcome import Note, Outcome

# Why a firing failed for good; an answer is told by its status, as in `http_503`.
TIMED_OUT = "timed_out"
NOT_CONNECTED = "not_connected"
BROKEN_OFF = "broken_off"
REFUSED = "refused"
NOT_MADE = "not_made"
NOT_TAKEN = "not_taken"
HOST_DISABLED = "host_disabled"
# The target accepted it, and said that it failed, or did not say in time that it is done.
NACKED = "nacked"
NOT_ACKED = "not_acked"
REASONS = (
    TIMED_OUT,
    NOT_CONNECTED,
    BROKEN_OFF,
    NOT_TAKEN,
    REFUSED,
    HOST_DISABLED,
    NACKED,
    NOT_ACKED,
    NOT_MADE,
)


def of_status(http_status: int) -> str:
    """Return the reason of a whole answer with this status."""
    return f"http_{http_status}"


class Failure(NamedTuple):
    """Why a firing failed for good in a word, what was called (host and port), and when it was known (ms UTC)."""

    reason: str = NOT_MADE
    host: str = ""
    failed_at: int | None = None

    @property
    def note(self) -> Note:
        """The failure as its outcome tells it."""
        return "failure", list(self)

    @classmethod
    def of(cls, outcome: Outcome) -> "Failure":
        """Return what an outcome tells of its failure."""
        return cls(*outcome.note("failure") or ())


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A firing that has failed for good. Moments in ms UTC; `failed_at` is when its last attempt ended.

    `name` is its timer's. `host` (host and port) and `target` (the named one; None: none) are what the last attempt
    called; `host` is "" where no call could be made. `attempt` is the number of the last attempt.
    """

    app: str
    failed_at: int
    timer_id: int
    fire_at: int
    name: str
    kind: FiringKind
    reason: str
    host: str
    target: str | None
    attempt: int
    http_status: int | None
    error: str

    @property
    def key(self) -> MemberKey:
        """Its firing."""
        return self.timer_id, self.fire_at

    @property
    def firing_id(self) -> str:
        """The firing's id, the `webhook-id` of its calls."""
        return Member(self.timer_id, self.fire_at, self.attempt).firing_id
