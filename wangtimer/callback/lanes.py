"""Whose turn it is: each host has a lane of its own with so many places, and lanes with room take turns."""

import math
from collections import deque
from typing import NamedTuple

from wangtimer.callback.call import Call
from wangtimer.core.backlog import BACKLOG_SHARE, CROWD, CROWD_SHARE, is_backlog

# A host that cannot be reached holds each call that tries for the time to connect, and that call's place among all.
# So a host is tried by one call until that has connected.
_PLACES_UNTIL_REACHED = 1
_MOST_REACHED = 10_000  # hosts remembered; then learnt anew


class Waiting(NamedTuple):
    """A call that has come due and waits for a place `since` then, in monotonic seconds."""

    call: Call
    since: float


class Lane:
    """The calls to one host: how many are under way, of how many places, and who waits, the late ones apart."""

    __slots__ = ("_taken", "backlog", "host", "is_in_round", "places", "queue", "running")

    def __init__(self, host: str, places: int) -> None:
        self.host = host
        self.places = places
        self.running = 0
        self.queue: deque[Waiting] = deque()
        self.backlog: deque[Waiting] = deque()
        self.is_in_round = False
        self._taken = 0

    def take_first(self, now_ms: float) -> Waiting:
        """Take out the call whose turn it is: one of the backlog where nothing else waits, and now and then.

        Behind a crowd it is the last of the others now and then, so that what comes due after it is not held up.
        """
        self._taken += 1
        while self.queue and is_backlog(self.queue[0].call.due_at_ms, now_ms):
            self.backlog.append(self.queue.popleft())
        if self.backlog and (not self.queue or self._taken % BACKLOG_SHARE == 0):
            return self.backlog.popleft()
        if len(self.queue) >= CROWD and self._taken % CROWD_SHARE == 1:  # a turn that is not the backlog's
            return self.queue.pop()
        return self.queue.popleft()


class Lanes:
    """All lanes of an engine, and the caps they keep. Pure: no clock, no I/O; one thread."""

    def __init__(self, places_per_host: int, places_total: int) -> None:
        self._places_per_host = places_per_host
        self._places_total = places_total
        self._reached: set[str] = set()
        self._lanes: dict[str, Lane] = {}
        self._round: deque[Lane] = deque()  # lanes with a waiting call and a free place, each once
        self.running = 0
        self.waiting = 0

    @property
    def can_send(self) -> bool:
        """Tell whether some call may start now."""
        return bool(self._round) and self.running < self._places_total

    def join(self, waiting: Waiting) -> None:
        """Put a call at the end of its host's lane."""
        host = waiting.call.request.host
        lane = self._lanes.get(host)
        if lane is None:
            places = self._places_per_host if host in self._reached else _PLACES_UNTIL_REACHED
            lane = self._lanes[host] = Lane(host, places)
        lane.queue.append(waiting)
        self.waiting += 1
        self._let_in_round(lane)

    def take(self, now_ms: float) -> tuple[Lane, Waiting]:
        """Give a place to the first of the lane whose turn it is; only while `can_send`.

        A call that is late by now (`now_ms`: the deployment's clock) goes behind those that may still be on time.
        """
        lane = self._round.popleft()
        lane.is_in_round = False
        waiting = lane.take_first(now_ms)
        self.waiting -= 1
        lane.running += 1
        self.running += 1
        self._let_in_round(lane)
        return lane, waiting

    def open_wide(self, lane: Lane) -> None:
        """Give a host its full share, because a connection to it is open."""
        if lane.places == self._places_per_host:
            return
        if len(self._reached) >= _MOST_REACHED:
            self._reached.clear()
        self._reached.add(lane.host)
        lane.places = self._places_per_host
        self._let_in_round(lane)

    def leave(self, lane: Lane, *, is_unreachable: bool) -> None:
        """Free the place of a call that ended; an unreachable host gets one place until it is reached.

        Calls that are under way there are no reason to wait: one more may try beside them.
        """
        lane.running -= 1
        self.running -= 1
        if is_unreachable:
            self._reached.discard(lane.host)
            lane.places = min(lane.places, lane.running + _PLACES_UNTIL_REACHED)
        self._let_in_round(lane)
        self._forget_if_idle(lane)

    def give_up(self, since: float) -> list[Waiting]:
        """Take out, and return, the calls that have waited since then or longer."""
        overdue: list[Waiting] = []
        for lane in list(self._lanes.values()):
            for waiting in (lane.queue, lane.backlog):
                while waiting and waiting[0].since <= since:
                    overdue.append(waiting.popleft())
            self._settle_emptied(lane)
        self.waiting -= len(overdue)
        return overdue

    def clear(self) -> list[Call]:
        """Take out, and return, every waiting call."""
        return [waiting.call for waiting in self.give_up(math.inf)]

    def _let_in_round(self, lane: Lane) -> None:
        if (lane.queue or lane.backlog) and not lane.is_in_round and lane.running < lane.places:
            lane.is_in_round = True
            self._round.append(lane)

    def _settle_emptied(self, lane: Lane) -> None:
        if lane.is_in_round and not (lane.queue or lane.backlog):
            lane.is_in_round = False
            self._round.remove(lane)
        self._forget_if_idle(lane)

    def _forget_if_idle(self, lane: Lane) -> None:
        if not (lane.running or lane.queue or lane.backlog):
            del self._lanes[lane.host]
