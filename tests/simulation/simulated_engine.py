"""The delivery engine in the simulation: the contract of `wangtimer.callback`, with targets that answer by chance."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

from tests.simulation.simulator import Process, Simulation
from wangtimer.callback import Call, EngineStopped, Reply, Request
from wangtimer.callback.permits import PermitAnswer, Permits
from wangtimer.core.flow.slicing import SharedLane


@dataclass(frozen=True, slots=True)
class Answer:
    """What a target answers, and after how long (`inf`: never); `asked_s` is its Retry-After, None without one."""

    http_status: int
    after_ms: float
    asked_s: int | None = None


class SimulatedEngine:
    """Sends each call at its moment by the process' clock, never before, if it may then and its app's limit lets it."""

    has_calls_waiting = False

    def __init__(
        self,
        sim: Simulation,
        process: Process,
        target: Callable[[Request, Process], Answer],
        timeout_ms: int,
        permits: Permits,
        sends_away: float = 0.0,
    ) -> None:
        self._permits = permits
        self._sends_away = sends_away
        self._sim = sim
        self._process = process
        self._incarnation = process.incarnation
        self._target = target
        self._timeout_ms = timeout_ms
        self._waiting: set[int] = set()
        self._calls: dict[int, Call] = {}
        self._in_flight: dict[int, tuple[Call, float]] = {}
        self._is_stopped = False

    def submit(self, calls: Iterable[Call]) -> None:
        if self._is_stopped:
            raise EngineStopped("the simulated engine is stopped")
        for call in calls:
            self._calls[id(call)] = call
            self._await_moment(call)

    def room_in(self, lane: SharedLane) -> int:
        """Say how much room there is, by chance."""
        return self._sim.random.randrange(4)

    def stop(self, timeout_s: float) -> list[Call]:
        """Let what is under way end, `timeout_s` at most; return what was not sent, or has not ended."""
        self._is_stopped = True
        unsent = list(self._calls.values())
        for call in unsent:
            self._give_back(call, is_unused=True)
        self._calls.clear()
        until = self._sim.now_ms + timeout_s * 1_000
        while self._in_flight and self._sim.now_ms < until:
            self._sim.sleep(0.1)
        cut_off = [call for call, _ in self._in_flight.values()]
        self._in_flight.clear()
        return unsent + cut_off

    def _await_moment(self, call: Call) -> None:
        due_in_ms = call.due_at_ms - self._process.clock.now_ms()
        self._later(max(due_in_ms, 0.0) + self._sim.random.uniform(0.01, 2), lambda: self._send(call))

    def _send(self, call: Call) -> None:
        if id(call) not in self._calls:
            return
        if self._process.clock.now_ms() < call.due_at_ms:  # the clock was put back
            self._await_moment(call)
            return
        request = call.request
        if self._sends_away and self._sim.random.random() < self._sends_away:
            to = self._sim.random.choice(
                (SharedLane.of_way(request.app, request.host, request.part), SharedLane.of_app(request.app))
            )
            self._send_away(call, to)
            return
        over_at_ms = self._sim.now_ms + self._timeout_ms
        if any(self._process.clock.monotonic() > permit.begins_by for permit in call.permits):
            self._give_back(call, is_unused=True)
        if self._permits.may_begin(request.app, request.host, call.permits, 0):
            self._go(call, over_at_ms)
            return
        held, call.permits = call.permits, ()
        self._permits.ask(
            request.app,
            request.host,
            call.has_waited,
            held,
            0,
            lambda answer: self._later(
                self._sim.random.uniform(0.01, 2), lambda: self._go_on(call, answer, over_at_ms)
            ),
        )

    def _go_on(self, call: Call, answer: PermitAnswer, over_at_ms: float) -> None:
        """Send a call that got its permit; send away one that got none."""
        is_mine = id(call) in self._calls
        if isinstance(answer, tuple):
            if is_mine:
                call.permits = answer
                self._go(call, over_at_ms)
            else:
                self._permits.give_back(answer, is_unused=True)
        elif is_mine and answer is None:
            del self._calls[id(call)]
            call.on_held_back(call)
        elif is_mine and answer is not None:
            self._send_away(call, answer)

    def _send_away(self, call: Call, to: SharedLane) -> None:
        del self._calls[id(call)]
        self._give_back(call, is_unused=True)
        call.on_no_room(call, to)

    def _go(self, call: Call, over_at_ms: float) -> None:
        del self._calls[id(call)]
        if not call.may_send() or self._sim.now_ms >= over_at_ms:
            self._give_back(call, is_unused=True)
            call.on_held_back(call)
            return
        self._in_flight[id(call)] = call, self._process.clock.now_ms()
        self._sim.act(self._process, "target.send", lambda: self._arrive(call))

    def _give_back(self, call: Call, *, is_unused: bool) -> None:
        if call.permits:
            permits, call.permits = call.permits, ()
            self._permits.give_back(permits, is_unused=is_unused)

    def _arrive(self, call: Call) -> None:
        sent_at = self._process.clock.now_ms()
        answer = self._target(call.request, self._process)
        if answer.after_ms == inf:
            return  # an engine that never tells
        cost_ms = min(answer.after_ms, self._timeout_ms)
        status, error = (
            (answer.http_status, "") if answer.after_ms < self._timeout_ms else (None, "timed out")
        )
        told = "" if answer.asked_s is None or status is None else str(answer.asked_s)
        reply = Reply(sent_at, cost_ms, status, "", error, told=told)
        self._later(cost_ms, lambda: self._end(call, reply))

    def _end(self, call: Call, reply: Reply) -> None:
        if self._in_flight.pop(id(call), None) is not None:
            self._give_back(call, is_unused=False)
            call.on_reply(call, reply)

    def _later(self, ms: float, work: Callable[[], None]) -> None:
        self._sim.after(ms, self._sim.do_in, self._process, self._incarnation, work)
