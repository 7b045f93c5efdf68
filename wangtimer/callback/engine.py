"""The one thread of a process that calls targets back over HTTP, each at its exact moment."""

import math
from collections.abc import Iterator, Sequence

from wangtimer.callback.call import Call
from wangtimer.callback.egress import Egress
from wangtimer.callback.exchanges import Exchanges
from wangtimer.callback.limits import Limits
from wangtimer.callback.lookups import Lookups
from wangtimer.callback.network import CallNetwork
from wangtimer.callback.opening import Opening
from wangtimer.callback.openings import Openings
from wangtimer.callback.openings_ahead import OpeningsAhead
from wangtimer.callback.permits import Permits
from wangtimer.callback.places import Flow
from wangtimer.callback.reply import Reply
from wangtimer.callback.request import Route
from wangtimer.callback.resolver import Resolver
from wangtimer.callback.timed_engine import EngineStopped, TimedEngine, next_look_at
from wangtimer.callback.tls import Tls
from wangtimer.callback.tls_stream import Connection
from wangtimer.core.flow.origin import Origin
from wangtimer.core.time.clock import Clock

__all__ = ["DeliveryEngine", "EngineStopped", "next_look_at"]


# The part of all connections that may be being opened ahead at a time. One app has as many of these as are free.
_AHEAD_SHARE = 4

# A step of a handshake takes 1 ms, or 3 on a busy machine. What is done for calls to come gives way to a call that is
# due by then, but not for long: where a call is due each ms, it delays a few of them.
_STEP_MS = 3.0
_GIVES_WAY_S = 0.01


class DeliveryEngine(TimedEngine):
    """Sends calls at their moments over connections that are kept and shared, and tells their results.

    Any thread may `submit`, best before the moment: meanwhile names are looked up, and connections opened. One daemon
    thread does the rest. Nothing is sent early. Nothing is sent twice, except where a kept connection turns out to be
    dead (`Exchange` says when).
    A slow host holds up only the calls to it: it takes at most the connections that are free of its app's share.
    Exception: if over a thousand hosts of an app are slow or hang, its other calls may wait too.
    A call of an app with a limit is sent once it has its place and a permit: `permits` gives those.
    Start it in the process that uses it, after a fork. Names are looked up as this machine is configured, or by asking
    `name_servers` ("127.0.0.1:53"). `egress` judges each connection, right before it is made; `tls` says whom one
    trusts, and which certificate it shows.
    """

    _thread_name = "callback-delivery"

    def __init__(
        self,
        clock: Clock,
        egress: Egress,
        limits: Limits,
        name_servers: Sequence[str],
        permits: Permits,
        tls: Tls,
    ) -> None:
        super().__init__(clock, limits, permits)
        network = CallNetwork(self._sockets, tls, egress)
        self._resolver = Resolver(self._clock, self._sockets, name_servers)
        self._lookups = Lookups(self._clock, self._resolver)
        self._openings = Openings(self._clock, self._limits, network, self._lookups, self._adopt, self._miss)
        # What was dead is sent on a new connection: other kept ones may be as dead.
        self._exchanges = Exchanges(self._clock, self._limits, network, self._end, self._openings.start)
        self._ahead = OpeningsAhead(self._clock, self._ready, self._room_ahead, self._openings.start_ahead)
        self._gives_way_until = -math.inf
        self._most_ahead = self._limits.connections_total // _AHEAD_SHARE

    def _prepare(self, call: Call, in_s: float) -> None:
        request = call.request
        if request.fault or self._exchanges.will_have_idle(request.route, in_s):
            return
        if not request.origin.is_address:
            self._lookups.prepare(request.origin.host, request.app)
        if in_s > 0:
            self._ahead.expect(request, call.due_at_ms)

    def _begin(self, call: Call, flow: Flow, deadline_at: float) -> None:
        if self._exchanges.start(call, flow, deadline_at):
            if not flow.to.is_reached:
                self._flows.open_wide(flow)
        else:
            self._openings.start(call, flow, deadline_at)

    def _act(self) -> None:
        if self._resolver.under_way:
            self._resolver.act()
            self._lookups.act()
        self._openings.act()
        self._exchanges.act()
        if self._openings.has_steps_ahead or (
            self._to_come and self._ahead.rest_until <= self._clock.monotonic()
        ):
            self._act_ahead()

    def _act_ahead(self) -> None:
        """Do a little for calls to come; a call that is due, or in a moment, goes first."""
        now = self._clock.monotonic()
        if self._gives_way_until == -math.inf and self._is_call_due(_STEP_MS):
            self._gives_way_until = now + _GIVES_WAY_S
        elif self._gives_way_until <= now or not self._is_call_due(_STEP_MS):
            self._gives_way_until = -math.inf
            if self._openings.has_steps_ahead:
                self._openings.act_ahead()
            else:
                self._ahead.act()

    @property
    def _ahead_at(self) -> float:
        """When there is something to do for calls to come, in monotonic seconds."""
        if self._openings.has_steps_ahead:
            return -math.inf
        return self._ahead.rest_until if self._to_come else math.inf

    def _acts_at(self) -> float:
        ahead_at = max(self._ahead_at, self._gives_way_until)
        until = min(self._exchanges.rest_until, self._openings.rest_until, ahead_at)
        if not self._resolver.under_way:
            return until
        return min(until, self._lookups.rest_until, self._clock.monotonic() + self._resolver.rest_s)

    def _cut_off(self) -> Iterator[tuple[Call, bool]]:
        self._resolver.close()
        yield from ((call, True) for call in self._openings.close())
        # Their connections are closed, so their targets know that nobody waits for an answer any more.
        yield from ((call, False) for call in self._exchanges.close())

    def _adopt(self, connection: Connection, opened: Opening) -> None:
        """Send the call for which a connection was opened; keep the connection until its call is due."""
        self._flows.reach(opened.route, opened.origin.host_port)
        if opened.placed is None:
            self._exchanges.keep_for_later(connection, opened)
        else:
            self._exchanges.adopt(connection, opened, opened.placed)
        took_ms = (self._clock.monotonic() - opened.began_at) * 1_000
        self._ahead.learn(opened.origin, opened.route, took_ms)

    def _miss(self, call: Call, flow: Flow, reply: Reply) -> None:
        """End a call for which no connection could be opened; a refusal says nothing of its host."""
        self._end(call, flow, reply, reply.is_refused)

    def _ready(self, route: Route, in_ms: float, enough: int) -> int:
        return self._exchanges.idle_then(route, in_ms / 1_000, enough) + self._openings.ahead_to(route)

    def _room_ahead(self, origin: Origin, route: Route) -> int:
        """Return how many connections of a route may idle or be being opened for calls that are not due yet.

        As many as calls could begin. One where a limit says how many calls may begin: only at their moment is it asked.
        """
        app = route[0]
        of_app, of_all = self._openings.ahead_of(app)
        if of_app >= self._most_ahead - of_all or self._has_all_connections:
            return 0
        room = self._flows.room_ahead(route, origin.host_port)
        return room if self._admissions.is_unlimited(app, origin.host_port) else min(room, 1)

    @property
    def _has_all_connections(self) -> bool:
        return len(self._exchanges) + len(self._openings) >= self._limits.connections_total
