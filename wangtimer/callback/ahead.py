"""Decides for which calls a connection is opened before their moment, and when. Pure but for the given clock."""

import heapq
import math
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from wangtimer.callback.origin import Origin
from wangtimer.callback.request import Request, Route
from wangtimer.core.time.clock import Clock

# Opening begins as long before the moment as it took to the same target last, and so much more.
_MARGIN_MS = 50.0
# What it may take to a target to which none was opened lately.
_UNKNOWN_MS = 300.0
# Calls looked at, and openings begun (60 µs each), before other work has its turn.
_MOST_LOOKS_A_TURN = 200
_MOST_BEGUN_A_TURN = 2
_MOST_KNOWN = 10_000
# Calls of one route that wait for room.
_MOST_UNSERVED = 200


class _Expected(NamedTuple):
    """A call that no kept connection will serve, as it seemed when it was handed in; ordered by `opens_at_ms`."""

    opens_at_ms: float
    number: int
    due_at_ms: float
    route: Route
    origin: Origin


class _Target:
    """What is known of one route: how long opening took, and which moments (ms UTC) of calls are to come."""

    __slots__ = ("served", "took_ms", "unserved")

    def __init__(self) -> None:
        self.took_ms = _UNKNOWN_MS
        self.served: deque[float] = (
            deque()
        )  # a connection was opened for each, or one that was there is enough
        self.unserved: deque[float] = deque()  # there was no room for theirs

    def forget_past(self, now_ms: float) -> None:
        """Forget the calls whose moment has come."""
        for moments in (self.served, self.unserved):
            while moments and moments[0] <= now_ms:
                moments.popleft()


class Ahead:
    """Opens at most one connection for a call, shortly before its moment, unless one that is there will serve it.

    One thread uses it, and calls `act` when `rest_until` has come. `ready` tells how many connections of a route can be
    used by then, in so many ms, or are being opened. `room` tells how many there may be. `begin` starts to open one.
    """

    def __init__(
        self,
        clock: Clock,
        ready: Callable[[Route, float], int],
        room: Callable[[Origin, Route], int],
        begin: Callable[[Origin, Route], None],
    ) -> None:
        self._clock = clock
        self._ready = ready
        self._room = room
        self._begin = begin
        self._expected: list[_Expected] = []  # a heap
        self._numbers = count()
        self._targets: dict[Route, _Target] = {}

    @property
    def rest_until(self) -> float:
        """When the next call is to be looked at, in monotonic seconds."""
        if not self._expected:
            return math.inf
        return self._clock.monotonic() + (self._expected[0].opens_at_ms - self._clock.now_ms()) / 1_000

    def expect(self, request: Request, due_at_ms: float) -> None:
        """Look at a call in time before its moment."""
        target = self._targets.get(request.route)
        lead_ms = (_UNKNOWN_MS if target is None else target.took_ms) + _MARGIN_MS
        heapq.heappush(
            self._expected,
            _Expected(due_at_ms - lead_ms, next(self._numbers), due_at_ms, request.route, request.origin),
        )

    def act(self) -> None:
        """Begin to open what is to be open soon."""
        now_ms, begun = self._clock.now_ms(), 0
        for _ in range(_MOST_LOOKS_A_TURN):
            if not self._expected or self._expected[0].opens_at_ms > now_ms or begun >= _MOST_BEGUN_A_TURN:
                return
            expected = heapq.heappop(self._expected)
            if expected.due_at_ms > now_ms:
                begun += self._serve(expected, now_ms)

    def learn(self, origin: Origin, route: Route, took_ms: float) -> None:
        """Learn that a connection is open, and how long that took; others may follow it."""
        self._target(route).took_ms = took_ms
        self._serve_more(origin, route)

    def _serve(self, expected: _Expected, now_ms: float) -> bool:
        """Tell whether a connection is being opened for the call."""
        _, _, due_at_ms, route, origin = expected
        target = self._target(route)
        target.forget_past(now_ms)
        if len(target.unserved) >= _MOST_UNSERVED:
            return False
        ready = self._ready(route, due_at_ms - now_ms)
        if ready > len(target.served):
            target.served.append(due_at_ms)
            return False
        if ready >= self._room(origin, route):
            target.unserved.append(due_at_ms)
            return False
        target.served.append(due_at_ms)
        self._begin(origin, route)
        return True

    def _serve_more(self, origin: Origin, route: Route) -> None:
        """Look again at as many calls that found no room as there is room for now."""
        unserved = self._target(route).unserved
        if not unserved:
            return
        room = self._room(origin, route) - self._ready(route, 0.0)
        for _ in range(min(room, len(unserved))):
            again = _Expected(-math.inf, next(self._numbers), unserved.popleft(), route, origin)
            heapq.heappush(self._expected, again)

    def _target(self, route: Route) -> _Target:
        target = self._targets.get(route)
        if target is None:
            if len(self._targets) >= _MOST_KNOWN:
                del self._targets[next(iter(self._targets))]
            target = self._targets[route] = _Target()
        return target
