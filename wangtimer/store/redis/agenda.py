"""The agenda: which slices need a trigger, and when."""

from collections.abc import Sequence
from typing import Any

from wangtimer.core.flow.past_quota import within_quota
from wangtimer.core.flow.slicing import Slice
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys


class Agenda:
    """The ordered index of slices; an entry leaves only when a trigger closes its slice."""

    def __init__(self, redis: RedisConnection, keys: Keys) -> None:
        self._connection = redis
        self._keys = keys

    def needs_until(self, moment: int, limit: int, past: int, past_limit: int) -> tuple[Slice, ...]:
        """Return up to `limit` slices that need a trigger from `past` until `moment` (ms UTC).

        Before them come up to `past_limit` slices of each queue that needed one earlier, the longest waiting first.
        It is noted until when somebody has looked.
        """

        def look(pipe: Any) -> None:
            pipe.zrange(self._keys.agenda, "-inf", f"({past}", byscore=True, offset=0, num=limit)
            pipe.zrange(self._keys.agenda, past, moment, byscore=True, offset=0, num=limit)
            pipe.set(self._keys.looked, moment)

        past_tags, tags, _ = self._connection.run_all([], look)
        return within_quota(
            [Slice.parse(tag) for tag in past_tags], [Slice.parse(tag) for tag in tags], past, past_limit
        )

    def looked_until(self) -> int | None:
        """Return the last `moment` of `needs_until`, ms UTC; None if Redis has none."""
        noted = self._connection.command(lambda client: client.get(self._keys.looked))
        return None if noted is None else int(noted)

    def add(self, needs: Sequence[tuple[Slice, int]]) -> None:
        """Note when slices need a trigger (ms UTC), where that is sooner than noted."""
        arguments: list[str | int | float | bytes] = []
        for slice_, moment in needs:
            arguments += (slice_.tag, moment)
        self._connection.run("agenda_add", [self._keys.agenda, self._keys.closing], arguments)

    def begin_closing(self, slice_: Slice, token: str, put_off_until: int) -> None:
        """Put a slice off and mark it as being closed by this token; any `add` clears the mark."""
        keys = [self._keys.agenda, self._keys.closing]
        self._connection.run("agenda_raise", keys, [slice_.tag, token, put_off_until])

    def finish_closing(self, slice_: Slice, token: str, next_need: int | None) -> None:
        """Note the slice's next need, or strike it out if it is empty and nobody added meanwhile."""
        keys = [self._keys.agenda, self._keys.closing]
        need = "" if next_need is None else next_need
        self._connection.run("agenda_close", keys, [slice_.tag, token, need])
