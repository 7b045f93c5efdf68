"""How many different timers a trouble has, in a few KB whatever their number."""

from collections.abc import Iterable
from dataclasses import dataclass

# Marks that are kept: up to so many timers are counted one by one, more by their least marks, which err by some 4 %
# (Bar-Yossef et al., "Counting distinct elements in a data stream", 2002).
MOST_MARKS = 512
_BITS = 53
_WORD = 2**64 - 1


@dataclass(frozen=True, slots=True)
class TimerCount:
    """The least marks of the timers that were counted, in order; a timer counts once."""

    marks: tuple[int, ...] = ()

    def with_timers(self, timer_ids: Iterable[int]) -> "TimerCount":
        """Return it with these too."""
        marks = {*self.marks, *map(_mark, timer_ids)}
        return TimerCount(tuple(sorted(marks)[:MOST_MARKS]))

    @property
    def is_exact(self) -> bool:
        """Whether each of them was counted."""
        return len(self.marks) < MOST_MARKS

    @property
    def number(self) -> int:
        """How many they are, or some as many."""
        if self.is_exact:
            return len(self.marks)
        return (MOST_MARKS - 1) * (1 << _BITS) // self.marks[-1]


NO_TIMERS = TimerCount()


def _mark(timer_id: int) -> int:
    """Spread ids evenly (splitmix64)."""
    mixed = (timer_id + 0x9E3779B97F4A7C15) & _WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
    return ((mixed ^ (mixed >> 31)) >> (64 - _BITS)) or 1
