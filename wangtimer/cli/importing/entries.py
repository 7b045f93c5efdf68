"""What was found in a source: schedules that can be read, and those that cannot become timers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# Gives the first so many moments (second argument) after a moment (first), ascending, all in ms UTC.
TheirMoments = Callable[[int, int], list[int]]


class NotTaken(Exception):
    """An entry of a source cannot become a timer; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One schedule of a source, and the timer it is to become.

    `place` is where it stands (a line, a row), `original` its schedule as it is written there. `name` is what it calls,
    for `{name}` in the URL of the target; `key` names the timer. `schedule` and `misfire` are those of v1; `body` is
    what the timer is to send. `moments` are those of the source, by a reading of its dialect that is not ours. `notes`
    say what of it has no counterpart.
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
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry of a source that does not become a timer, and why."""

    place: str
    original: str
    reason: str


Found = Entry | Refusal
