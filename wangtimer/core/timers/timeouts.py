"""How long a call may take: the time-outs of a timer, or of a named target."""

from typing import NamedTuple

# Each of them but the one to connect, and the longest that a deployment may allow.
LEAST_TIMEOUT_MS = 100
MOST_TIMEOUT_MS = 600_000
# From when a target has accepted a firing until it says that it is done.
LEAST_ACK_MS = 1_000
MOST_ACK_MS = 7 * 86_400_000
# No honest connection needs longer, and meanwhile it holds sockets, and nobody sees that the timer was disabled.
MOST_CONNECT_TIMEOUT_MS = 60_000


class Timeouts(NamedTuple):
    """Time-outs in ms; None: as the deployment's calls have it.

    `total_ms`        from when the request is sent to its whole answer
    `connect_ms`      for a new connection: name look-up, TCP and TLS
    `first_byte_ms`   from when the request is sent to the first byte of its answer
    `ack_ms`          from an answer 202 until the target says that it is done; None: 202 is done
    """

    total_ms: int | None = None
    connect_ms: int | None = None
    first_byte_ms: int | None = None
    ack_ms: int | None = None

    def longest_ms(self, usual_ms: int, usual_connect_ms: int) -> int:
        """Return how long a call may take from when it has its place, connecting included."""
        total_ms = usual_ms if self.total_ms is None else self.total_ms
        return total_ms + (usual_connect_ms if self.connect_ms is None else self.connect_ms)

    def over(self, other: "Timeouts") -> "Timeouts":
        """Return these, each that is None as in the other."""
        if self == AS_DEPLOYED:
            return other
        return Timeouts(*(theirs if own is None else own for own, theirs in zip(self, other, strict=True)))


# Their names, in their order, in requests to the rules, in columns and in stored texts.
TIMEOUT_NAMES = ("timeout_ms", "connect_timeout_ms", "first_byte_timeout_ms", "ack_timeout_ms")
# No time-out of its own.
AS_DEPLOYED = Timeouts()
