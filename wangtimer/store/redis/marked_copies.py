"""Copies in Redis of what an app has beside its timers: how its callbacks are signed, and its named targets.

All copies are fields of one hash with one mark, which changes with each of them: who knows the mark need not read
again. The script that reads definitions brings the mark along.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.timers.named_target import NamedTarget, TargetKey
from wangtimer.store.redis.connection import RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys
from wangtimer.store.sealed_texts import signing_from, signing_text, target_from, target_text
from wangtimer.store.seals import Seals

log = structlog.get_logger()

Key = TypeVar("Key")
Item = TypeVar("Item")

# The field of the hash that holds the mark: no copy has this name.
MARK_FIELD = ""


class Copy(NamedTuple):
    """A copy in its field, with the version of what it is of."""

    field: str
    version: int
    text: str


class MarkedCopies:
    """Reads and writes copies as text; each method raises `StoreAway`."""

    def __init__(self, redis: RedisConnection, keys: Keys) -> None:
        self._connection = redis
        self._key = keys.signing

    def put(self, copies: Iterable[Copy]) -> None:
        """Write copies unless newer ones are there."""
        calls = [
            ScriptCall(
                script("signing_put"),
                [self._key],
                [copy.field, copy.version, f"{copy.version} {copy.text}", secrets.token_hex(8)],
            )
            for copy in copies
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


class Copies(NamedTuple, Generic[Key, Item]):
    """What there is of one kind, by its key, and the mark that the copies had then; None: Redis has none."""

    mark: str | None
    found: dict[Key, Item]


class CopiesOf(Generic[Key, Item]):
    """The copies of one kind: executors read them, so that no firing asks SQL. `kind` names it in the log."""

    kind: str

    def __init__(self, marked_copies: MarkedCopies, seals: Seals) -> None:
        self._copies = marked_copies
        self._seals = seals

    def put(self, items: Iterable[Item]) -> None:
        """Write copies, as SQL has them, unless newer ones are there; raises `StoreAway`."""
        self._copies.put(map(self._copy_of, items))

    def is_told(self, item: Item) -> bool:
        """Write a copy of what was changed; False where Redis is away: then the sweep does it."""
        try:
            self.put([item])
        except StoreAway as error:
            log.warning("copy_told_later", kind=self.kind, field=self._copy_of(item).field, error=str(error))
            return False
        return True

    def get(self, keys: Collection[Key]) -> Copies[Key, Item]:
        """Return the mark and those of these that can be read, with secrets in their places; raises `StoreAway`."""
        fields = {self._field(key): key for key in keys}
        mark, copies = self._copies.get(list(fields))
        found: dict[Key, Item] = {}
        for copy in copies:
            key = fields[copy.field]
            try:
                found[key] = self._read(key, copy)
            except Exception as error:
                # Its text may have a secret.
                log.error("copy_cannot_be_read", kind=self.kind, key=key, error=type(error).__name__)
        return Copies(mark, found)

    def drop(self, key: Key) -> None:
        """Forget the copy of what was deleted; raises `StoreAway`."""
        self._copies.drop(self._field(key))

    def _field(self, key: Key) -> str:
        raise NotImplementedError

    def _copy_of(self, item: Item) -> Copy:
        raise NotImplementedError

    def _read(self, key: Key, copy: Copy) -> Item:
        raise NotImplementedError


class SigningCopies(CopiesOf[str, AppSigning]):
    """How each app signs its callbacks, in the field of its name."""

    kind = "signing"

    def _field(self, key: str) -> str:
        return key

    def _copy_of(self, item: AppSigning) -> Copy:
        return Copy(item.app, item.version, signing_text(item, self._seals))

    def _read(self, key: str, copy: Copy) -> AppSigning:
        return signing_from(key, copy.version, copy.text, self._seals)


class TargetCopies(CopiesOf[TargetKey, NamedTarget]):
    """Named targets; no app's name has the sign that stands between app and name."""

    kind = "target"

    def _field(self, key: TargetKey) -> str:
        return "\n".join(key)

    def _copy_of(self, item: NamedTarget) -> Copy:
        return Copy(self._field(item.key), item.version, target_text(item))

    def _read(self, key: TargetKey, copy: Copy) -> NamedTarget:
        return self._seals.opened(target_from(*key, copy.version, copy.text))
