"""The teller: tells processes, through Redis, what operators set for apps and for calls."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from wangtimer.store.redis.told_rules import ToldRules

Rules = TypeVar("Rules")


@dataclass(frozen=True, slots=True)
class Teller(Generic[Rules]):
    """Tells after each change, and again at sweeps: Redis may have been away, or have lost what it was told.

    `in_sql` returns what SQL has; it raises `StoreAway`.
    """

    in_sql: Callable[[], Rules]
    told: ToldRules[Rules]

    def tell(self) -> None:
        """Write what SQL has; repeatable. Raises `StoreAway`.

        What was read before another change may be written after it: a sweep mends that.
        """
        self.told.write(self.in_sql())

    def tell_again(self) -> None:
        """Write it if Redis has something else, or has lost it. Raises `StoreAway`."""
        found = self.in_sql()
        if self.told.read() != found:
            self.told.write(found)
