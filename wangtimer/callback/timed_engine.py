"""The thread of an engine: each call begins at its exact moment, once it has a place and its permits."""

import heapq
import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from threading import Thread

from wangtimer.callback.admissions import Admission, Admissions
from wangtimer.callback.call import Call
from wangtimer.callback.flows import Flows
from wangtimer.callback.health import Health
from wangtimer.callback.inbox import Inbox
from wangtimer.callback.limits import Limits
from wangtimer.callback.permits import PermitAnswer, Permits
from wangtimer.callback.places import Flow, Waiting
from wangtimer.callback.reply import Reply
from wangtimer.callback.sockets import Sockets
from wangtimer.core.errors import WangTimerError
from wangtimer.core.flow.slicing import SharedLane, WayKey
from wangtimer.core.time.clock import Clock

_logger = logging.getLogger(__name__)

# A call that is sent with little time left is cut before its answer, and then sent again as a retry. So the last tenth
# of a call's time is not for waiting. Calls that would wait longer wait outside this process.
_WAITING_SHARE = 0.9
_LOOK_FOR_CROWDS_S = 0.05
# A look goes through all flows in which calls wait: with 5,000 hosts it takes 40 ms of the one thread. Looks may take
# up to a tenth of the thread.
_REST_OF_A_LOOK = 10
# The deployment's clock is measured again now and then, and may jump ahead during a long rest.
_LONGEST_REST_S = 0.1
# The rest when there is nothing to do; any submitted call ends it.
_IDLE_REST_S = 60.0
# Calls taken between two looks at the sockets, so that a burst (1.5 µs a call here) does not hold up answers.
_MOST_RIPE_AT_ONCE = 5_000
_PAUSE_AFTER_FAULT_S = 0.01
_NAP_S = 0.001
# A look at the sockets counts as one of now for so long.
_FRESH_S = 0.001


class EngineStopped(WangTimerError):
    """The delivery engine takes no calls any more, because this process stops; another one will send them."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Calls the engine has: `waiting` for their moment or a connection, and `in_flight`."""

    waiting: int
    in_flight: int


