"""Copies in Redis of what an app has beside its timers: how its callbacks are signed, and its named targets.

All copies are fields of one hash with one mark, which changes with each of them: who knows the mark need not read
again. The script that reads definitions brings the mark along.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from wangtimer.store.redis.connection import RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys

# The field of the hash that holds the mark: no copy has this name.
MARK_FIELD = ""


class Copy(NamedTuple):
    """A copy in its field, with the version of what it is of."""

    field: str
    version: int
    text: str


class MarkedCopies:
    """Reads and writes copies as text; each method raises `StoreAway`."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._key = keys.signing

    def put(self, copies: Iterable[Copy]) -> None:
        """Write copies unless newer ones are there."""
        calls = [
            ScriptCall(
                script("signing_put"),
                [self._key],
                [one.field, one.version, f"{one.version} {one.text}", secrets.token_hex(8)],
            )
            for one in copies
        ]
        for start in range(0, len(calls), 1_000):
            self._connection.run_all(calls[start : start + 1_000])

    def get(self, fields: Sequence[str]) -> tuple[str | None, Iterator[Copy]]:
        """Return the mark (None: Redis has none), and those of these copies that are there."""
        asked = [MARK_FIELD, *fields]
        answer: list[Any] = self._connection.command(lambda client: client.hmget(self._key, asked))
        mark, *texts = answer
        return mark, _copies(fields, texts)

    def drop(self, field: str) -> None:
        """Forget a copy; the mark stays."""
        self._connection.command(lambda client: client.hdel(self._key, field))


def _copies(fields: Sequence[str], texts: Sequence[str | None]) -> Iterator[Copy]:
    for field, text in zip(fields, texts, strict=True):
        if text is not None:
            version, _, content = text.partition(" ")
            yield Copy(field, int(version), content)
