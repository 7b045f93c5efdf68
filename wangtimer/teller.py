"""The teller: tells processes, through Redis, what operators set for apps and for calls."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from wangtimer.store.redis.told_rules import ToldRules

Rules = TypeVar("Rules")

# Tellings at most: another change may come while one is told.
MOST_TELLINGS = 5


@dataclass(frozen=True, slots=True)
class Teller(Generic[Rules]):
    """Tells after each change, and again at sweeps: Redis may have been away, or have lost what it was told.

    `in_sql` returns what SQL has; it raises `StoreAway`.
    """

    in_sql: Callable[[], Rules]
    told: ToldRules[Rules]

    def tell(self) -> None:
        """Write what SQL has; repeatable. Raises `StoreAway`.

        What was read before another change may be written after it. So SQL is asked again until nothing has changed.
        """
        found = self.in_sql()
        for _ in range(MOST_TELLINGS):
            self.told.write(found)
            told, found = found, self.in_sql()
            if found == told:
                return

    def tell_again(self) -> None:
        """Write it if Redis has something else, or has lost it. Raises `StoreAway`."""
        self.tell_instead_of(self.told.read())

    def tell_instead_of(self, found: Rules | None) -> None:
        """The same, where `found` is what Redis has; None if it has lost it."""
        if found != self.in_sql():
            self.tell()
