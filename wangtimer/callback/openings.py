"""The connections that are being opened, each for the call that will use it first."""

import math
from collections import deque
from collections.abc import Callable

from wangtimer.callback.call import Call
from wangtimer.callback.egress import Egress
from wangtimer.callback.limits import Limits
from wangtimer.callback.lookups import Lookups
from wangtimer.callback.opening import Opening
from wangtimer.callback.places import Flow
from wangtimer.callback.reply import Reply
from wangtimer.callback.sockets import Sockets
from wangtimer.callback.tls import Tls
from wangtimer.callback.tls_stream import Connection
from wangtimer.core.time.clock import Clock

# A step of a handshake takes up to 1 ms or 2; after so many steps other work has its turn.
_HANDSHAKE_STEPS_A_TURN = 2
# Time-outs are looked at together, at most this often.
_LOOK_EVERY_S = 0.01


class Openings:
    """Opens connections. One thread uses it, and calls `act` when `rest_until` has come; `sockets` drive it too.

    `on_open` learns of each connection that opened, with its opening; `on_fail` of each call that got none, with its
    reply: nothing of it was sent.
    """

    def __init__(
        self,
        clock: Clock,
        limits: Limits,
        sockets: Sockets,
        lookups: Lookups,
        tls: Tls,
        egress: Egress,
        on_open: Callable[[Connection, Opening], None],
        on_fail: Callable[[Call, Flow, Reply], None],
    ) -> None:
        self._clock = clock
        self._connect_timeout_s = limits.connect_timeout_ms / 1000
        self._sockets = sockets
        self._lookups = lookups
        self._tls = tls
        self._egress = egress
        self._on_open = on_open
        self._on_fail = on_fail
        self._running: dict[Opening, None] = {}
        self._handshakes: deque[Opening] = deque()
        self._look_at = math.inf

    @property
    def rest_until(self) -> float:
        """When there is something to do without any socket, in monotonic seconds."""
        if not self._running:
            return math.inf
        return -math.inf if self._handshakes else self._look_at

    def start(self, call: Call, flow: Flow, deadline_at: float) -> None:
        """Begin to open a connection for a call."""
        now, own_ms = self._clock.monotonic(), call.timeouts.connect_ms
        usual = min(deadline_at, now + self._connect_timeout_s)
        give_up_at = usual if own_ms is None else now + own_ms / 1_000
        opening = Opening(
            call,
            flow,
            deadline_at,
            give_up_at,
            self._clock,
            self._sockets,
            self._tls,
            self._egress,
            self,
        )
        self._running[opening] = None
        self.look_by(give_up_at)
        origin = call.request.origin
        if origin.is_address:
            opening.found((origin.host,), "")
        else:
            self._lookups.find(origin.host, call.request.app, opening.found)

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

    def close(self) -> list[Call]:
        """End what is under way; return the calls for which it was, whose listeners learn nothing."""
        running, self._running = list(self._running), {}
        for opening in running:
            opening.close()
        return [opening.call for opening in running]

    def look_by(self, at: float) -> None:
        """Look at all by then."""
        if at < self._look_at:
            self._look_at = at

    def queue_handshake(self, opening: Opening) -> None:
        """Put it into the queue for handshakes."""
        if not opening.is_shaking_hands:
            opening.is_shaking_hands = True
            self._handshakes.append(opening)

    def end(self, opening: Opening, connection: Connection | None, error: str) -> None:
        """Hand the connection on, or tell that there is none."""
        del self._running[opening]
        if connection is not None:
            self._on_open(connection, opening)
            return
        cost_ms = (self._clock.monotonic() - opening.started_at) * 1000
        reply = Reply(
            self._clock.now_ms(),
            cost_ms,
            None,
            "",
            f"not sent: {error}",
            was_sent=False,
            is_refused=opening.is_refused,
        )
        self._on_fail(opening.call, opening.flow, reply)

    def _look_at_all(self, now: float) -> None:
        for opening in list(self._running):
            if opening.give_up_at <= now:
                opening.give_up(now)
            elif opening.next_try_at <= now:
                opening.try_next()
        nearest = min((min(each.give_up_at, each.next_try_at) for each in self._running), default=math.inf)
        self._look_at = max(nearest, now + _LOOK_EVERY_S)
