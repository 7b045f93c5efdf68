"""The agenda: which slices need a trigger, and when; and whether Redis holds the horizon at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wangtimer.core.slicing import Slice
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys


@dataclass(frozen=True, slots=True)
class Needs:
    """What the agenda says now: slices by the moment they need a trigger, and whether the horizon is loaded."""

    slices: tuple[Slice, ...]
    is_loaded: bool


class Agenda:
    """The ordered index of slices; an entry leaves only when a trigger closes its slice."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._keys = keys

    def needs_until(self, moment: int, limit: int, past: int, past_limit: int) -> Needs:
        """Return up to `limit` slices that need a trigger from `past` until `moment` (ms UTC).

        Before them come the `past_limit` longest waiting of those that needed one even earlier.
        """

        def look(pipe: Any) -> None:
            pipe.zrange(self._keys.agenda, "-inf", f"({past}", byscore=True, offset=0, num=past_limit)
            pipe.zrange(self._keys.agenda, past, moment, byscore=True, offset=0, num=limit)
            pipe.exists(self._keys.epoch)

        past_tags, tags, epoch = self._connection.run_all([], look)
        return Needs(tuple(Slice.parse(tag) for tag in [*past_tags, *tags]), bool(epoch))

    def add(self, needs: Sequence[tuple[Slice, int]]) -> None:
        """Note when slices need a trigger (ms UTC), where that is sooner than what is noted."""
        arguments: list[str | int | float | bytes] = []
        for slice_, moment in needs:
            arguments += (slice_.tag, moment)
        self._connection.run("agenda_add", [self._keys.agenda, self._keys.closing], arguments)

    def begin_closing(self, slice_: Slice, token: str, put_off_until: int) -> None:
        """Put a slice off and mark it as being closed by this token; any `add` clears the mark."""
        keys = [self._keys.agenda, self._keys.closing]
        self._connection.run("agenda_raise", keys, [slice_.tag, token, put_off_until])

    def finish_closing(self, slice_: Slice, token: str, next_need: int | None) -> None:
        """Note the slice's next need, or strike it out where it is empty and nobody added meanwhile."""
        keys = [self._keys.agenda, self._keys.closing]
        need = "" if next_need is None else next_need
        self._connection.run("agenda_close", keys, [slice_.tag, token, need])

    def begin_load(self, token: str) -> bool:
        """Begin to load the horizon; False when it is loaded."""
        return bool(self._connection.run("begin_load", [self._keys.epoch, self._keys.loading], [token]))

    def end_load(self, token: str) -> bool:
        """Declare the horizon loaded; False when Redis was lost again, or another load began, meanwhile."""
        return bool(self._connection.run("end_load", [self._keys.epoch, self._keys.loading], [token]))
