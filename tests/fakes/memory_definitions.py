"""Definitions in memory: the newer version wins, each write lets it live on."""

from collections.abc import Iterable, Sequence

from tests.fakes.hand_clock import HandClock
from tests.fakes.memory_server import MemoryServer
from wangtimer.core.bad_timers import Readable
from wangtimer.core.timer import Definition


class MemoryDefinitions:
    """Table `definitions`: timer id -> (definition, when it expires, s of the stop-watch)."""

    def __init__(self, server: MemoryServer, clock: HandClock, seconds_to_live: int) -> None:
        self._server = server
        self._clock = clock
        self._seconds_to_live = seconds_to_live
        self._found_current_at = float("-inf")

    def put(self, definitions: Iterable[Definition]) -> None:
        def work() -> None:
            expires_at = self._clock.monotonic() + self._seconds_to_live
            for one in definitions:
                held = self._living(one.timer_id)
                newest = one if held is None or one.version > held.version else held
                self._server.table("definitions")[one.timer_id] = newest, expires_at

        self._server.call(work)

    def get(self, timer_ids: Sequence[int]) -> Readable[int, Definition]:
        def work() -> Readable[int, Definition]:
            found = {timer_id: self._living(timer_id) for timer_id in timer_ids}
            return Readable({timer_id: one for timer_id, one in found.items() if one is not None})

        return self._server.call(work) if timer_ids else Readable()

    def forget(self, timer_ids: Iterable[int]) -> None:
        gone = list(timer_ids)

        def work() -> None:
            for timer_id in gone:
                self._server.table("definitions").pop(timer_id, None)

        if gone:
            self._server.call(work)

    def told_until(self) -> int | None:
        return self._server.call(lambda: self._server.table("told").get("until"))

    def note_told(self, until: int) -> None:
        self._server.call(lambda: self._server.table("told").update(until=until))

    @property
    def reconnects(self) -> int:
        return self._server.reconnects

    def are_current(self, now: float) -> bool:
        reconnected_at = now - self._server.seconds_since_reconnect * 1_000
        if reconnected_at < self._found_current_at:
            return True
        told_until = self.told_until()
        if told_until is None or told_until <= reconnected_at:
            return False
        self._found_current_at = now
        return True

    def _living(self, timer_id: int) -> Definition | None:
        held, expires_at = self._server.table("definitions").get(timer_id, (None, 0.0))
        return held if self._clock.monotonic() < expires_at else None
