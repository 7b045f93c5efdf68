"""Tells Redis of what many timers share, where that changed lately: its changer may have died before it did.

That is how apps sign their callbacks, and their named targets.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from wangtimer.core.timers.bad_timers import Readable

log = structlog.get_logger()

# Rows of a page: a named target may have a body of 64 KiB.
PAGE = 200


class ChangedRows(Protocol):
    """A store that tells what changed; a key is the moment of a change (ms UTC), then what names the row."""

    def changed_behind(self, key: Any, limit: int, /) -> tuple[Readable[Any, Any], Any | None]:
        """Return a page of what changed after this key, oldest first, and where to go on; None at the end."""


class Copied(Protocol):
    """The copies in Redis."""

    def put(self, found: Iterable[Any], /) -> None:
        """Write copies unless newer ones are there; raises `StoreAway`."""


@dataclass(frozen=True, slots=True)
class CopyRefresher:
    """Copies from SQL to Redis; a copy that is there already costs nothing. `names` is how many texts name a row."""

    kind: str
    store: ChangedRows
    copies: Copied
    names: int = 1

    def refresh(self, since: int) -> None:
        """Copy what changed since then, ms UTC; 0: all, since Redis has lost what it had. Raises `StoreAway`."""
        behind: tuple[Any, ...] | None = (since, *[""] * self.names)
        while behind is not None:
            changed, behind = self.store.changed_behind(behind, PAGE)
            self.copies.put(changed.values())
            for key, reason in changed.bad.items():
                log.error("shared_cannot_be_read", kind=self.kind, key=key, reason=reason)
