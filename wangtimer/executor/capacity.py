"""Capacity: how much is held, and who waits to hold more."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock


@dataclass(eq=False, slots=True)
class _Waiter:
    number: int
    kind: Callable[[], int]
    is_in: Event = field(default_factory=Event)


class Capacity:
    """Lets in those for whom there is room; the others wait, one line for each kind, and kind 0 goes first.

    `has_room(held, kind)` tells whether one of this kind may come in. While one waits its kind may grow, as what was on
    time becomes late. Who gives something back lets in those that have room now, and wakes no other. If hundreds of
    threads were woken each time, most of them to wait again, they would take the CPU from those that are in.
    """

    def __init__(self, kinds: int, has_room: Callable[[int, int], bool]) -> None:
        self._has_room = has_room
        self._held = 0
        self._lines: list[OrderedDict[_Waiter, None]] = [OrderedDict() for _ in range(kinds)]
        self._lock = Lock()

    @property
    def held(self) -> int:
        """How much is held."""
        return self._held

    def has_room(self, kind: int) -> bool:
        """Tell whether one of this kind would be let in now."""
        return self._has_room(self._held, kind)

    def enter(self, number: int, kind: Callable[[], int], patience_s: float) -> bool:
        """Wait until there is room, and hold so much more; False where that took longer than `patience_s`."""
        with self._lock:
            now = kind()
            if self._has_room(self._held, now):
                self._held += number
                return True
            if patience_s <= 0:
                return False
            waiter = _Waiter(number, kind)
            self._lines[now][waiter] = None
        if waiter.is_in.wait(patience_s):
            return True
        with self._lock:
            for line in self._lines:
                line.pop(waiter, None)
            return waiter.is_in.is_set()

    def hold(self, number: int) -> None:
        """Hold so much more, whether or not there is room."""
        with self._lock:
            self._held += number

    def give(self, number: int) -> None:
        """Hold so much less, and let in who has room now."""
        if number:
            with self._lock:
                self._held -= number
                self._let_in()

    def _let_in(self) -> None:
        for kind, line in enumerate(self._lines):
            while line and self._has_room(self._held, kind):
                waiter, _ = line.popitem(last=False)
                if (grown := waiter.kind()) > kind:
                    self._lines[grown][waiter] = None
                else:
                    self._held += waiter.number
                    waiter.is_in.set()
