"""How many calls may be under way: of one app to one origin, to one host and port, and of one app; and which wait."""

import math
from collections import deque
from itertools import islice
from typing import NamedTuple

from wangtimer.callback.call import Call
from wangtimer.callback.health import TRIED_AGAIN_S, Health, Sign
from wangtimer.callback.reply import Reply
from wangtimer.callback.request import Route
from wangtimer.core.flow.backlog import BACKLOG_SHARE, is_backlog
from wangtimer.core.flow.slicing import WayKey

# An unreachable host holds each call that tries it, and its place among all, for the time to connect. So one call tries
# a host until it has connected.
PLACES_UNTIL_REACHED = 1
# So many calls more than it has places may try a host all of whose places are taken by calls that seem to hang.
MOST_BESIDE = 1
# However many apps have slow targets, each may have so many calls under way.
LEAST_SHARE = 10
# After this time, an ended call counts half as much.
HALF_LIFE_S = 2.0
# Waiting calls among which another URL is looked for.
_LOOKED_AT = 32
# Converts a sum that halves in `HALF_LIFE_S` to ends a second: ln 2 / HALF_LIFE_S.
_A_SECOND = 0.35
# Calls that end within so long count as if they had ended together.
_TOGETHER_S = 0.05


class Throughput:
    """How many calls a second ended lately: `sum` of them, as of `at` (monotonic seconds), each fading since."""

    __slots__ = ("at", "sum")

    def __init__(self) -> None:
        self.sum = 0.0
        self.at = 0.0

    def per_s(self, now: float) -> float:
        """Return the rate; `now` is in monotonic seconds."""
        return self.sum * _A_SECOND * _faded(now - self.at)


def count_end(now: float, *throughputs: Throughput) -> None:
    """Count a call that ended for each of these; `now` is in monotonic seconds."""
    for throughput in throughputs:
        if now - throughput.at > _TOGETHER_S:
            throughput.sum *= _faded(now - throughput.at)
            throughput.at = now
        throughput.sum += 1.0


def _faded(seconds: float) -> float:
    return float(0.5 ** (seconds / HALF_LIFE_S))


class Host:
    """The places that all apps share at one host and port in this process; failures do not change their number."""

    __slots__ = ("apps", "blocked", "most", "name", "running", "throughput", "waiting", "ways")

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.most = most
        self.apps: dict[str, AppAtHost] = {}
        self.running = 0
        self.waiting = 0
        self.throughput = Throughput()
        self.ways: dict[WayKey, Way] = {}
        self.blocked: deque[Flow] = (
            deque()
        )  # flows with a waiting call and places of their own, and none here

    @property
    def free(self) -> int:
        """How many calls may start now."""
        return self.most - self.running


class AppAtHost:
    """The calls of one app to one host and port in this process: few ways, however many apps call it."""

    __slots__ = ("running", "waiting", "ways")

    def __init__(self) -> None:
        self.running = 0
        self.waiting = 0
        self.ways: dict[WayKey, Way] = {}


