"""Chooses the next call: each app has a flow to each part of a host, and flows with room take turns (fair queueing)."""

from collections import deque
from itertools import islice

from wangtimer.callback.call import Call
from wangtimer.callback.health import Health, Sign, sign_of
from wangtimer.callback.places import (
    PLACES_UNTIL_REACHED,
    App,
    Flow,
    Host,
    Waiting,
    Way,
    count_end,
    share_of,
)
from wangtimer.callback.reply import Reply
from wangtimer.callback.request import Request, Route
from wangtimer.core.flow.slicing import SharedLane, WayKey

# So many calls of a host, or of an app that has its share, may always wait in the process.
FEW = 20
# A host's first answers come within this; before, it is not known how many calls it takes.
PATIENCE_S = 1.0
# A host's calls are pulled so far ahead: from a place that comes free until the call pulled for it takes so long.
PULL_S = 0.02
# So many parts of a host are judged by themselves for an app; what is called beyond them is one more.
MOST_PARTS = 16
# A part that nobody calls is one of these for so long after its last failure. One-shots with an id in the first segment
# would hold all of them for good.
FAILURE_COUNTS_S = 600.0
# At so many ways, those without calls are forgotten. If more than half remain, the next look comes at twice the number
# that remained: so each new way costs at most two looks at a way.
_MOST_WAYS = 10_000


