"""The delivery engine in memory: the contract of `wangtimer.callback`, without a network or a thread."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from wangtimer.callback import Call, EngineStopped, Limits, Reply
from wangtimer.callback.admissions import Admission, Admissions
from wangtimer.callback.flows import Flows
from wangtimer.callback.health import Health
from wangtimer.callback.permits import Permits
from wangtimer.callback.places import Flow, Waiting
from wangtimer.core.flow.slicing import SharedLane, WayKey
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.call_options import AS_DEPLOYED
from wangtimer.testing.doubles.memory_permits import NoLimits

UNLIMITED = 10**9
LOOK_MS = 50.0
_ANSWERED = Reply(0.0, 0.0, 200, "", "")


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """A target's answer, `after_ms` after the request; an `error` means no answer.

    Without `was_sent` the engine could not even send the request. `told` is its Retry-After or Location.
    """

    http_status: int | None = 200
    output: str = ""
    after_ms: float = 5.0
    error: str = ""
    was_sent: bool = True
    told: str = ""


# Runs work at a moment, ms UTC, unless its process is dead by then.
RunAt = Callable[[float, Callable[[], object]], None]
# Returns the target's answer to a call that was sent at a moment, ms UTC.
TakeCall = Callable[[float, Call], ScriptedAnswer]


class MemoryEngine:
    """Sends each call at its moment, never before, if there is a place; passes on the reply when the target answers.

    `places` are those of a host and of the process. With `learns_from_failures`, as in the real engine, a target that
    does not answer gets fewer calls at a time.
    """

    def __init__(
        self,
        clock: Clock,
        run_at: RunAt,
        take: TakeCall,
        timeout_ms: int,
        learns_from_failures: bool,
        places: tuple[int, int] = (UNLIMITED, UNLIMITED),
        permits: Permits | None = None,
    ) -> None:
        self._admissions = Admissions(permits or NoLimits(), self._go_on, Limits(timeout_ms=timeout_ms))
        self._learns_from_failures = learns_from_failures
        self._flows = Flows(*places)
        self._is_looking = False
        self._clock = clock
        self._run_at = run_at
        self._take = take
        self._timeout_ms = timeout_ms
        self._waiting: dict[Call, None] = {}
        self._in_flight: dict[Call, None] = {}
        self._is_stopped = False

    def submit(self, calls: Iterable[Call]) -> None:
        if self._is_stopped:
            raise EngineStopped("the engine is stopped")
        for call in calls:
            self._waiting[call] = None
            self._run_at(call.due_at_ms, partial(self._ripen, call))

    def room_in(self, lane: SharedLane) -> int:
        return self._flows.room_in(lane, self._clock.monotonic())

    def failing(self) -> dict[WayKey, Health]:
        return self._flows.failing()

    def health_of(self, key: WayKey) -> Health | None:
        return self._flows.health_of(key)

    def stop(self, timeout_s: float) -> list[Call]:
        self._is_stopped = True
        unsent, self._waiting = list(self._waiting), {}
        until = self._clock.monotonic() + timeout_s
        while self._in_flight and self._clock.monotonic() < until:
            self._clock.sleep(0.1)
        cut_off, self._in_flight = list(self._in_flight), {}
        for call in cut_off:
            self._admissions.give_back(call, is_unused=False)
        return unsent + cut_off

    def _ripen(self, call: Call) -> None:
        if call in self._waiting:
            self._admissions.note_ripe(call)
            self._flows.join(Waiting(call, self._clock.monotonic()))
            self._send_all()
            self._admissions.give_back_without_place()
            self._look_for_crowds()

    def _send_all(self) -> None:
        while not self._is_stopped and self._flows.can_send:
            flow, waiting = self._flows.take(self._clock.now_ms(), self._clock.monotonic())
            self._flows.open_wide(flow)
            if self._admissions.is_admitted(waiting.call, self._clock.monotonic()):
                self._send(flow, waiting.call)
            else:
                self._admissions.ask(Admission(waiting.call, flow, 0.0))

    def _go_on(self) -> None:
        """Send the calls that got a permit; send away those that got none."""
        for (call, flow, _), answer in self._admissions.answers():
            if self._is_stopped:
                self._leave(flow, None)
            elif isinstance(answer, tuple):
                call.permits = answer
                self._send(flow, call)
            else:
                del self._waiting[call]
                self._leave(flow, None)
                if answer is None:
                    call.on_held_back(call)
                else:
                    call.on_no_room(call, answer)
                self._send_all()

    def _look_for_crowds(self) -> None:
        if self._flows.waiting and not self._is_looking and not self._is_stopped:
            self._is_looking = True
            self._run_at(self._clock.now_ms() + LOOK_MS, self._make_room)

    def _make_room(self) -> None:
        self._is_looking = False
        self._flows.try_again(self._clock.monotonic())
        self._send_all()
        longest_s = self._timeout_ms / 1_000 * 0.9
        for lane, waiting in self._flows.crowded_out(self._clock.monotonic(), longest_s):
            del self._waiting[waiting.call]
            waiting.call.on_no_room(waiting.call, lane)
        self._look_for_crowds()

    def _send(self, flow: Flow, call: Call) -> None:
        del self._waiting[call]
        if not call.may_send():
            self._leave(flow, None)
            self._admissions.give_back(call, is_unused=True)
            call.on_held_back(call)
            return
        sent_at = self._clock.now_ms()
        answer = self._take(sent_at, call)
        self._in_flight[call] = None
        if call.timeouts != AS_DEPLOYED:
            call.on_written()
        most_ms = self._timeout_ms if call.timeouts.total_ms is None else call.timeouts.total_ms
        cost_ms = min(answer.after_ms, most_ms)
        reply = _reply(answer, sent_at, cost_ms, most_ms)
        self._run_at(sent_at + cost_ms, partial(self._end, flow, call, reply))

    def _end(self, flow: Flow, call: Call, reply: Reply) -> None:
        if call not in self._in_flight:
            return
        del self._in_flight[call]
        now = self._clock.monotonic()
        reply = self._flows.with_wait(flow, call, reply, self._clock.now_ms(), now)
        self._leave(flow, reply if self._learns_from_failures else _ANSWERED)
        self._admissions.give_back(call, is_unused=False)
        call.on_reply(call, reply)
        self._send_all()

    def _leave(self, flow: Flow, reply: Reply | None) -> None:
        self._flows.leave(flow, self._clock.monotonic(), reply, is_unreachable=False)


def _reply(answer: ScriptedAnswer, sent_at: float, cost_ms: float, most_ms: float) -> Reply:
    if answer.after_ms >= most_ms:
        return Reply(sent_at, cost_ms, None, "", "timed out")
    reply = Reply(sent_at, cost_ms, answer.http_status, answer.output, answer.error, answer.was_sent)
    return reply._replace(told=answer.told) if answer.told else reply
