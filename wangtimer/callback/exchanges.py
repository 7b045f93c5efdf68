"""The calls under way, over connections that are kept open."""

import math
from collections.abc import Callable
from itertools import islice

from wangtimer.callback.call import Call, is_allowed
from wangtimer.callback.deadlines import Deadlines
from wangtimer.callback.egress import REFUSED
from wangtimer.callback.exchange import CLOSED_UNANSWERED, Exchange, Opened
from wangtimer.callback.limits import Limits
from wangtimer.callback.network import CallNetwork
from wangtimer.callback.opening import Opening, Placed
from wangtimer.callback.places import Flow
from wangtimer.callback.reply import Reply
from wangtimer.callback.request import Route
from wangtimer.callback.sockets import READABLE
from wangtimer.callback.tls_stream import Connection
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.call_options import AS_DEPLOYED

_LOOK_FOR_STALE_S = 1.0
# Closing one with TLS takes 150 µs; after so many other work has its turn.
_MOST_CLOSED_A_TURN = 1


class Exchanges:
    """The open connections, busy and idle. One thread uses it, and calls `act` when `rest_until` has come.

    `on_end` learns how each call ended: its reply, or None if it was held back, and that its target could be reached.
    `on_dead` learns of a call that is to be sent again: its kept connection was dead. It gets the deadline of the
    answer in monotonic seconds, and how the first sending ended.
    """

    def __init__(
        self,
        clock: Clock,
        limits: Limits,
        network: CallNetwork,
        on_end: Callable[[Call, Flow, Reply | None, bool], None],
        on_dead: Callable[[Call, Flow, float, Reply], None],
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._sockets, self._tls, self._egress = network
        self._on_end = on_end
        self._on_dead = on_dead
        self._open: dict[int, Exchange] = {}
        self._idle: dict[Route, list[Exchange]] = {}  # the latest used last
        self._deadlines = Deadlines()
        self._look_for_stale_at = -math.inf

    @property
    def rest_until(self) -> float:
        """When the next deadline comes, or idle connections are to be looked at, in monotonic seconds."""
        return min(self._deadlines.next_at, self._look_for_stale_at if self._idle else math.inf)

    def __len__(self) -> int:
        return len(self._open)

    def will_have_idle(self, route: Route, in_s: float) -> bool:
        """Tell whether the connection used last may still be used then, unless other calls take it."""
        idle = self._idle.get(route)
        return self._may_be_used(idle[-1], self._clock.monotonic() + in_s) if idle else False

    def idle_then(self, route: Route, in_s: float, enough: int) -> int:
        """Return how many idle connections may still be used then; no more than `enough` are counted."""
        at = self._clock.monotonic() + in_s
        usable = (True for each in reversed(self._idle.get(route, ())) if self._may_be_used(each, at))
        return sum(islice(usable, enough))

    def start(self, call: Call, flow: Flow, deadline_at: float) -> bool:
        """Send on an idle connection; False if there is none."""
        now = self._clock.monotonic()
        while (exchange := self._take_idle(call.request.route, now)) is not None:
            if self._begin(exchange, call, flow, now, deadline_at, None, None):
                return True
        return False

    def keep_for_later(self, connection: Connection, opened: Opening) -> None:
        """Let a connection idle whose call is not due yet."""
        try:
            exchange = self._take_up(connection, opened)
        except OSError:
            connection.close()
            return
        self._keep(exchange, exchange.idle_since)
        if exchange.stream is not None and exchange.stream.has_more:  # no reading of the socket tells of it
            exchange.on_ready(READABLE)

    def adopt(self, connection: Connection, opened: Opening, placed: Placed) -> None:
        """Send the call for which a connection was opened, and keep the connection for others."""
        call, flow, started_at, deadline_at, before = placed
        connect_ms = int((self._clock.monotonic() - started_at) * 1000)
        error = "the target closed the connection as soon as it was open"
        try:
            exchange = self._take_up(connection, opened)
        except OSError as refused:
            connection.close()
            error = str(refused)
        else:
            if exchange.judged_under != self._egress.version and not self._egress.allows(
                exchange.peer, call.request.app
            ):
                self._drop(exchange)
                self._tell_unsent(placed, connect_ms, REFUSED, is_refused=True)
                return
            if self._begin(exchange, call, flow, started_at, deadline_at, connect_ms, before):
                return
            if exchange.last_words:
                error = f"TLS with {flow.host}: {exchange.last_words}"
        self._tell_unsent(placed, connect_ms, error)

    def act(self) -> None:
        """Cut off overdue calls, close idle connections that are not to be used again."""
        now = self._clock.monotonic()
        for exchange in self._deadlines.overdue(now):
            if exchange.lets_go(now):
                self._deadlines.add(exchange)
            else:
                self._end(exchange, exchange.time_out(now), now)
        if now >= self._look_for_stale_at:
            self._look_for_stale_at = now + _LOOK_FOR_STALE_S
            self._close_stale(now)

    def close(self) -> list[Call]:
        """Close all connections; return the calls that were under way, whose listeners learn nothing."""
        cut_off = [exchange.call for exchange in self._open.values() if exchange.call is not None]
        for exchange in list(self._open.values()):
            self._drop(exchange)
        return cut_off

    def _take_up(self, connection: Connection, opened: Opening) -> Exchange:
        assert opened.peer is not None
        exchange = Exchange(
            Opened(connection, opened.route, opened.peer, opened.judged_under),
            self._clock,
            self._limits,
            self._sockets.watch_for,
            self._over,
            self._send_again,
        )
        self._sockets.watch(exchange.fd, exchange.on_ready)
        self._open[exchange.fd] = exchange
        if len(self._open) > self._limits.connections_total:
            self._drop_longest_idle()
        return exchange

    def _begin(
        self,
        exchange: Exchange,
        call: Call,
        flow: Flow,
        started_at: float,
        deadline_at: float,
        connect_ms: int | None,
        before: Reply | None,
    ) -> bool:
        """Send, or end unsent; False: the connection is dead. `connect_ms` None: a kept one. `before`: see `Placed`."""
        may_send = is_allowed(call)
        now = self._clock.monotonic()
        timeouts = call.timeouts
        is_over = timeouts == AS_DEPLOYED and now >= deadline_at  # whatever held this thread up
        if is_over or not may_send:
            self._keep(exchange, exchange.idle_since)  # nothing went over it
            if may_send or before is not None:
                error = "its time was over" if may_send else "it is not to be called now"
                placed = Placed(call, flow, started_at, deadline_at, before)
                self._tell_unsent(placed, connect_ms or 0, error)
            else:
                self._on_end(call, flow, None, True)
            return True
        first_byte_by = math.inf
        if timeouts != AS_DEPLOYED:
            total_ms, _, first_byte_ms, _ = timeouts
            deadline_at = now + (self._limits.timeout_ms if total_ms is None else total_ms) / 1_000
            if first_byte_ms is not None:
                first_byte_by = now + first_byte_ms / 1_000
        try:
            exchange.begin(call, flow, started_at, first_byte_by, deadline_at, connect_ms, before is not None)
        except OSError:
            self._drop(exchange)
            return False
        self._deadlines.add(exchange)
        return True

    def _is_allowed_still(self, exchange: Exchange) -> bool:
        """Judge a connection anew, since the rules have changed."""
        version = self._egress.version
        app, stream = exchange.route[0], exchange.stream
        if not self._egress.allows_still(exchange.peer, app):
            return False
        if stream is not None and not self._tls.is_current(stream, app):
            return False
        exchange.judged_under = version
        return True

    def _tell_unsent(
        self, placed: Placed, connect_ms: int | None, error: str, is_refused: bool = False
    ) -> None:
        reply = placed.unsent(self._clock, error, connect_ms, is_refused=is_refused)
        self._on_end(placed.call, placed.flow, reply, True)

    def _take_idle(self, route: Route, now: float) -> Exchange | None:
        """Take the connection used last, since the others go stale first; close stale ones."""
        idle = self._idle.get(route)
        while idle:
            exchange = idle.pop()
            if self._may_be_used(exchange, now) and (
                exchange.judged_under == self._egress.version or self._is_allowed_still(exchange)
            ):
                return exchange
            self._drop(exchange)
        return None

    def _may_be_used(self, exchange: Exchange, at: float) -> bool:
        return at - exchange.idle_since <= exchange.answer.idle_s and at < exchange.usable_until

    def _over(self, exchange: Exchange, error: str, now: float) -> None:
        if exchange.call is None:  # the target closed an idle one
            self._idle[exchange.route].remove(exchange)
            self._drop(exchange)
        else:
            self._end(exchange, error, now)

    def _send_again(self, exchange: Exchange, now: float) -> None:
        """Drop a kept connection that was dead, and have its call sent again."""
        call, flow, reply = exchange.call, exchange.flow, exchange.reply(CLOSED_UNANSWERED, now)
        assert call is not None
        self._drop(exchange)
        self._on_dead(call, flow, exchange.whole_by, reply)

    def _end(self, exchange: Exchange, error: str, now: float) -> None:
        """Tell how the call ended, and keep the connection if another call may follow."""
        call, flow, reply = exchange.call, exchange.flow, exchange.reply(error, now)
        assert call is not None
        if exchange.stream is not None and not error:
            self._tls.learn(exchange.stream, exchange.route, now)
        if exchange.can_go_on and now < exchange.usable_until and not error:
            self._keep(exchange, now)
        else:
            self._drop(exchange)
        self._on_end(call, flow, reply, True)

    def _keep(self, exchange: Exchange, now: float) -> None:
        exchange.call = None
        exchange.idle_since = now
        idle = self._idle.get(exchange.route)
        if idle is None:
            idle = self._idle[exchange.route] = []
        idle.append(exchange)

    def _drop(self, exchange: Exchange) -> None:
        del self._open[exchange.fd]
        self._deadlines.forget(exchange)
        self._sockets.forget(exchange.fd)
        exchange.close()

    def _close_stale(self, now: float) -> None:
        """Close idle connections that would not be used again; those beyond `_MOST_CLOSED_A_TURN` in the next turn."""
        closed = 0
        for route, idle in list(self._idle.items()):
            for exchange in [each for each in idle if not self._may_be_used(each, now)]:
                if closed == _MOST_CLOSED_A_TURN:
                    self._look_for_stale_at = now
                    return
                idle.remove(exchange)
                self._drop(exchange)
                closed += 1
            if not idle:
                del self._idle[route]

    def _drop_longest_idle(self) -> None:
        idles = [idle for idle in self._idle.values() if idle]
        if idles:
            self._drop(min(idles, key=lambda idle: idle[0].idle_since).pop(0))
