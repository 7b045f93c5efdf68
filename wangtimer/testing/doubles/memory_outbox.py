"""The outbox in memory."""

from collections.abc import Sequence
from itertools import islice

import orjson

from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.testing.doubles.memory_server import MemoryServer, at_once


class MemoryOutbox:
    """Table `outbox`: member -> outcome, both as text."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def park(self, outcomes: Sequence[Outcome]) -> None:
        texts = {str(outcome.member): orjson.dumps(outcome.to_wire()).decode() for outcome in outcomes}
        self._server.call(lambda: self._parked.update(texts))

    def holds(self, members: Sequence[Member]) -> set[Member]:
        return self._server.call(lambda: {member for member in members if str(member) in self._parked})

    def count(self) -> int:
        return self._server.call(lambda: len(self._parked))

    def bytes(self) -> int:
        return self._server.call(lambda: sum(len(key) + len(text) for key, text in self._parked.items()))

    def page(self, limit: int) -> dict[str, str]:
        return self._server.call(lambda: dict(islice(self._parked.items(), limit)))

    def read(self, texts: dict[str, str]) -> Readable[str, Outcome]:
        return Readable({member: Outcome.from_wire(orjson.loads(text)) for member, text in texts.items()})

    @at_once
    def forget(self, texts: dict[str, str]) -> None:
        for member, text in texts.items():
            if self._parked.get(member) == text:
                del self._parked[member]

    @property
    def _parked(self) -> dict[str, str]:
        return self._server.table("outbox")