class TimedEngine:
    """Begins calls at their moments, and tells their results; how a call is made, a subclass says.

    Any thread may `submit`, best before the moment. One daemon thread does the rest. Nothing is sent early. A call of
    an app with a limit is sent when it has its place and a permit: `permits` gives those.
    """

    _thread_name: str

    def __init__(self, clock: Clock, limits: Limits, permits: Permits) -> None:
        self._clock = clock
        self._limits = limits
        self._timeout_s = limits.timeout_ms / 1000
        self._inbox = Inbox()
        self._admissions = Admissions(permits, self._inbox.wake, limits)
        self._to_come: list[tuple[float, int, Call]] = []  # a heap by moment, then by arrival
        self._arrivals = count()
        self._flows = Flows(limits.connections_per_host, limits.connections_total)
        self._look_for_crowds_at = 0.0
        self._watched_at = 0.0
        self._stop_at = math.inf
        self._left: list[Call] = []
        self._sockets = Sockets(self._inbox.wake_fd)
        self._thread = Thread(target=self._run, name=self._thread_name, daemon=True)

    def _prepare(self, call: Call, in_s: float) -> None:
        """Learn of a call so many seconds before its moment."""
        raise NotImplementedError

    def _begin(self, call: Call, flow: Flow, deadline_at: float) -> None:
        """Make a call that has its place; a place that it waited for was to come by `deadline_at`."""
        raise NotImplementedError

    def _act(self) -> None:
        """Go on with the calls under way."""
        raise NotImplementedError

    def _acts_at(self) -> float:
        """Return when `_act` is needed at the latest, by the stop-watch."""
        raise NotImplementedError

    def _cut_off(self) -> Iterable[tuple[Call, bool]]:
        """End the calls under way; return each, and whether nothing of it was sent."""
        raise NotImplementedError

    def start(self) -> None:
        """Start sending; once."""
        self._thread.start()

    def submit(self, calls: Iterable[Call]) -> None:
        """Take calls to send at their moments, or at once if those are past; EngineStopped after `stop`."""
        if not self._inbox.put(calls):
            raise EngineStopped("the delivery engine is stopped and took none of these calls; put them back")

    def stop(self, timeout_s: float) -> list[Call]:
        """Take no more calls; return those not sent, after the calls under way have ended; once.

        Calls that have not ended after `timeout_s` are cut off and returned too: others may make them anew. A listener
        must not call it.
        """
        self._stop_at = self._clock.monotonic() + timeout_s
        self._inbox.close()
        if self._thread.is_alive():
            self._thread.join(timeout_s + 1)
        if not self._thread.is_alive():  # else a listener has not returned: leave the thread what it uses
            self._inbox.release()
        return self._left + self._inbox.take()

    @property
    def counts(self) -> Counts:
        """How many calls are here now."""
        waiting = len(self._inbox) + len(self._to_come) + self._flows.waiting
        return Counts(waiting=waiting, in_flight=self._flows.running)

    @property
    def has_calls_waiting(self) -> bool:
        """Whether calls have come due and wait for a connection."""
        return self._flows.waiting > 0

    def room_in(self, lane: SharedLane) -> int:
        """Return how many more calls of a lane could start at once."""
        return self._flows.room_in(lane, self._clock.monotonic())

    def failing(self) -> dict[WayKey, Health]:
        """Return what is failing now, for an app's calls each. Any thread may ask."""
        return self._flows.failing()

    def health_of(self, key: WayKey) -> Health | None:
        """Return the health of a part of a host for an app's calls; None if it has none. Any thread may ask."""
        return self._flows.health_of(key)

    def _run(self) -> None:
        while self._stop_at == math.inf or not self._is_over():
            try:
                self._turn()
            except Exception:
                _logger.exception("callback.turn_failed")
                self._clock.sleep(_PAUSE_AFTER_FAULT_S)
        self._close()

    def _turn(self) -> None:
        """Send what is due, rest until something happens, and tell what has ended."""
        self._take_in()
        self._ripen()
        if self._stop_at < math.inf:
            self._drop_unsent()
        if self._flows.waiting:
            self._make_room()
        self._start_ripe()
        self._act()
        self._rest()

    def _take_in(self) -> None:
        calls = self._inbox.take()
        now_ms = self._clock.now_ms() if calls else 0.0
        for call in calls:
            heapq.heappush(self._to_come, (call.due_at_ms, next(self._arrivals), call))
            try:
                self._prepare(call, (call.due_at_ms - now_ms) / 1_000)
            except Exception:
                # It fails once more at its moment; the others of the batch must not be lost for it.
                _logger.exception("callback.not_prepared")
        for asked, answer in self._admissions.answers():
            self._go_on(asked, answer)

    def _is_call_due(self, in_ms: float) -> bool:
        """Tell whether some call may begin now, or comes due within so many ms."""
        is_ripe = bool(self._to_come) and self._to_come[0][0] <= self._clock.now_ms() + in_ms
        return is_ripe or self._flows.can_send

    def _ripen(self) -> None:
        """Let the calls whose moment has come join their flows."""
        to_come = self._to_come
        if not to_come:
            return
        now_ms = self._clock.now_ms()
        now = self._clock.monotonic()
        for _ in range(_MOST_RIPE_AT_ONCE):
            if not to_come or to_come[0][0] > now_ms:
                return
            call = heapq.heappop(to_come)[2]
            if call.permits:
                self._admissions.note_ripe(call)
            self._flows.join(Waiting(call, now))

    def _start_ripe(self) -> None:
        """Send the calls that have a place, and a permit if they need one."""
        flows = self._flows
        if flows.can_send:
            # Learn which idle connections are dead before a request is written into one.
            if self._clock.monotonic() - self._watched_at > _FRESH_S:
                self._watch()
            now_ms, now = self._clock.now_ms(), self._clock.monotonic()
            while flows.can_send:
                flow, waiting = flows.take(now_ms, now)
                call, deadline_at = waiting.call, waiting.since + self._timeout_s
                if self._admissions.is_admitted(call, now):
                    self._start(flow, call, deadline_at)
                else:
                    self._admissions.ask(Admission(call, flow, deadline_at))
        self._admissions.give_back_without_place()

    def _go_on(self, asked: Admission, answer: PermitAnswer) -> None:
        """Send a call that got its permits; send away one that did not."""
        call, flow, deadline_at = asked
        if isinstance(answer, tuple):
            call.permits = answer
            self._start(flow, call, deadline_at)
        elif answer is None:
            self._end(call, flow, None, True)
        else:
            self._flows.leave(flow, self._clock.monotonic(), None, is_unreachable=False)
            _tell(call.on_no_room, call, answer)

    def _start(self, flow: Flow, call: Call, deadline_at: float) -> None:
        fault = call.request.fault
        if fault:
            reply = Reply(self._clock.now_ms(), 0.0, None, "", f"not sent: {fault}", was_sent=False)
            self._end(call, flow, reply, True)
        else:
            self._begin(call, flow, deadline_at)

    def _end(self, call: Call, flow: Flow, reply: Reply | None, is_reachable: bool) -> None:
        """Free the call's place, give back its permit, and tell its listener the result."""
        now = self._clock.monotonic()
        if reply is not None and flow.to.health.was_ever_failing:
            reply = self._flows.with_wait(flow, call, reply, self._clock.now_ms(), now)
            if flow.to.health.is_failing:
                flow.try_another(call.request.url)
        self._flows.leave(flow, now, reply, is_unreachable=not is_reachable)
        if call.permits:
            self._admissions.give_back(call, is_unused=reply is None)
        if reply is None:
            _tell(call.on_held_back, call)
        else:
            _tell(call.on_reply, call, reply)

    def _make_room(self) -> None:
        """Send away the calls that would wait here for too long."""
        now = self._clock.monotonic()
        if now < self._look_for_crowds_at:
            return
        self._flows.try_again(now)
        for lane, waiting in self._flows.crowded_out(now, self._timeout_s * _WAITING_SHARE):
            _tell(waiting.call.on_no_room, waiting.call, lane)
        self._look_for_crowds_at = next_look_at(now, self._clock.monotonic())

    def _rest(self) -> None:
        """Wait for sockets, a submitted call or the next moment, whichever is first; see to what is ready.

        In a rest of less than `_NAP_S` answers wait for its end: each time the thread wakes costs 50 µs or more.
        """
        rest_s = self._rest_s()
        if rest_s <= 0 or not self._inbox.begin_rest(self._clock.now_ms() + rest_s * 1000):
            self._watch()
            return
        if rest_s < _NAP_S:
            self._clock.sleep(rest_s)
            is_any_ready = True  # it may be
        else:
            is_any_ready = self._sockets.wait(rest_s)
        self._inbox.end_rest()
        if is_any_ready:
            self._watch()
        else:
            self._watched_at = self._clock.monotonic()

    def _watch(self) -> None:
        """See to the sockets that are ready now."""
        self._watched_at = self._clock.monotonic()
        if self._sockets.drive():
            self._inbox.drain_wake()

    def _rest_s(self) -> float:
        """Return how long the thread may rest if no socket and no other thread wakes it."""
        if self._flows.can_send:
            return 0.0
        until = min(self._stop_at, self._acts_at())
        rest_s = min(_IDLE_REST_S, until - self._clock.monotonic())
        if self._flows.waiting:
            rest_s = min(rest_s, _LOOK_FOR_CROWDS_S)
        if self._to_come:
            rest_s = min(rest_s, (self._to_come[0][0] - self._clock.now_ms()) / 1000, _LONGEST_REST_S)
        return rest_s

    def _is_over(self) -> bool:
        return self._clock.monotonic() >= self._stop_at or not self.counts.waiting + self.counts.in_flight

    def _drop_unsent(self) -> None:
        self._left += [call for _, _, call in sorted(self._to_come)]
        self._to_come.clear()
        self._left += self._flows.clear()
        now = self._clock.monotonic()
        for call, flow, _ in self._admissions.drop():
            self._flows.leave(flow, now, None, is_unreachable=False)
            self._left.append(call)
        for call in self._left:
            self._admissions.give_back(call, is_unused=True)

    def _close(self) -> None:
        self._take_in()
        self._drop_unsent()
        for call, is_unused in self._cut_off():
            self._admissions.give_back(call, is_unused=is_unused)
            self._left.append(call)
        self._sockets.close()


def _tell(listener: Callable[..., None], *what: object) -> None:
    try:
        listener(*what)
    except Exception:
        _logger.exception("callback.listener_raised")


def next_look_at(began_at: float, ended_at: float) -> float:
    """Return when to look again, s of a stop-watch: a rest in proportion to the look of `began_at` to `ended_at`."""
    return began_at + max(_LOOK_FOR_CROWDS_S, _REST_OF_A_LOOK * (ended_at - began_at))
