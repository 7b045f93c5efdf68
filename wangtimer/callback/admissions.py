"""Calls that have their host's place and wait for a permit: host first, then app."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from wangtimer.callback.call import Call
from wangtimer.callback.permits import Permit, PermitAnswer, Permits
from wangtimer.callback.places import Flow


class Admission(NamedTuple):
    """A call with a place, for which a permit was asked."""

    call: Call
    flow: Flow
    deadline_at: float


class Admissions:
    """Keeps the permits of an engine's calls. The engine's thread uses it; answers come from another one.

    A call that was pulled with a permit gives it back unless it gets its place at once: a host that hangs would hold
    its app's permits. It asks anew when it has its place.
    """

    def __init__(self, permits: Permits, wake: Callable[[], None]) -> None:
        self._permits = permits
        self._wake = wake
        self._asked: dict[int, Admission] = {}
        self._answered: deque[tuple[int, str, PermitAnswer]] = deque()
        self._arrived: dict[int, Call] = {}

    def __len__(self) -> int:
        return len(self._asked)

    def note_ripe(self, call: Call) -> None:
        """Learn of a call whose moment has come, before it joins its flow."""
        if call.permit is not None:
            self._arrived[id(call)] = call

    def is_admitted(self, call: Call, now: float) -> bool:
        """Tell whether a call that has its place may be sent: it has a permit, or needs none."""
        self._arrived.pop(id(call), None)
        if call.permit is not None and now <= call.permit.begins_by:
            return True
        self.give_back(call, is_unused=True)
        return not self._permits.is_limited(call.request.app, call.request.host)

    def give_back_without_place(self) -> None:
        """Give back the permits of calls that came with one and did not get their place at once."""
        for call in self._arrived.values():
            self.give_back(call, is_unused=True)
        self._arrived.clear()

    def ask(self, asked: Admission) -> None:
        """Ask for a permit."""
        call = asked.call
        self._asked[id(call)] = asked
        app, host = call.request.app, call.request.host
        self._permits.ask(app, host, call.has_waited, partial(self._take_answer, id(call), app))

    def answers(self) -> list[tuple[Admission, PermitAnswer]]:
        """Return the calls for which an answer came."""
        answers = []
        while self._answered:
            key, app, answer = self._answered.popleft()
            asked = self._asked.pop(key, None)
            if asked is not None:
                answers.append((asked, answer))
            elif isinstance(answer, Permit):
                self._permits.give_back(app, answer, is_unused=True)
        return answers

    def give_back(self, call: Call, *, is_unused: bool) -> None:
        """Give back the permit of a call, if it has one."""
        if call.permit is not None:
            permit, call.permit = call.permit, None
            self._permits.give_back(call.request.app, permit, is_unused=is_unused)

    def drop(self) -> list[Admission]:
        """Forget, and return, the calls that wait for an answer."""
        dropped = list(self._asked.values())
        self._asked.clear()
        return dropped

    def _take_answer(self, key: int, app: str, answer: PermitAnswer) -> None:
        self._answered.append((key, app, answer))
        self._wake()
