"""The delivery engine on the timeline: the contract of `wangtimer.callback`, without a network."""

from collections.abc import Iterable

from tests.stages.scripted_target import Answer, Arrival, ScriptedTarget
from tests.stages.timeline import Process, Timeline
from wangtimer.callback import Call, EngineStopped, Reply


class FakeEngine:
    """Sends each call at its moment, never before, if it may then; tells the reply when the target answers."""

    def __init__(self, timeline: Timeline, process: Process, target: ScriptedTarget, timeout_ms: int) -> None:
        self._timeline = timeline
        self._process = process
        self._target = target
        self._timeout_ms = timeout_ms
        self._waiting: dict[Call, None] = {}
        self._in_flight = 0
        self._is_stopped = False

    def submit(self, calls: Iterable[Call]) -> None:
        if self._is_stopped:
            raise EngineStopped("the fake engine is stopped")
        for call in calls:
            self._waiting[call] = None
            self._timeline.at(call.due_at_ms, self._process, lambda call=call: self._send(call))

    def stop(self, timeout_s: float) -> list[Call]:
        self._is_stopped = True
        unsent, self._waiting = list(self._waiting), {}
        until = self._timeline.monotonic() + timeout_s
        while self._in_flight and self._timeline.monotonic() < until:
            self._timeline.sleep(0.1)
        return unsent

    def _send(self, call: Call) -> None:
        if call not in self._waiting:
            return
        del self._waiting[call]
        if not call.may_send():
            call.on_held_back(call)
            return
        sent_at = self._timeline.now_ms()
        answer = self._target.take(Arrival(sent_at, call.request, self._process.name))
        self._in_flight += 1
        cost_ms = min(answer.after_ms, self._timeout_ms)
        reply = self._reply(answer, sent_at, cost_ms)
        self._timeline.at(sent_at + cost_ms, self._process, lambda: self._end(call, reply))

    def _reply(self, answer: Answer, sent_at: float, cost_ms: float) -> Reply:
        if answer.after_ms >= self._timeout_ms:
            return Reply(sent_at, cost_ms, None, "", "timed out")
        return Reply(sent_at, cost_ms, answer.http_status, answer.output, answer.error, answer.was_sent)

    def _end(self, call: Call, reply: Reply) -> None:
        self._in_flight -= 1
        call.on_reply(call, reply)
