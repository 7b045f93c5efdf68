"""The connections that are being opened, each for the call that will use it first."""

import math
from collections import Counter, deque
from collections.abc import Callable

from wangtimer.callback.call import Call
from wangtimer.callback.limits import Limits
from wangtimer.callback.lookups import Lookups
from wangtimer.callback.network import CallNetwork
from wangtimer.callback.opening import Opening, Placed
from wangtimer.callback.places import Flow
from wangtimer.callback.reply import Reply
from wangtimer.callback.request import Route
from wangtimer.callback.tls_stream import Connection
from wangtimer.core.flow.origin import Origin
from wangtimer.core.time.clock import Clock

# A step of a handshake takes up to 1 ms or 2; after so many steps other work has its turn.
_HANDSHAKE_STEPS_A_TURN = 2
# Time-outs are looked at together, at most this often.
_LOOK_EVERY_S = 0.01


class Openings:
    """Opens connections. One thread uses it, and calls `act` when `rest_until` has come; `sockets` drive it too.

    A connection may be opened ahead, before the call that it is for is due. That call takes it over as it is: open or
    not. `on_open` learns of each connection that opened, with its opening; `on_fail` of each call that got none, with
    its reply: nothing of it was sent. What fails ahead, nobody learns.
    """

    def __init__(
        self,
        clock: Clock,
        limits: Limits,
        network: CallNetwork,
        lookups: Lookups,
        on_open: Callable[[Connection, Opening], None],
        on_fail: Callable[[Call, Flow, Reply], None],
    ) -> None:
        self._clock = clock
        self._connect_timeout_s = limits.connect_timeout_ms / 1000
        self._network = network
        self._lookups = lookups
        self._on_open = on_open
        self._on_fail = on_fail
        self._running: dict[Opening, None] = {}
        self._ahead: dict[Route, deque[Opening]] = {}
        self._ahead_of: Counter[str] = Counter()
        self._handshakes: deque[Opening] = deque()
        self._handshakes_ahead: deque[Opening] = deque()
        self._look_at = math.inf

    def __len__(self) -> int:
        return len(self._running)

    @property
    def rest_until(self) -> float:
        """When there is something to do without any socket, in monotonic seconds."""
        if not self._running:
            return math.inf
        return -math.inf if self._handshakes else self._look_at

    @property
    def has_steps_ahead(self) -> bool:
        """Whether `act_ahead` has something to do."""
        return bool(self._handshakes_ahead)

    def ahead_to(self, route: Route) -> int:
        """Return how many connections of a route are being opened ahead."""
        return len(self._ahead.get(route, ()))

    def ahead_of(self, app: str) -> tuple[int, int]:
        """Return how many connections are being opened ahead for an app, and how many for all apps."""
        return self._ahead_of[app], self._ahead_of.total()

    def start(self, call: Call, flow: Flow, deadline_at: float, before: Reply | None = None) -> None:
        """Begin to open a connection for a call, or go on with one begun ahead. `before`: how it was sent before."""
        now, own_ms = self._clock.monotonic(), call.timeouts.connect_ms
        usual = min(deadline_at, now + self._connect_timeout_s)
        give_up_at = usual if own_ms is None else now + own_ms / 1_000
        placed = Placed(call, flow, now, deadline_at, before)
        request = call.request
        ahead = self._ahead.get(request.route)
        if not ahead:
            self._begin(request.origin, request.route, placed, give_up_at)
            return
        opening = ahead[0]
        self._forget_ahead(opening)
        opening.serve(placed, give_up_at)
        self.look_by(give_up_at)
        if opening.is_shaking_hands:
            self._handshakes.append(opening)

    def start_ahead(self, origin: Origin, route: Route) -> None:
        """Begin to open a connection for a call that is due soon."""
        self._begin(origin, route, None, self._clock.monotonic() + self._connect_timeout_s)

    def act(self) -> None:
        """Go on with some handshakes, try further addresses, and give up openings that take too long."""
        if not self._running:
            return
        for _ in range(min(_HANDSHAKE_STEPS_A_TURN, len(self._handshakes))):
            opening = self._handshakes.popleft()
            opening.is_shaking_hands = False
            if not opening.is_over:
                opening.shake_hands()
        now = self._clock.monotonic()
        if now >= self._look_at:
            self._look_at_all(now)

    def act_ahead(self) -> None:
        """Go on with one handshake of those that were begun ahead, if no call waits for another."""
        while self._handshakes_ahead and not self._handshakes:
            opening = self._handshakes_ahead.popleft()
            if opening.placed is not None:  # it stands in the other queue
                continue
            opening.is_shaking_hands = False
            if not opening.is_over:
                opening.shake_hands()
                return

    def close(self) -> list[Call]:
        """End what is under way; return the calls for which it was, whose listeners learn nothing."""
        running, self._running = list(self._running), {}
        for opening in running:
            opening.close()
        return [opening.placed.call for opening in running if opening.placed is not None]

    def look_by(self, at: float) -> None:
        """Look at all by then."""
        if at < self._look_at:
            self._look_at = at

    def queue_handshake(self, opening: Opening) -> None:
        """Put it into the queue for handshakes: calls that are due go first."""
        if not opening.is_shaking_hands:
            opening.is_shaking_hands = True
            (self._handshakes_ahead if opening.placed is None else self._handshakes).append(opening)

    def end(self, opening: Opening, connection: Connection | None, error: str) -> None:
        """Hand the connection on, or tell that there is none."""
        del self._running[opening]
        placed = opening.placed
        if placed is None:
            self._forget_ahead(opening)
        if connection is not None:
            self._on_open(connection, opening)
            return
        if placed is None:
            return
        reply = placed.unsent(self._clock, error, is_refused=opening.is_refused)
        self._on_fail(placed.call, placed.flow, reply)

    def _begin(self, origin: Origin, route: Route, placed: Placed | None, give_up_at: float) -> None:
        opening = Opening(
            origin,
            route,
            placed,
            give_up_at,
            self._clock,
            self._network,
            self,
        )
        self._running[opening] = None
        if placed is None:
            self._ahead.setdefault(route, deque()).append(opening)
            self._ahead_of[route[0]] += 1
        self.look_by(give_up_at)
        if origin.is_address:
            opening.found((origin.host,), "")
        else:
            self._lookups.find(origin.host, route[0], opening.found)

    def _forget_ahead(self, opening: Opening) -> None:
        app = opening.route[0]
        ahead = self._ahead[opening.route]
        ahead.remove(opening)
        if not ahead:
            del self._ahead[opening.route]
        self._ahead_of[app] -= 1
        if not self._ahead_of[app]:
            del self._ahead_of[app]

    def _look_at_all(self, now: float) -> None:
        for opening in list(self._running):
            if opening.give_up_at <= now:
                opening.give_up(now)
            elif opening.next_try_at <= now:
                opening.try_next()
        nearest = min((min(each.give_up_at, each.next_try_at) for each in self._running), default=math.inf)
        self._look_at = max(nearest, now + _LOOK_EVERY_S)
