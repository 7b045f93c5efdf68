"""The agenda in memory, with its closing marks."""

from collections.abc import Sequence

from wangtimer.core.flow.past_quota import within_quota
from wangtimer.core.flow.slicing import Slice
from wangtimer.testing.doubles.memory_server import MemoryServer, at_once


class MemoryAgenda:
    """Tables: `agenda` slice -> moment, `closing` slice -> token, `looked` "until" -> moment."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    @at_once
    def needs_until(self, moment: int, limit: int, past: int, past_limit: int) -> tuple[Slice, ...]:
        self._server.table("looked")["until"] = moment
        entries = sorted((score, slice_.tag) for slice_, score in self._entries.items())
        earlier = [Slice.parse(tag) for score, tag in entries if score < past][:limit]
        current = [Slice.parse(tag) for score, tag in entries if past <= score <= moment][:limit]
        return within_quota(earlier, current, past, past_limit)

    def looked_until(self) -> int | None:
        return self._server.call(lambda: self._server.table("looked").get("until"))

    @at_once
    def add(self, needs: Sequence[tuple[Slice, int]]) -> None:
        for slice_, moment in needs:
            self._bring_forward(slice_, moment)
            self._closing.pop(slice_, None)

    @at_once
    def begin_closing(self, slice_: Slice, token: str, put_off_until: int) -> None:
        if slice_ in self._entries:
            self._entries[slice_] = put_off_until
            self._closing[slice_] = token

    @at_once
    def finish_closing(self, slice_: Slice, token: str, next_need: int | None) -> None:
        is_mine = self._closing.get(slice_) == token
        if is_mine:
            del self._closing[slice_]
            self._entries.pop(slice_, None)
        if next_need is not None:
            self._bring_forward(slice_, next_need)

    def _bring_forward(self, slice_: Slice, moment: int) -> None:
        self._entries[slice_] = min(moment, self._entries.get(slice_, moment))

    @property
    def _entries(self) -> dict[Slice, int]:
        return self._server.table("agenda")

    @property
    def _closing(self) -> dict[Slice, str]:
        return self._server.table("closing")
