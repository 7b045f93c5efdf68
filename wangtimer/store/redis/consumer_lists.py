"""What stands in Redis for consumers: a list of sealed entries for each group, bounded by number and bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup
from wangtimer.store.redis.connection import Argument, ScriptCall, script
from wangtimer.store.redis.keys import Keys
from wangtimer.store.seals import Seals

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
    """The scripts on them, for clients that wait and for those that do not.

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
