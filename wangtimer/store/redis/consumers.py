"""Consumers of the stream in Redis: what waits for them, which are connected, and what targets say of their firings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.connection import Argument, RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys
from wangtimer.store.seals import Seals

log = structlog.get_logger()


# A single app may fill so much of the whole.
SHARE_OF_AN_APP = 4
# Bytes that are taken at once: what a process holds without having sent it.
TAKEN_BYTES = 1_000_000

WHY_FULL = {
    "group": "as many firings wait for this group as may",
    "app": "the firings that wait for consumers of this app take as much room as they may",
    "all": "the firings that wait for consumers take as much room as they may",
}


@dataclass(frozen=True, slots=True)
class ListBounds:
    """`entries` of a group, `total_bytes` of all groups; one app has a quarter of the bytes."""

    entries: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class ConsumerLists:
    """What waits for consumers: a list of sealed entries for each group, bounded by number and bytes.

    These are the scripts on them, for clients that wait and for those that do not.
    A put or a return that is repeated gives an entry twice; nobody repeats one. Each firing is in SQL too, so what
    Redis loses is tried again.
    """

    keys: Keys
    bounds: ListBounds
    seals: Seals

    def put(self, group: ConsumerGroup, entry: ConsumerEntry, now: int) -> ScriptCall:
        """Return the call that adds an entry; it answers "" or a key of `WHY_FULL`."""
        bounds, key = self.bounds, self.keys
        arguments = (
            *_names(group),
            self._packed(group, entry),
            entry.ack_by,
            now,
            bounds.entries,
            bounds.total_bytes // SHARE_OF_AN_APP,
            bounds.total_bytes,
            key.consumer_list,
            key.consumers_came,
        )
        return ScriptCall(script("consumers_put"), self._keys_of(group), arguments)

    def take(self, group: ConsumerGroup, most: int, now: int) -> ScriptCall:
        """Return the call that takes the first entries that have time left."""
        arguments = (*_names(group), most, TAKEN_BYTES, now)
        return ScriptCall(script("consumers_take"), self._keys_of(group), arguments)

    def give_back(self, group: ConsumerGroup, entries: Sequence[ConsumerEntry]) -> ScriptCall:
        """Return the call that puts entries back to the front."""
        packed = [self._packed(group, entry) for entry in entries]
        arguments: list[Argument] = [*_names(group), self.keys.consumers_came, *packed]
        return ScriptCall(script("consumers_return"), self._keys_of(group), arguments)

    def read(self, group: ConsumerGroup, packed: bytes) -> ConsumerEntry:
        """Return an entry of the group's list; raises ValueError, also where its key is not known here."""
        ack_by, returned, which, rest = packed.split(b" ", 3)
        attempt, _, firing_id = which.partition(b":")
        event = self.seals.open_binary(rest, _bound_to(group, which))
        return ConsumerEntry(firing_id.decode(), int(attempt), int(ack_by), event, int(returned))

    def _packed(self, group: ConsumerGroup, entry: ConsumerEntry) -> bytes:
        """Return an entry as it stands in Redis, its event sealed; scripts read the first number."""
        which = f"{entry.attempt}:{entry.firing_id}".encode()
        sealed = self.seals.seal_binary(entry.event, _bound_to(group, which))
        return b"%d %d %b %b" % (entry.ack_by, entry.returned, which, sealed)

    def _keys_of(self, group: ConsumerGroup) -> list[str]:
        return [f"{self.keys.consumer_list}{group.key}", self.keys.consumer_bytes, self.keys.consumer_ends]


def _bound_to(group: ConsumerGroup, which: bytes) -> bytes:
    return b"consumers\n%b\n%b" % (group.key.encode(), which)


def _names(group: ConsumerGroup) -> tuple[str, str]:
    return group.key, f"{group.app}/"


# A stream process tells of its groups every second. A group of which nothing was told for so long has no consumer.
PRESENT_S = 10
# s; what was read is believed so long.
BELIEVED_FOR_S = 1.0


class ConsumersSeen:
    """Read by executors, for targets with a fallback. While Redis cannot be read, what was last read is believed."""

    def __init__(self, redis: RedisConnection, keys: Keys, clock: Clock) -> None:
        self._connection = redis
        self._key = keys.consumers_seen
        self._bytes_key = keys.consumer_bytes
        self._clock = clock
        self._reading = Lock()
        self._read_at = float("-inf")
        self._present: frozenset[str] | None = None

    def is_connected(self, group: ConsumerGroup) -> bool:
        """Tell whether a consumer of the group was connected within the last 10 s; True while nobody knows."""
        with self._reading:
            if self._clock.monotonic() - self._read_at >= BELIEVED_FOR_S:
                try:
                    self._read()
                finally:
                    # Not before: a Redis that hangs would hold up each firing for longer than this is believed.
                    self._read_at = self._clock.monotonic()
            return self._present is None or group.key in self._present

    def count(self) -> int:
        """Return how many groups have connected consumers; raises `StoreAway`."""
        since = self._since()
        return int(self._connection.command(lambda client: client.zcount(self._key, since, "+inf")))

    def waiting_bytes(self) -> int:
        """Return how much waits for consumers of all groups; raises `StoreAway`."""
        read: Callable[..., str | None] = lambda client: client.hget(self._bytes_key, "")  # noqa: E731
        return int(self._connection.command(read) or 0)

    def _since(self) -> int:
        return int(self._clock.now_ms()) - PRESENT_S * 1_000

    def _read(self) -> None:
        since = self._since()
        read: Callable[..., list[str]] = lambda client: client.zrangebyscore(self._key, since, "+inf")  # noqa: E731
        try:
            self._present = frozenset(self._connection.command(read))
        except StoreAway as error:
            log.info("consumers_unread", error=str(error))


def stream_listeners(connection: RedisConnection, keys: Keys) -> int:
    """Return how many stream processes listen for new entries; raises `StoreAway`, `NoPermissionError`."""
    told = connection.command(lambda client: client.pubsub_numsub(keys.consumers_came))
    return sum(int(number) for _, number in told)


class ConsumerWords:
    """What targets say of firings, told to all stream processes: the consumer may be connected to another one.

    A word that is lost leaves a consumer less room until the firing's time is over.
    """

    def __init__(self, redis: RedisConnection, keys: Keys) -> None:
        self._connection = redis
        self._channel = keys.consumers_spoke

    def tell(self, member: Member, until: int) -> None:
        """Tell that an attempt has ended (0), or goes on until a moment (ms UTC)."""
        text = f"{member.firing_id} {member.attempt} {until}"
        try:
            self._connection.command(lambda client: client.publish(self._channel, text))
        except StoreAway as error:
            log.info("word_untold", firing=member.firing_id, error=str(error))


def read_word(text: bytes) -> tuple[str, int, int]:
    """Read what `tell` wrote: the firing's id, the attempt, and until when; raises ValueError."""
    firing_id, attempt, until = text.decode().split(" ")
    return firing_id, int(attempt), int(until)
