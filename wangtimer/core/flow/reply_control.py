"""What a target's answer makes of its timer: it stops it, puts it off, or sets its next moment."""

import re
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from wangtimer.core.time.durations import read_duration
from wangtimer.core.time.rfc3339 import read_moment

# What an outcome tells of it is of this kind, and a `ReplyControl.text`.
CONTROL = "control"
# The header of an answer.
CONTROL_HEADER = "X-WangTimer-Control"
# A moment that is nearer is put off to here: a timer that sets its own next moment fires at most once in so long.
LEAST_AHEAD_MS = 1_000
MOST_AHEAD_MS = 10 * 366 * 86_400_000
# A moment that is past for longer is a mistake, such as a local time that is said to be UTC.
LONGEST_PAST_MS = 60_000
# An answer within so long of its firing's moment came at once.
AT_ONCE_MS = 1_000
SPELLINGS = "stop, delay=SPAN as in delay=30m, or next=MOMENT as in next=2026-12-01T09:00:00Z"
CONTROL_CHARACTERS = 40
_TEXT = re.compile(r"(?P<version>[0-9]{1,10}) (?P<kind>[a-z]+) (?P<until>[0-9]{1,15})", re.ASCII)


class ControlKind(Enum):
    """What is asked for."""

    STOP = "stop"
    DELAY = "delay"
    NEXT = "next"
    # No header asks for it: the answer was 410 Gone.
    GONE = "gone"


class ReplyControl(NamedTuple):
    """`version` is that of the timer that was called: one that was changed since is left alone.

    `until` (ms UTC): a timer that is put off has no moment before; it is the next moment where that is set; 0 for a
    stop. Where the target is gone, it is the version of the named target that was called, 0 for none.
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


def read_control(said: str, version: int, now: int, fire_at: int = 0) -> ReplyControl:
    """Read the header of an answer that came at `now` to the firing of `fire_at` (both ms UTC).

    A span counts from the firing's moment where the answer came within a second of it: so a delay of an interval or a
    day leaves out as many moments as it says. Raises ValueError that says what is wrong with the header.
    """
    word, _, value = (part.strip() for part in said.partition("="))
    shown = "".join(character if character.isprintable() else "?" for character in said[:CONTROL_CHARACTERS])
    # Whoever hides secrets in it knows by the "…" that one may be cut off there.
    shown += "…" if len(said) > CONTROL_CHARACTERS else ""
    wrong = f"the answer's {CONTROL_HEADER} '{shown}' changes nothing:"
    control = None
    with suppress(ValueError, OverflowError):
        if word == "stop" and not value:
            return ReplyControl(version, ControlKind.STOP)
        if word == "delay":
            begins_at = fire_at if now - AT_ONCE_MS <= fire_at else now
            control = ReplyControl(version, ControlKind.DELAY, begins_at + read_duration(value))
        elif word == "next":
            control = ReplyControl(version, ControlKind.NEXT, read_moment(value))
    if control is None:
        raise ValueError(f"{wrong} write {SPELLINGS}")
    if control.until > now + MOST_AHEAD_MS:
        raise ValueError(f"{wrong} it is more than ten years ahead")
    if control.until < now - LONGEST_PAST_MS:
        raise ValueError(f"{wrong} the moment is past; write it with its offset from UTC, or with Z for UTC")
    return control._replace(until=max(control.until, now + LEAST_AHEAD_MS))
