"""Decides for which calls a connection is opened before their moment, and when. Pure but for the given clock."""

import heapq
import math
from bisect import bisect_right, insort
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from wangtimer.callback.request import Request, Route
from wangtimer.core.flow.origin import Origin
from wangtimer.core.time.clock import Clock

# Opening begins as long before the moment as it took to the same target last, and so much more.
_MARGIN_MS = 50.0
# What it may take to a target to which none was opened lately.
_UNKNOWN_MS = 300.0
# Calls whose opening is to begin within this are looked at together: each time the thread wakes costs 20 µs or more.
_TOGETHER_MS = 10.0
# Calls looked at, and openings begun (60 µs each), before other work has its turn.
_MOST_LOOKS_A_TURN = 200
_MOST_BEGUN_A_TURN = 2
_MOST_KNOWN = 10_000
# Calls of one route that wait to be looked at, and that wait for room. A burst of 100,000 needs no more connections.
_MOST_EXPECTED = 1_000
_MOST_UNSERVED = 200


class _Expected(NamedTuple):
    """A call that no kept connection will serve, as it seemed when it was handed in; ordered by `opens_at_ms`."""

    opens_at_ms: float
    number: int
    due_at_ms: float
    route: Route
    origin: Origin


class _Target:
    """What is known of one route: how long opening took, and which moments (ms UTC) of calls are to come.

    A connection that serves one call serves another that comes due later, by as long as opening takes: an answer takes
    less as a rule, and where it takes longer, the other call waits no longer for a connection of its own.
    """

    __slots__ = ("expected", "served", "took_ms", "unserved")

    def __init__(self) -> None:
        self.expected = 0  # calls that wait to be looked at
        self.took_ms = _UNKNOWN_MS
        # A connection was opened for each of these, or one that was there is enough; there was no room for the others'.
        self.served: list[float] = []
        self.unserved: list[float] = []

    def forget_others_than(self, due_at_ms: float, now_ms: float) -> None:
        """Forget the calls whose moment has come, and whose connections will be free for a call due then."""
        del self.served[: bisect_right(self.served, max(now_ms, due_at_ms - self.took_ms))]
        del self.unserved[: bisect_right(self.unserved, now_ms)]


class OpeningsAhead:
    """Opens at most one connection for a call, shortly before its moment, unless one that is there will serve it.

    One thread uses it, and calls `act` when `rest_until` has come. `ready` tells how many connections of a route can be
    used in so many ms, or are being opened ahead; it need not count further than to a number. `room` tells how many
    there may be. `begin` starts to open one.
    """

    def __init__(
        self,
        clock: Clock,
        ready: Callable[[Route, float, int], int],
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
        route = request.route
        target = self._target(route)
        if target.expected < _MOST_EXPECTED:
            self._push(due_at_ms - target.took_ms - _MARGIN_MS, due_at_ms, request.origin, route)

    def act(self) -> None:
        """Begin to open what is to be open soon."""
        now_ms, begun = self._clock.now_ms(), 0
        for _ in range(_MOST_LOOKS_A_TURN):
            if begun >= _MOST_BEGUN_A_TURN or not self._expected:
                return
            if self._expected[0].opens_at_ms > now_ms + _TOGETHER_MS:
                return
            _, _, due_at_ms, route, origin = heapq.heappop(self._expected)
            target = self._target(route)
            target.expected -= 1
            if due_at_ms > now_ms:
                begun += self._serve(target, due_at_ms, now_ms, origin, route)

    def learn(self, origin: Origin, route: Route, took_ms: float) -> None:
        """Learn that a connection is open, and how long that took; others may follow it."""
        self._target(route).took_ms = took_ms
        self._serve_more(origin, route)

    def _serve(self, target: _Target, due_at_ms: float, now_ms: float, origin: Origin, route: Route) -> bool:
        """Open a connection for a call, if it needs one and there is room; tell whether that has begun."""
        target.forget_others_than(due_at_ms, now_ms)
        if len(target.unserved) >= _MOST_UNSERVED:
            return False
        ready = self._ready(route, due_at_ms - now_ms, len(target.served) + 1)
        if ready > len(target.served):
            insort(target.served, due_at_ms)
            return False
        if ready >= self._room(origin, route):
            insort(target.unserved, due_at_ms)
            return False
        insort(target.served, due_at_ms)
        self._begin(origin, route)
        return True

    def _serve_more(self, origin: Origin, route: Route) -> None:
        """Look again at as many calls that found no room as there is room for now."""
        unserved = self._target(route).unserved
        if not unserved:
            return
        room = self._room(origin, route)
        for _ in range(min(room - self._ready(route, 0.0, room), len(unserved))):
            self._push(-math.inf, unserved.pop(0), origin, route)

    def _push(self, opens_at_ms: float, due_at_ms: float, origin: Origin, route: Route) -> None:
        self._target(route).expected += 1
        heapq.heappush(self._expected, _Expected(opens_at_ms, next(self._numbers), due_at_ms, route, origin))

    def _target(self, route: Route) -> _Target:
        target = self._targets.get(route)
        if target is None:
            if len(self._targets) >= _MOST_KNOWN:
                del self._targets[next(iter(self._targets))]
            target = self._targets[route] = _Target()
        return target