class Way:
    """The places of one app's calls to a part of one scheme, host and port in this process; `route` is the whole of it.

    They halve when a call is left without a whole answer, and grow by one with each answer, whatever its status. While
    the host is failing one is left, and it *rests* between the calls that try it. So a host that hangs is soon tried by
    one call at a time, every few seconds; a host that recovers has all its places again after as many answers.
    """

    __slots__ = (
        "app",
        "at_host",
        "health",
        "host",
        "is_reached",
        "is_starved",
        "key",
        "part",
        "places",
        "rests",
        "route",
        "running",
        "started_at",
        "stuck",
        "throughput",
        "tried_beside",
        "waiting",
    )

    def __init__(self, host: Host, route: Route, part: str) -> None:
        self.host = host
        self.at_host = host.apps.setdefault(route[0], AppAtHost())  # with the other ways of its app
        self.route = route
        self.part = part
        self.key: WayKey = (route[0], route[1] + part)
        self.at_host.ways[self.key] = host.ways[self.key] = self
        self.health = Health()
        self.places = host.most
        self.rests = False  # it is failing, and the rest after the last try is not known to be over
        self.running = 0
        self.waiting = 0
        self.is_reached = False
        self.is_starved = False  # its calls have waited for long, and none is under way
        self.started_at = float("-inf")  # when its last call began
        self.stuck = 0  # calls under way that hang and take no place
        self.tried_beside = 0  # while it is not reached: calls under way that are no reason not to try
        self.throughput = Throughput()
        self.app: App | None = None  # whose it is, since it had calls last

    @property
    def free(self) -> int:
        """How many calls may start now."""
        return 0 if self.rests else self.free_but_for_rest

    @property
    def free_but_for_rest(self) -> int:
        """How many calls may start once it does not rest."""
        if self.is_reached:
            return min(self.places + self.stuck, self.host.most) - self.running
        return min(self.places, self.tried_beside + PLACES_UNTIL_REACHED) - self.running

    def rests_at(self, now: float) -> bool:
        """Whether the rest after the last try lasts."""
        return self.rests and now - self.started_at < self.health.rest_s

    @property
    def free_at_host(self) -> int:
        """How many calls may start now in view of the others that go to the host.

        * While other apps have calls there: as many as are free, less those under way of all parts of the app that
          answer; one of each part in any case. So the other apps find room.
        * While other parts of the app have: as many as are free, less those under way, if this part fails or hangs.
        * One call may be under way beside the host's places where none was for a while: others' calls may take minutes.
        """
        host = self.host
        number = host.running + host.waiting
        if number == self.running + self.waiting:
            return host.most - host.running + self.stuck
        if self.is_starved and not self.running:
            return 1
        taken, at_host = self.running, self.at_host
        if not self.is_in_trouble:
            if number == at_host.running + at_host.waiting:
                return host.free
            taken = sum(way.running for way in at_host.ways.values() if not way.is_in_trouble)
        return min(host.free, max(1, host.free) - (taken if self.running else 0))

    @property
    def is_in_trouble(self) -> bool:
        """Whether its last call failed, or some seem to hang."""
        return bool(self.health.failures or self.stuck)

    @property
    def is_idle(self) -> bool:
        """Whether no call is here."""
        return not (self.running or self.waiting)

    def ends_per_s(self, now: float) -> float:
        """Return how many calls a second will end soon: as many as did lately, none to count on while it is failing."""
        return 0.0 if self.health.is_failing else self.throughput.per_s(now)

    def may_be_tried_again(self, now: float) -> bool:
        """Whether calls that hang hold all its places, and one more call may try."""
        has_room = self.running < self.host.most and self.running <= self.places + MOST_BESIDE
        is_taken = self.is_reached and self.free_but_for_rest <= 0
        return is_taken and has_room and now - self.started_at >= TRIED_AGAIN_S

    def try_again(self) -> None:
        """Count as many of the calls under way as stuck as leave one place free."""
        self.stuck = self.running - self.places + 1

    def end(self, is_silent: bool) -> None:
        """Learn that a call ended; one without an answer counts as one that was stuck."""
        self.stuck = max(0, self.stuck - 1) if is_silent else min(self.stuck, self.running)

    def lose(self) -> None:
        """Give it one place until it is reached, beside the calls under way, which may be slow."""
        self.tried_beside = min(self.tried_beside, self.running) if not self.is_reached else self.running
        self.is_reached = False

    def learn(self, sign: Sign, now: float, reply: Reply) -> None:
        """Learn what a call's end says; failures that come together halve the places once."""
        if sign is Sign.ANSWERED:
            self.health.answer(now)
            self.rests = False
            self.places = min(self.host.most, self.places + 1)
        elif sign is not Sign.NOT_ASKED:
            if self.health.fail(now, reply.shown_error) and sign is Sign.SILENT:
                self.places = max(1, self.places // 2)
            if self.health.is_failing:
                self.places, self.rests = 1, True


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


class Waiting(NamedTuple):
    """A call that has come due and waits for a place; `since` when, in monotonic seconds."""

    call: Call
    since: float


class Flow:
    """One app's calls to a part of one scheme, host and port that wait for a place, the late ones apart."""

    __slots__ = ("_taken", "app", "backlog", "line", "queue", "to")

    def __init__(self, app: App, to: Way) -> None:
        self.app = app
        self.to = to
        self.queue: deque[Waiting] = deque()
        self.backlog: deque[Waiting] = deque()
        self.line: deque[Flow] | None = (
            None  # the round, or blocked; None also while its own places are taken
        )
        self._taken = 0

    @property
    def host(self) -> str:
        """The host and port it leads to."""
        return self.to.host.name

    @property
    def has_waiting(self) -> bool:
        """Whether some call waits."""
        return bool(self.queue or self.backlog)

    @property
    def waits_since(self) -> float:
        """Since when the longest waiting call waits."""
        return min((line[0].since for line in (self.backlog, self.queue) if line), default=math.inf)

    def take_oldest(self) -> Waiting:
        """Take out the longest waiting call."""
        return (self.backlog or self.queue).popleft()

    def take_latest(self) -> Waiting:
        """Take out the call that came last."""
        return (self.queue or self.backlog).pop()

    def try_another(self, url: str) -> None:
        """After a call that failed, put one to another URL first, of those that wait longest: it may be answered."""
        line = self.queue or self.backlog
        for place, waiting in enumerate(islice(line, _LOOKED_AT)):
            if waiting.call.request.url != url:
                if place:
                    del line[place]
                    line.appendleft(waiting)
                return

    def take_first(self, now_ms: float) -> Waiting:
        """Take out the next call: one of the backlog if nothing else waits, and one now and then."""
        self._taken += 1
        while self.queue and is_backlog(self.queue[0].call.due_at_ms, now_ms):
            self.backlog.append(self.queue.popleft())
        if self.backlog and (not self.queue or self._taken % BACKLOG_SHARE == 0):
            return self.backlog.popleft()
        return self.queue.popleft()


def share_of(connections: int, running: int) -> int:
    """Return how many calls one app may have under way: as many as are free, so that a single app gets half."""
    return max(LEAST_SHARE, connections - running)
