"""How many calls may be under way: of one app to one origin, to one host and port, and of one app."""

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wangtimer.callback.flows import Flow
    from wangtimer.callback.request import Route

# A host that cannot be reached holds each call that tries for the time to connect, and that call's place among all.
# So a host is tried by one call until that has connected.
PLACES_UNTIL_REACHED = 1
# A host that may be hanging is tried by another call after so long, beside so many that hang: so it is seen within that
# time, not within a time-out, that it answers again.
TRIED_AGAIN_S = 5.0
MOST_STUCK = 1
# Calls that began together time out together: they count as one failure.
ONE_FAILURE_S = 0.05
# Of many apps with slow targets each may still go on with so few.
LEAST_SHARE = 10
# Half of what ended counts no more after this.
HALF_LIFE_S = 2.0
# Ends a second, of a sum that halves in `HALF_LIFE_S`: ln 2 / HALF_LIFE_S.
_A_SECOND = 0.35


class Throughput:
    """How many calls a second ended lately."""

    __slots__ = ("_at", "_sum")

    def __init__(self) -> None:
        self._sum = 0.0
        self._at = 0.0

    def count(self, now: float) -> None:
        """Count one that ended; `now` is in monotonic seconds, here and below."""
        self._fade(now)
        self._sum += 1.0

    def per_s(self, now: float) -> float:
        """Return the rate."""
        return self._sum * _A_SECOND * _faded(now - self._at)

    def _fade(self, now: float) -> None:
        passed = now - self._at
        if passed > 0:
            self._sum *= _faded(passed)
            self._at = now


def _faded(seconds: float) -> float:
    return float(0.5 ** (seconds / HALF_LIFE_S))


class Host:
    """What all apps that call one host and port share in this process: so many places, whatever fails there."""

    __slots__ = ("blocked", "most", "name", "running", "throughput", "waiting", "ways")

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.most = most
        self.running = 0
        self.waiting = 0
        self.throughput = Throughput()
        self.ways: dict[Route, Way] = {}
        self.blocked: deque[Flow] = (
            deque()
        )  # flows with a waiting call and places of their own, and none here

    @property
    def free(self) -> int:
        """How many calls may start now."""
        return self.most - self.running


class Way:
    """The places of one app's calls to one scheme, host and port in this process.

    They halve when a call fails (a time-out, a refusal, a broken answer) and grow by one with each whole answer,
    whatever its status: a host that hangs is soon tried by one call at a time, every few seconds, and one that recovers
    has its places again after as many answers.
    """

    __slots__ = (
        "_failed_at",
        "app",
        "host",
        "is_reached",
        "places",
        "running",
        "started_at",
        "stuck",
        "throughput",
        "tried_beside",
        "waiting",
    )

    def __init__(self, host: Host) -> None:
        self.host = host
        self.places = host.most
        self.running = 0
        self.waiting = 0
        self.is_reached = False
        self.started_at = float("-inf")  # when its last call began
        self.stuck = 0  # calls under way that hang and take no place
        self.tried_beside = 0  # while it is not reached: calls under way that are no reason not to try
        self.throughput = Throughput()
        self.app: App | None = None  # whose it is, since it had calls last
        self._failed_at = float("-inf")

    @property
    def free(self) -> int:
        """How many calls may start now."""
        if self.is_reached:
            return self.places + self.stuck - self.running
        return min(self.places, self.tried_beside + PLACES_UNTIL_REACHED) - self.running

    @property
    def free_at_host(self) -> int:
        """How many calls may start now as far as the other apps are concerned that call the host.

        While others have calls there, as many as are free, less those it has: so theirs find room. One may always be.
        """
        host = self.host
        if host.running + host.waiting == self.running + self.waiting:
            return host.free + self.stuck
        return min(host.free, max(1, host.free) - self.running)

    @property
    def is_idle(self) -> bool:
        """Whether no call is here."""
        return not (self.running or self.waiting)

    def may_be_tried_again(self, now: float) -> bool:
        """Whether its one place is taken by a call that hangs, and another may be tried."""
        is_taken = self.is_reached and self.places == 1 and self.free <= 0
        return is_taken and self.running <= MOST_STUCK and now - self.started_at >= TRIED_AGAIN_S

    def try_again(self) -> None:
        """Count what is under way as stuck: its place is free again."""
        self.stuck = self.running

    def end(self, has_failed: bool) -> None:
        """Learn that a call ended: one that was stuck where it failed."""
        self.stuck = max(0, self.stuck - 1) if has_failed else min(self.stuck, self.running)

    def lose(self) -> None:
        """Give it one place until it is reached, beside the calls that are under way: they may be slow ones."""
        self.tried_beside = min(self.tried_beside, self.running) if not self.is_reached else self.running
        self.is_reached = False

    def succeed(self) -> None:
        """Give it one place more, for an answer."""
        if self.places < self.host.most:
            self.places += 1

    def fail(self, now: float) -> None:
        """Halve its places, unless a failure just did; one is always left, to try with."""
        if now - self._failed_at >= ONE_FAILURE_S:
            self._failed_at = now
            self.places = max(1, self.places // 2)


class App:
    """The calls of one app in this process."""

    __slots__ = ("blocked", "name", "running", "throughput", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.running = 0
        self.waiting = 0
        self.throughput = Throughput()
        self.blocked: deque[Flow] = deque()  # flows with a waiting call, when the app had its share

    @property
    def is_idle(self) -> bool:
        """Whether no call is here."""
        return not (self.running or self.waiting)


def share_of(connections: int, running: int) -> int:
    """Return how many calls one app may have under way: as many as are free, so that one alone gets half."""
    return max(LEAST_SHARE, connections - running)
