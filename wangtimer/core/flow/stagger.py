"""Firings asked for together, spread over time."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stagger:
    """`per_second` firings a second, the first at `first_at` (ms UTC)."""

    first_at: int
    per_second: int

    def due_at(self, number: int) -> int:
        """Return when the firing of this number (from 0) is due, ms UTC."""
        return self.first_at + number * 1_000 // self.per_second
