"""The note teller: what calls come upon is noted at once, and told later by a thread of its own."""

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Generic, TypeVar

from wangtimer.base.loop import Loop
from wangtimer.core.time.clock import Clock

Key = TypeVar("Key")
Value = TypeVar("Value")

# Notes that wait to be told. A further one is left out: calls come upon it again.
MOST_NOTED = 1_000
# Notes that come within this are told together.
GATHER_S = 0.1


class NoteTeller(Generic[Key, Value]):
    """No call and no outcome waits until it is told. A note that is lost is no harm: calls come upon it again.

    `tell` takes all notes, the last one of each key; its errors are logged.
    """

    def __init__(self, name: str, tell: Callable[[Mapping[Key, Value]], None], clock: Clock) -> None:
        self._tell = tell
        self._clock = clock
        self._noted: dict[Key, Value] = {}
        self._lock = Lock()
        self.loop = Loop(f"{name}-teller", self._gather_and_tell)

    def note(self, key: Key, value: Value) -> None:
        """Note a value, in place of an earlier one of the key; quick, from any thread."""
        with self._lock:
            if key in self._noted or len(self._noted) < MOST_NOTED:
                self._noted[key] = value
        self.loop.wake()

    def tell(self) -> None:
        """Tell what is noted; nothing if there is nothing."""
        with self._lock:
            noted, self._noted = self._noted, {}
        if noted:
            self._tell(noted)

    def _gather_and_tell(self) -> None:
        self._clock.sleep(GATHER_S)
        self.tell()
