"""The entries of a source: those that can become timers, and those that cannot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Takes a moment and a number; returns that many moments after it, ascending, all in ms UTC.
TheirMoments = Callable[[int, int], list[int]]


class NotTaken(Exception):
    """An entry of a source cannot become a timer; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One schedule of a source, and the timer it becomes.

    `place` is where the entry is (a line, a row), `original` its schedule as written there. `name` is what it calls,
    for `{name}` in the URL of the target; `key` names the timer. `schedule`, `misfire` and `overlap` are in v1's
    form; `body` is what the timer sends, and `options` how the source would send it. `moments` are the source's, by a
    reading of its dialect that is independent of ours. `notes` name the parts that have no counterpart.
    """

    place: str
    original: str
    key: str
    name: str
    schedule: Mapping[str, Any]
    body: Mapping[str, Any]
    moments: TheirMoments
    is_enabled: bool = True
    misfire: Mapping[str, Any] | None = None
    overlap: str | None = None
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry of a source that does not become a timer, and why."""

    place: str
    original: str
    reason: str


Found = Entry | Refusal
