"""Calls that have their host's place and wait for permits: host first, then app."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from wangtimer.callback.call import Call
from wangtimer.callback.limits import Limits
from wangtimer.callback.permits import PermitAnswer, Permits
from wangtimer.callback.places import Flow
from wangtimer.core.timers.call_options import AS_DEPLOYED


class Admission(NamedTuple):
    """A call with a place, for which permits were asked."""

    call: Call
    flow: Flow
    deadline_at: float


class Admissions:
    """Keeps the permits of an engine's calls. The engine's thread uses it; answers come from another one.

    A call that was pulled with permits gives them back unless it gets its place at once: a host that hangs would hold
    its app's permits. It asks anew when it has its place.
    """

    def __init__(self, permits: Permits, wake: Callable[[], None], limits: Limits) -> None:
        self._permits = permits
        self._wake = wake
        self._limits = limits
        self._asked: dict[int, Admission] = {}
        self._answered: deque[tuple[int, PermitAnswer]] = deque()
        self._arrived: dict[int, Call] = {}

    def __len__(self) -> int:
        return len(self._asked)

    def note_ripe(self, call: Call) -> None:
        """Learn of a call with permits whose moment has come, before it joins its flow."""
        self._arrived[id(call)] = call

    def is_admitted(self, call: Call, now: float) -> bool:
        """Tell whether a call that has its place may be sent: it has the permits it needs."""
        # Most calls have none: each of them passes here.
        if call.permits:
            self._arrived.pop(id(call), None)
            if any(now > permit.begins_by for permit in call.permits):
                self.give_back(call, is_unused=True)
        request = call.request
        if not call.is_counted:
            return self._permits.is_open(request.app, request.host)
        longest_ms = 0 if call.timeouts == AS_DEPLOYED else self._longest_ms(call)
        return self._permits.may_begin(request.app, request.host, call.permits, longest_ms)

    def is_unlimited(self, app: str, host: str) -> bool:
        """Tell whether no limit applies to calls of this app to this host and port, nor a pause."""
        return self._permits.may_begin(app, host, (), 0)

    def give_back_without_place(self) -> None:
        """Give back the permits of calls that came with one and did not get their place at once."""
        for call in self._arrived.values():
            self.give_back(call, is_unused=True)
        self._arrived.clear()

    def ask(self, asked: Admission) -> None:
        """Ask for the permits that the call does not have yet."""
        call, request = asked.call, asked.call.request
        self._asked[id(call)] = asked
        held, call.permits = call.permits, ()
        answer = partial(self._take_answer, id(call))
        longest_ms = self._longest_ms(call)
        self._permits.ask(request.app, request.host, call.has_waited, held, longest_ms, answer)

    def answers(self) -> list[tuple[Admission, PermitAnswer]]:
        """Return the calls for which an answer came."""
        answers = []
        while self._answered:
            key, answer = self._answered.popleft()
            asked = self._asked.pop(key, None)
            if asked is not None:
                answers.append((asked, answer))
            elif isinstance(answer, tuple):
                self._permits.give_back(answer, is_unused=True)
        return answers

    def give_back(self, call: Call, *, is_unused: bool) -> None:
        """Give back the permits of a call."""
        if call.permits:
            permits, call.permits = call.permits, ()
            self._permits.give_back(permits, is_unused=is_unused)

    def drop(self) -> list[Admission]:
        """Forget, and return, the calls that wait for an answer."""
        dropped = list(self._asked.values())
        self._asked.clear()
        return dropped

    def _longest_ms(self, call: Call) -> int:
        """Return how long the call may take, rounded up so that few differ; 0: as long as those without time-outs."""
        if call.timeouts == AS_DEPLOYED:
            return 0
        usual_ms = self._limits.timeout_ms
        longest_ms, rounded = call.timeouts.longest_ms(usual_ms, self._limits.connect_timeout_ms), usual_ms
        while rounded < longest_ms:
            rounded *= 2
        return 0 if rounded == usual_ms else rounded

    def _take_answer(self, key: int, answer: PermitAnswer) -> None:
        self._answered.append((key, answer))
        self._wake()
