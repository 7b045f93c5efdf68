"""What a target's answer may make of its timer: stop it, put it off, or set its next moment."""

import re
from enum import Enum
from typing import NamedTuple

from wangtimer.core.time.durations import read_duration
from wangtimer.core.time.rfc3339 import read_moment

# The header of an answer.
CONTROL_HEADER = "X-WangTimer-Control"
# A moment that is nearer is put off to here: a timer that sets its own next moment fires at most once in so long.
LEAST_AHEAD_MS = 1_000
MOST_AHEAD_MS = 10 * 366 * 86_400_000
SPELLINGS = "stop, delay=SPAN as in delay=30m, or next=MOMENT as in next=2026-12-01T09:00:00Z"
CONTROL_CHARACTERS = 40
_TEXT = re.compile(r"(?P<version>[0-9]{1,10}) (?P<kind>[a-z]+) (?P<until>[0-9]{1,15})", re.ASCII)


class ControlKind(Enum):
    """What is asked for."""

    STOP = "stop"
    DELAY = "delay"
    NEXT = "next"


class ReplyControl(NamedTuple):
    """`version` is that of the timer that was called: one that was changed since is left alone.

    `until` (ms UTC): a timer that is put off has no moment before; it is the next moment where that is set; 0 for a
    stop.
    """

    version: int
    kind: ControlKind
    until: int = 0

    @property
    def text(self) -> str:
        """The control as it is stored."""
        return f"{self.version} {self.kind.value} {self.until}"


def control_from(text: str) -> ReplyControl:
    """Read back a `text`; raises ValueError for one that this version does not know."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"no control of a timer: {text[:CONTROL_CHARACTERS]!r}")
    return ReplyControl(int(found["version"]), ControlKind(found["kind"]), int(found["until"]))


def read_control(said: str, version: int, now: int) -> ReplyControl:
    """Read the header of an answer that came at `now` (ms UTC); raises ValueError that says what is wrong with it."""
    word, _, value = (part.strip() for part in said.partition("="))
    try:
        if word == "stop" and not value:
            return ReplyControl(version, ControlKind.STOP)
        if word == "delay":
            return _within_bounds(ReplyControl(version, ControlKind.DELAY, now + read_duration(value)), now)
        if word == "next":
            return _within_bounds(ReplyControl(version, ControlKind.NEXT, read_moment(value)), now)
    except (ValueError, OverflowError):
        pass
    shown = "".join(one if one.isprintable() else "?" for one in said[:CONTROL_CHARACTERS])
    raise ValueError(f"the answer's {CONTROL_HEADER} {shown!r} changes nothing: write {SPELLINGS}")


def _within_bounds(control: ReplyControl, now: int) -> ReplyControl:
    if control.until > now + MOST_AHEAD_MS:
        raise ValueError("too far ahead")
    return control._replace(until=max(control.until, now + LEAST_AHEAD_MS))
