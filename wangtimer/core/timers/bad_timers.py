"""Timers that one process could not read or judge: each is named, and harms no other."""

from collections.abc import Mapping
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger()

Key = TypeVar("Key")
Item = TypeVar("Item")

# A reason is shown in tables, and written into a firing's error.
REASON_CHARACTERS = 200


class Readable(dict[Key, Item], Generic[Key, Item]):
    """The items that could be read, by key. `bad` has the reasons of the others. Missing items are in neither."""

    __slots__ = ("bad",)

    def __init__(self, found: Mapping[Key, Item] | None = None, bad: Mapping[Key, str] | None = None) -> None:
        super().__init__(found or {})
        self.bad: dict[Key, str] = dict(bad or {})


class BadTimers:
    """Names bad timers in the log. Stores and stages report them here, and go on with the others."""

    def note(self, reasons: Mapping[int, str]) -> None:
        """Note why timers, by id, cannot be read, judged or planned; never raises."""
        for timer_id, reason in reasons.items():
            log.error("timer_is_bad", timer_id=timer_id, reason=reason)


def reason_of(doing: str, error: Exception) -> str:
    """Return why something could not be done, in one line."""
    text = " ".join(str(error).split())
    return f"{doing}: {type(error).__name__}: {text}"[:REASON_CHARACTERS]
