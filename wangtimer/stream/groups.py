"""The consumers connected to this process, by group: who gets the next firing, and who has which."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup
from wangtimer.stream.consumer import Consumer, EntryKey

# Consumers whose room is counted: more entries are not taken at once.
MOST_COUNTED = 100


class ConnectedGroup:
    """The consumers of a group, in turn."""

    def __init__(self, group: ConsumerGroup) -> None:
        self.group = group
        self.consumers: dict[int, Consumer] = {}
        # Those with room, in turn, by their ids; some may have none any more.
        self._ready: dict[int, Consumer] = {}
        # Something may have come, or somebody may have room, since entries were last taken.
        self.is_to_be_looked_at = False
        self.is_being_looked_at = False

    @property
    def room(self) -> int:
        """How many more firings those may have whose turn is next."""
        return sum(consumer.room for consumer in islice(self._ready.values(), MOST_COUNTED))

    def note_room(self, consumer: Consumer) -> None:
        """Let a consumer with room have its turn, behind the others."""
        if consumer.room:
            self._ready.setdefault(id(consumer), consumer)

    def next_with_room(self) -> Consumer | None:
        """Return the consumer whose turn it is; None: none has room."""
        while self._ready:
            consumer = self._ready.pop(next(iter(self._ready)))
            if consumer.room:
                return consumer
        return None

    def remove(self, consumer: Consumer) -> None:
        """Let a consumer have no turn any more."""
        del self.consumers[id(consumer)]
        self._ready.pop(id(consumer), None)


class Groups:
    """All of them; one thread."""

    def __init__(self) -> None:
        self._groups: dict[str, ConnectedGroup] = {}
        self._holders: dict[EntryKey, Consumer] = {}
        self._bytes: Counter[str] = Counter()
        self.connected: Counter[str] = Counter()

    def __iter__(self) -> Iterator[ConnectedGroup]:
        return iter(list(self._groups.values()))

    @property
    def consumers(self) -> list[Consumer]:
        """Everybody who is connected."""
        return [consumer for group in self._groups.values() for consumer in group.consumers.values()]

    @property
    def number(self) -> int:
        """How many are connected."""
        return self.connected.total()

    def bytes_of(self, app: str) -> int:
        """How many bytes of events an app's consumers hold."""
        return self._bytes[app]

    @property
    def all_bytes(self) -> int:
        """How many all hold."""
        return self._bytes.total()

    def find(self, key: str) -> ConnectedGroup | None:
        """Return the group; None: nobody of it is connected here."""
        return self._groups.get(key)

    def join(self, consumer: Consumer) -> ConnectedGroup:
        """Let a consumer have firings."""
        group = self._groups.setdefault(consumer.group.key, ConnectedGroup(consumer.group))
        group.consumers[id(consumer)] = consumer
        group.note_room(consumer)
        self.connected[consumer.group.app] += 1
        return group

    def leave(self, consumer: Consumer) -> tuple[list[ConsumerEntry], list[ConsumerEntry]]:
        """Let it have no more; return what it had and did not acknowledge, and what was never written to it."""
        group = self._groups[consumer.group.key]
        group.remove(consumer)
        if not group.consumers:
            del self._groups[consumer.group.key]
        self.connected[consumer.group.app] -= 1
        if not self.connected[consumer.group.app]:
            del self.connected[consumer.group.app]
        self._count(consumer, -consumer.bytes_held)
        for key in consumer.held:
            if self._holders.get(key) is consumer:
                del self._holders[key]
        unsent = consumer.unsent()
        return list(consumer.held.values()), unsent

    def has(self, key: EntryKey) -> bool:
        """Tell whether a consumer has the entry."""
        return key in self._holders

    def give(self, consumer: Consumer, entry: ConsumerEntry) -> None:
        """Give an entry to a consumer."""
        consumer.give(entry)
        self._groups[consumer.group.key].note_room(consumer)
        self._holders[entry.firing_id, entry.attempt] = consumer
        self._count(consumer, len(entry.event))

    def let_go(self, key: EntryKey) -> Consumer | None:
        """Note that an entry is no longer to be acknowledged; return who had it here."""
        consumer = self._holders.pop(key, None)
        entry = None if consumer is None else consumer.let_go(key)
        if consumer is not None and entry is not None:
            self._count(consumer, -len(entry.event))
            self._groups[consumer.group.key].note_room(consumer)
        return consumer

    def prolong(self, key: EntryKey, until: int) -> None:
        """Note that an entry may be acknowledged until then, ms UTC."""
        consumer = self._holders.get(key)
        if consumer is not None:
            consumer.prolong(key, until)

    def run_out(self, now: int) -> list[EntryKey]:
        """Return the entries whose time is over."""
        return [key for key, consumer in self._holders.items() if consumer.held[key].ack_by <= now]

    def holding(self) -> list[EntryKey]:
        """Return all entries that are to be acknowledged."""
        return list(self._holders)

    def _count(self, consumer: Consumer, size: int) -> None:
        app = consumer.group.app
        self._bytes[app] += size
        if self._bytes[app] <= 0:
            del self._bytes[app]
