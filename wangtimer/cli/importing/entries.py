"""The entries of a source: those that can become timers, and those that cannot; their keys, and simple moments."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# A key has 128 characters at most. This leaves room for a number at the end.
MOST_OF_NAME = 120
_UNFIT = re.compile(r"[^\w.:@+-]+")

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


def fit_for_key(text: str) -> str:
    """Return the text as a valid key: without spaces, and without a slash, which a path cannot hold."""
    return _UNFIT.sub("-", text).strip("-")[:MOST_OF_NAME] or "timer"


def numbering() -> Callable[[str], str]:
    """Return a function that makes names unique: the second of a name gets `-2`, and so on."""
    given: dict[str, int] = {}

    def next_of(name: str) -> str:
        key, number = name, given.get(name, 0)
        while key in given:
            number += 1
            key = f"{name}-{number + 1}"
        given[key] = 0
        if key != name:
            given[name] = number
        return key

    return next_of


def every_so_often(interval_ms: int, first_ms: int, most: int | None = None) -> TheirMoments:
    """Return the moments of an interval from its first on (ms UTC), `most` of them at most."""

    def moments(after_ms: int, count: int) -> list[int]:
        number = max(0, (after_ms - first_ms) // interval_ms + 1)
        end = number + count if most is None else min(number + count, most)
        return [first_ms + one * interval_ms for one in range(number, end)]

    return moments


def only_once(moment_ms: int) -> TheirMoments:
    """Return the one moment (ms UTC), until it is past."""
    return lambda after_ms, count: [moment_ms][:count] if moment_ms > after_ms else []
