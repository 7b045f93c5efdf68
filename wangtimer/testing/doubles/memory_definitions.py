"""Definitions in memory: the newer version wins, and each write says how long it lives."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.timer import UNREAD, Definition
from wangtimer.store.redis.definitions import READ_BYTES, UNKNOWN_BYTES, DefinitionsRead, lives_s
from wangtimer.store.redis.marked_copies import MARK_FIELD
from wangtimer.testing.doubles.hand_clock import HandClock
from wangtimer.testing.doubles.memory_server import MemoryServer, at_once


class MemoryDefinitions:
    """Table `definitions`: timer id -> (definition, when it expires, s of the stop-watch)."""

    def __init__(self, server: MemoryServer, clock: HandClock, longest_s: int) -> None:
        self._server = server
        self._clock = clock
        self._longest_s = longest_s

    @at_once
    def put(self, definitions: Iterable[Definition], may_be_far: bool = False) -> None:
        for definition in definitions:
            if definition.notify is UNREAD:
                continue
            held = self._living(definition.timer_id)
            seconds = lives_s(definition, self._clock.now_ms(), self._longest_s, may_be_far)
            expires_at = self._clock.monotonic() + seconds
            newest = definition if held is None or definition.version >= held.version else held
            self._server.table("definitions")[definition.timer_id] = newest, expires_at

    def get(self, timer_ids: Sequence[int]) -> DefinitionsRead:
        return self._server.call(lambda: self._told(timer_ids))

    @at_once
    def get_first(self, timer_ids: Sequence[int]) -> DefinitionsRead:
        total = accumulate(self._size(timer_id, 0) for timer_id in timer_ids)
        number = sum(1 for size in total if size <= READ_BYTES)
        return self._told(timer_ids[: max(1, number)])

    @at_once
    def note_off(self, since: Mapping[int, int], at: int) -> None:
        for timer_and_moment in since.items():
            self._server.table("off").setdefault(timer_and_moment, at)

    def known_off(self, since: Mapping[int, int]) -> dict[int, int]:
        off = self._server.table("off")
        return self._server.call(
            lambda: {timer_id: off[timer_id, at] for timer_id, at in since.items() if (timer_id, at) in off}
        )

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

    @property
    def seconds_since_reconnect(self) -> float:
        return self._server.seconds_since_reconnect

    def _told(self, timer_ids: Sequence[int]) -> DefinitionsRead:
        found = {timer_id: self._living(timer_id) for timer_id in timer_ids}
        definitions = {
            timer_id: definition for timer_id, definition in found.items() if definition is not None
        }
        sizes = {timer_id: self._size(timer_id, UNKNOWN_BYTES) for timer_id in timer_ids}
        mark = self._server.table("signing").get(MARK_FIELD)
        return DefinitionsRead(Readable(definitions), self._server.table("told").get("until"), sizes, mark)

    def _size(self, timer_id: int, unknown: int) -> int:
        definition = self._living(timer_id)
        return (
            unknown if definition is None else len(definition.notify.url) + len(definition.notify.body or "")
        )

    def _living(self, timer_id: int) -> Definition | None:
        held, expires_at = self._server.table("definitions").get(timer_id, (None, 0.0))
        return held if self._clock.monotonic() < expires_at else None
