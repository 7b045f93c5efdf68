"""The queues of their own that apps may have: each has a name, and a number by which firings name it."""

import re
from dataclasses import dataclass

from wangtimer.core.near_misses import near_miss

# The queue of all apps without one of their own.
CALLBACK = "callback"
# A firing's bucket holds the number of its queue: 5 bits are set apart for it.
MOST_QUEUES = 31
QUEUE_CHARACTERS = 32
_NO_NAME = "none"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")


def message_queue(name: str) -> str:
    """Return the queue of messages to the callback processes of an own queue."""
    return f"{CALLBACK}.{name}"


def is_for_callbacks(queue: str) -> bool:
    """Tell whether a queue of messages is one of callback processes."""
    return queue == CALLBACK or queue.startswith(message_queue(""))


@dataclass(frozen=True, slots=True)
class OwnQueues:
    """The names, in the order of their numbers, from 1 on. Number 0 is the common queue."""

    names: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> "OwnQueues":
        """Read names with commas between. Raises `ValueError`."""
        names = tuple(filter(None, (name.strip() for name in text.split(","))))
        if _NO_NAME in names:
            raise ValueError(f"{_NO_NAME!r} says that an app has no queue of its own; write another name")
        for name in names:
            if len(name) > QUEUE_CHARACTERS or not _NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r}: write small letters, digits and hyphens, {QUEUE_CHARACTERS} at most"
                )
        if len(set(names)) < len(names):
            raise ValueError("a name stands there twice")
        if len(names) > MOST_QUEUES:
            raise ValueError(f"{len(names)} names, more than the {MOST_QUEUES} there may be")
        return cls(names)

    def number_of(self, name: str | None) -> int:
        """Return the number of a queue; 0 for one that is not known here."""
        return self.names.index(name) + 1 if name in self.names else 0

    def name_of(self, number: int) -> str | None:
        """Return the name of a queue; None for the common one, and for one that is not known here."""
        return self.names[number - 1] if 1 <= number <= len(self.names) else None

    def message_queue_of(self, number: int) -> str:
        """Return the queue of messages of a queue; the common one for a number that is not known here."""
        name = self.name_of(number)
        return CALLBACK if name is None else message_queue(name)

    def meant_by(self, name: str) -> str | None:
        """Return the queue that somebody meant who wrote an unknown name; None if none is near enough."""
        return near_miss(name, self.names)
