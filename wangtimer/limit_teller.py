"""The limit teller: tells callback processes, through Redis, what operators set for calls."""

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from wangtimer.store.redis.told_rules import ToldRules

Told = TypeVar("Told")
Source = TypeVar("Source", covariant=True)


class LimitSource(Protocol[Source]):
    """Where operators' limits of one kind are."""

    def of_calls(self) -> Source:
        """Return all of them; raises `StoreAway`."""


@dataclass(frozen=True, slots=True)
class LimitTeller(Generic[Told]):
    """Tells after each change, and again at sweeps: Redis may have been away, or have lost what it was told."""

    source: LimitSource[Told]
    told: ToldRules[Told]

    def tell(self) -> None:
        """Write all limits; repeatable. Raises `StoreAway`.

        What was read before another change may be written after it: a sweep mends that.
        """
        self.told.write(self.source.of_calls())

    def tell_again(self) -> None:
        """Write all limits if Redis has others, or has lost them. Raises `StoreAway`."""
        limits = self.source.of_calls()
        if self.told.read() != limits:
            self.told.write(limits)
