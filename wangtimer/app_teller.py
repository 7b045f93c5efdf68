"""The teller: tells processes, through Redis, what operators set for apps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from wangtimer.store.redis.told_by_app import ToldByApp

Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class AppTeller(Generic[Told]):
    """Tells after each change, and again at sweeps: Redis may have been away, or have lost what it was told.

    `in_sql` returns what SQL has, by app; it raises `StoreAway`.
    """

    in_sql: Callable[[], Mapping[str, Told]]
    told: ToldByApp[Told]

    def tell(self) -> None:
        """Write what SQL has of all apps; repeatable. Raises `StoreAway`.

        What was read before another change may be written after it: a sweep mends that.
        """
        self.told.write(self.in_sql())

    def tell_again(self) -> None:
        """Write it if Redis has something else, or has lost it. Raises `StoreAway`."""
        found = self.in_sql()
        if self.told.read() != found:
            self.told.write(found)
