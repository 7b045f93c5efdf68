"""Tells processes at once of what an operator changed."""

from contextlib import suppress
from typing import Any

from wangtimer.core.errors import StoreAway
from wangtimer.store.replica import Replica


def tell_soon(*replicas: Replica[Any]) -> None:
    """Let a change count within seconds; while Redis is away, the next sweep tells."""
    with suppress(StoreAway):
        for replica in replicas:
            replica.tell()
