"""The ways out of apps, as callback processes read them: SQL is the truth."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import structlog

from wangtimer.core.egress.way_out import WayOut, ways_from_text, ways_to_text
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()

_MARK, _ALL = "mark", "all"


class WaysOut(NamedTuple):
    """That of each app that has one, and the mark that they have together."""

    mark: str
    of_apps: Mapping[str, WayOut]


class WayOutCopies:
    """One hash with all of them and their mark, written together: who knows the mark need not read them again.

    The mark also has a key of its own, so that one command reads it with others; an older version knows the hash only.
    It is written behind the hash: who finds a new mark finds what it is of. Accounts in Redis may use no MULTI.

    Every method raises `StoreAway`.
    """

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._key, self._mark_key = keys.ways_out, keys.ways_out_mark

    def write(self, ways: WaysOut) -> None:
        """Replace all of them."""
        fields: dict[Any, Any] = {_MARK: ways.mark, _ALL: ways_to_text(ways.of_apps)}

        def replace(client: Any) -> None:
            with client.pipeline(transaction=False) as pipe:
                pipe.hset(self._key, mapping=fields)
                pipe.set(self._mark_key, ways.mark)
                pipe.execute()

        self._connection.command(replace)

    def mark(self) -> str | None:
        """Return the mark; None if Redis lost them."""

        def get(client: Any) -> Any:
            return client.get(self._mark_key)

        found: str | None = self._connection.command(get)
        return found

    def read(self) -> WaysOut | None:
        """Return all of them; None if Redis lost them, or has what cannot be read."""

        def get(client: Any) -> Any:
            return client.hmget(self._key, _MARK, _ALL)

        mark, text = self._connection.command(get)
        if mark is None or text is None:
            return None
        try:
            return WaysOut(mark, ways_from_text(text))
        except ValueError as error:
            log.error("ways_out_unread", error=repr(error))
            return None
