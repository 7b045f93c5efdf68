"""Tells processes at once of what an operator changed."""

from contextlib import suppress
from typing import Protocol

from wangtimer.core.errors import StoreAway


class Tells(Protocol):
    """Tells processes, through Redis, of one kind of what operators set."""

    def tell(self) -> None:
        """Write what SQL has; raises `StoreAway`."""


def tell_soon(*tellers: Tells) -> None:
    """Let a change count within seconds; while Redis is away, the next sweep tells."""
    with suppress(StoreAway):
        for teller in tellers:
            teller.tell()