class Flows:
    """All flows of an engine, and the caps they keep. Pure: no clock, no I/O; one thread.

    * An app has `places_per_host` places at a host, fewer while its calls there fail, one while the host is failing.
      All apps together have as many.
    * An app has as many of all connections as are free. So another app's calls start at once, however many targets of
      one app hang.
    * A host has as many of its app's share as are free of that. So an app's calls to its other targets start at once,
      however many of its targets are slow.
    * Each part of a host is failing, and is tried, by itself.
    """

    def __init__(self, places_per_host: int, places_total: int) -> None:
        self._places_per_host = places_per_host
        self._places_total = places_total
        self._hosts: dict[str, Host] = {}
        self._ways: dict[WayKey, Way] = {}
        self._most_ways = _MOST_WAYS
        self._failing: dict[WayKey, Way] = {}
        self._apps: dict[str, App] = {}
        self._blocked_apps: dict[str, App] = {}
        self._flows: dict[WayKey, Flow] = {}
        self._round: deque[Flow] = deque()  # flows with a waiting call that may have room, each once
        self.running = 0
        self.waiting = 0

    @property
    def can_send(self) -> bool:
        """Tell whether some call may start now; its flow is then the first of the round."""
        if self.running >= self._places_total:
            return False
        while self._round or (self._blocked_apps and self._let_in_one_blocked()):
            flow = self._round[0]
            way = flow.to
            if way.free <= 0:
                self._stand(flow, None)
            elif way.free_at_host <= 0:
                self._stand(flow, way.host.blocked)
            elif way.running >= self._free_of(flow.app):
                self._stand(flow, flow.app.blocked)
                self._blocked_apps[flow.app.name] = flow.app
                self._let_in(way.host)
            else:
                return True
        return False

    def join(self, waiting: Waiting) -> None:
        """Put a call at the end of its flow."""
        request = waiting.call.request
        flow = self._flows.get(request.way) or self._flow(request, waiting.since)
        flow.queue.append(waiting)
        self._count_waiting(flow, 1)
        if flow.line is None:
            self._stand(flow, self._round)

    def take(self, now_ms: float, now: float) -> tuple[Flow, Waiting]:
        """Give a place to the next call; only call this right after `can_send` was true.

        A call that is late by now (`now_ms`: the deployment's clock) goes after those that may still be on time.
        """
        flow = self._round[0]
        waiting = flow.take_first(now_ms)
        self._count_waiting(flow, -1)
        self._count_running(flow, 1)
        flow.to.started_at, flow.to.is_starved = now, False
        self._stand(flow, self._round if flow.has_waiting else None)
        return flow, waiting

    def open_wide(self, flow: Flow) -> None:
        """Give a flow all its places, because a connection is open."""
        if not flow.to.is_reached:
            flow.to.is_reached = True
            self._go_on(flow)

    def reach(self, route: Route, host: str) -> None:
        """Give the calls of a route all their places, because a connection is open, perhaps before any of them came."""
        for way in self._ways_of(route, host) or [self._way(route, "", host, 0.0)]:
            way.is_reached = True
            flow = self._flows.get(way.key)
            if flow is not None:
                self._go_on(flow)

    def room_ahead(self, route: Route, host: str) -> int:
        """Return how many calls of a route could begin if they were due now; none while all it calls is failing."""
        ways = self._ways_of(route, host)
        if not ways:
            return PLACES_UNTIL_REACHED
        healthy = (way for way in ways if not way.health.is_failing)
        return max(0, max((min(way.free, way.free_at_host) - way.waiting for way in healthy), default=0))

    def leave(self, flow: Flow, now: float, reply: Reply | None, *, is_unreachable: bool) -> None:
        """Free the place of a call that ended; `reply` is None if it was not sent at all.

        If the host is unreachable, the flow gets one place beside the calls under way, until the host is reached.
        """
        self._count_running(flow, -1)
        sign = Sign.NOT_ASKED if reply is None else sign_of(reply)
        flow.to.end(is_silent=sign is Sign.SILENT)
        if is_unreachable:
            flow.to.lose()
        if reply is not None:
            count_end(now, flow.to.throughput, flow.to.host.throughput, flow.app.throughput)
            flow.to.learn(sign, now, reply)
            if self._failing or flow.to.health.failures:
                self._note_health(flow)
        self._go_on(flow)
        if flow.to.host.blocked:
            self._let_in(flow.to.host)
        if self._blocked_apps:
            self._let_in_one_blocked()
        self._forget_if_idle(flow)

    def with_wait(self, flow: Flow, call: Call, reply: Reply, now_ms: float, now: float) -> Reply:
        """Return a reply that says how long its host was failing while its call waited.

        Call it before `leave`; `now_ms` and `now` are the same moment by the deployment's clock and the stop-watch.
        """
        due_at, sent_at = (now - (now_ms - at_ms) / 1_000 for at_ms in (call.due_at_ms, reply.sent_at_ms))
        failing_ms = round(1_000 * flow.to.health.failing_within(due_at, sent_at))
        return reply._replace(host_failing_ms=failing_ms) if failing_ms else reply

    def health_of(self, key: WayKey) -> Health | None:
        """Return the health of a part of a host for an app's calls; None if it has none. Any thread may ask."""
        way = self._ways.get(key)
        return None if way is None else way.health

    def failing(self) -> dict[WayKey, Health]:
        """Return what is failing now. Any thread may ask."""
        return {key: way.health for key, way in list(self._failing.items())}

    def try_again(self, now: float) -> None:
        """Let in one more call of each flow whose calls have hung for a while, or whose rest is over.

        And the first call of each that others have left no place at its host for a while.
        """
        for flow in self._flows.values():
            if not flow.has_waiting:
                continue
            if flow.to.rests and not flow.to.rests_at(now):
                flow.to.rests = False
                self._go_on(flow)
            if flow.to.may_be_tried_again(now):
                flow.to.try_again()
                self._go_on(flow)
            is_blocked = flow.line is flow.to.host.blocked and not flow.to.running
            if is_blocked and flow.waits_since <= now - PATIENCE_S:
                flow.to.is_starved = True
                self._stand(flow, self._round)

    def crowded_out(self, now: float, longest_wait_s: float) -> list[tuple[SharedLane, Waiting]]:
        """Take out and return the calls that would wait longer than `longest_wait_s`, each with its lane.

        The wait follows from the rate at which calls ended lately. In the first `PATIENCE_S` that rate is not known.
        `FEW` calls always stay.
        """
        out: list[tuple[SharedLane, Waiting]] = []
        for app in list(self._blocked_apps.values()):
            if self._free_of(app) > 0:
                continue  # only some of its hosts have all they may have
            lane = SharedLane.of_app(app.name)
            too_many = app.waiting - max(FEW, int(app.throughput.per_s(now) * longest_wait_s))
            out += self._thin_out(list(app.blocked), too_many, now, longest_wait_s, lane)
        for flow in list(self._flows.values()):
            if flow.to.waiting > FEW or flow.waits_since <= now - longest_wait_s:
                too_many = flow.to.waiting - max(FEW, int(flow.to.ends_per_s(now) * longest_wait_s))
                lane = SharedLane.of_way(flow.app.name, flow.host, flow.to.part)
                out += self._thin_out([flow], too_many, now, longest_wait_s, lane)
        return out

    def room_in(self, lane: SharedLane, now: float) -> int:
        """Return how many more calls could start at once here; any thread may ask."""
        free = self._places_total - self.running - self.waiting
        kind, _, name = (lane.paused or lane.shown).partition(":")
        if kind in ("all", "timer"):
            return max(0, min(free, share_of(self._places_total, self.running) - self.waiting))
        if kind in ("app", "limit"):
            app = self._apps.get(name)
            in_app = share_of(self._places_total, self.running) - (app.running + app.waiting if app else 0)
            return max(0, min(free, in_app))
        host = self._hosts.get(lane.host or name)
        ways = {} if host is None else dict(host.ways)
        if lane.app is not None:
            at_host = None if host is None else host.apps.get(lane.app)
            ways_there = [] if at_host is None else list(at_host.ways.values())
            if not lane.is_of_limit:
                ways_there = [way for way in ways_there if way.part == lane.part]
            busy = [way for way in ways_there if not way.is_idle]
            rooms = [self._room_on(way, now) for way in busy or ways_there] or [PLACES_UNTIL_REACHED]
            # A pulled call may be of any of them. Of a limit it takes a permit along, so one that has room is enough.
            room = max(rooms) if lane.is_of_limit else min(rooms)
        elif host is None or lane.is_of_limit:
            # Whose call is pulled nobody knows. It takes a permit along, so somebody is to have a place.
            room = max((self._room_on(way, now) for way in ways.values()), default=PLACES_UNTIL_REACHED)
        else:
            # Whoever finds no place goes on to the lane of its app there.
            room = self._room_at(host, now)
        return max(0, min(free, room))

    def clear(self) -> list[Call]:
        """Take out, and return, every waiting call."""
        cleared = []
        for flow in list(self._flows.values()):
            waiting = [*flow.backlog, *flow.queue]
            flow.backlog.clear()
            flow.queue.clear()
            self._settle_emptied(flow, len(waiting))
            cleared += [queued.call for queued in waiting]
        return cleared

    def _thin_out(
        self, flows: list[Flow], too_many: int, now: float, longest_wait_s: float, lane: SharedLane
    ) -> list[tuple[SharedLane, Waiting]]:
        """Take out the calls that have waited too long, then the latest of those that are too many."""
        out: list[Waiting] = []
        is_patience_over = any(flow.waits_since <= now - PATIENCE_S for flow in flows)
        for flow in flows:
            before = len(out)
            while flow.has_waiting and flow.waits_since <= now - longest_wait_s:
                out.append(flow.take_oldest())
            while is_patience_over and flow.has_waiting and len(out) < too_many:
                out.append(flow.take_latest())
            if len(out) > before:
                self._settle_emptied(flow, len(out) - before)
        return [(lane, queued) for queued in out]

    def _room_on(self, way: Way, now: float) -> int:
        # However many places other apps take: some of this one's calls wait here, and get their turns.
        at_host = max(way.host.free + way.stuck, FEW)
        free = 0 if way.rests_at(now) else way.free_but_for_rest
        places = 1 if way.may_be_tried_again(now) else min(free, at_host)
        if way.app is not None:
            places = min(places, self._free_of(way.app) - way.running)
        return places - way.waiting + int(way.ends_per_s(now) * PULL_S)

    def _room_at(self, host: Host, now: float) -> int:
        if not any(way.is_reached for way in host.ways.values()):
            return PLACES_UNTIL_REACHED - host.waiting
        free = host.free + sum(way.stuck for way in host.ways.values())
        return free - host.waiting + int(host.throughput.per_s(now) * PULL_S)

    def _flow(self, request: Request, now: float) -> Flow:
        way = self._ways.get(request.way) or self._way(request.route, request.part, request.host, now)
        flow = self._flows.get(way.key)
        if flow is None:
            flow = self._flows[way.key] = Flow(self._app(request.app), way)
            way.app = flow.app
        return flow

    def _way(self, route: Route, part: str, host: str, now: float) -> Way:
        """Return a way for a part; that of all others where the app has too many ways to the host."""
        if part and not self._has_room_for_part(route, host, now):
            part = ""
        way = self._ways.get((route[0], route[1] + part))
        if way is None:
            if len(self._ways) >= self._most_ways:
                self._forget_idle_ways()
                self._most_ways = max(_MOST_WAYS, 2 * len(self._ways))
            way = Way(self._host(host), route, part)
            # A connection serves all parts.
            way.is_reached = any(other.is_reached for other in self._ways_of(route, host))
            self._ways[way.key] = way
        return way

    def _ways_of(self, route: Route, host: str) -> list[Way]:
        return [way for way in self._ways_at_host(route, host) if way.route == route]

    def _ways_at_host(self, route: Route, host: str) -> list[Way]:
        at_host = self._hosts[host].apps.get(route[0]) if host in self._hosts else None
        return [] if at_host is None else list(at_host.ways.values())

    def _has_room_for_part(self, route: Route, host: str, now: float) -> bool:
        """Tell whether the app may have one more way to the host; for it, idle ones that did not fail are forgotten."""
        ways = self._ways_at_host(route, host)
        if len(ways) < MOST_PARTS:
            return True
        idle = [way for way in ways if way.is_idle and not way.health.failed_since(now - FAILURE_COUNTS_S)]
        if len(ways) - len(idle) >= MOST_PARTS:
            return False
        for way in idle:
            self._forget(way)
        return True

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, self._places_per_host)
        return host

    def _forget_idle_ways(self) -> None:
        for way in list(self._ways.values()):
            if way.is_idle:
                self._forget(way)

    def _forget(self, way: Way) -> None:
        del self._ways[way.key], way.host.ways[way.key], way.at_host.ways[way.key]
        self._failing.pop(way.key, None)
        if not way.at_host.ways:
            del way.host.apps[way.route[0]]
        if not way.host.ways:
            del self._hosts[way.host.name]

    def _app(self, name: str) -> App:
        app = self._apps.get(name)
        if app is None:
            app = self._apps[name] = App(name)
        return app

    def _free_of(self, app: App) -> int:
        return share_of(self._places_total, self.running) - app.running

    def _count_waiting(self, flow: Flow, number: int) -> None:
        flow.to.waiting += number
        flow.to.at_host.waiting += number
        flow.to.host.waiting += number
        flow.app.waiting += number
        self.waiting += number

    def _count_running(self, flow: Flow, number: int) -> None:
        flow.to.running += number
        flow.to.at_host.running += number
        flow.to.host.running += number
        flow.app.running += number
        self.running += number

    def _note_health(self, flow: Flow) -> None:
        if flow.to.health.is_failing:
            self._failing[flow.to.key] = flow.to
        else:
            self._failing.pop(flow.to.key, None)
            # The others have the key of the whole host. That is disabled only if no part of it answered for days.
            others = self._failing.get(flow.to.route)
            if others is not None:
                others.health.count_anew(flow.to.health.answered_at)

    def _stand(self, flow: Flow, line: deque[Flow] | None) -> None:
        """Move a flow to the end of a line, or out of them."""
        if flow.line is not None:
            if flow.line[0] is flow:
                flow.line.popleft()
            else:
                flow.line.remove(flow)
        flow.line = line
        if line is not None:
            line.append(flow)

    def _let_in(self, host: Host) -> None:
        """Let only as many flows back in as the host has free places: more would only be blocked again."""
        if host.blocked and host.free > 0:
            # Few flows have all their share of the host: the parts of such an app have as many calls as are free.
            able = (flow for flow in host.blocked if flow.to.free_at_host > 0)
            for flow in list(islice(able, host.free)):
                self._stand(flow, self._round)

    def _go_on(self, flow: Flow) -> None:
        """Let a flow back in, since it may have a place of its own again."""
        if flow.line is None and flow.has_waiting:
            self._stand(flow, self._round)

    def _let_in_one_blocked(self) -> bool:
        """Let one flow back in that waits for its app's share, if there is some for it now."""
        for app in list(self._blocked_apps.values()):
            free = self._free_of(app)
            # This search is short: few flows have at least as many calls under way as are free.
            flow = (
                next((other for other in app.blocked if other.to.running < free), None) if free > 0 else None
            )
            if not app.blocked:
                del self._blocked_apps[app.name]
            elif flow is not None:
                self._stand(flow, self._round)
                return True
        return False

    def _settle_emptied(self, flow: Flow, taken: int) -> None:
        self._count_waiting(flow, -taken)
        if not flow.has_waiting:
            self._stand(flow, None)
            self._let_in(flow.to.host)
        self._forget_if_idle(flow)

    def _forget_if_idle(self, flow: Flow) -> None:
        if not (flow.to.running or flow.has_waiting):
            self._flows.pop(flow.to.key, None)
            if flow.app.is_idle:
                self._apps.pop(flow.app.name, None)
