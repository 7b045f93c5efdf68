"""Groups of consumers, and what they get: entries that stand in Redis until a consumer has room."""

import re
from base64 import b64encode
from dataclasses import dataclass, replace
from typing import Self

import orjson

GROUP_CHARACTERS = 64
GROUP_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
_GROUP = re.compile(GROUP_PATTERN, re.ASCII)
# How long consumers have to acknowledge a firing, where its target says nothing else.
USUAL_ACK_MS = 30_000


def is_group(name: str) -> bool:
    """Tell whether a group may have this name."""
    return len(name) <= GROUP_CHARACTERS and bool(_GROUP.fullmatch(name))


@dataclass(frozen=True, slots=True, order=True)
class ConsumerGroup:
    """A group of an app: each firing goes to one of its consumers."""

    app: str
    name: str

    @property
    def key(self) -> str:
        """Its name among all groups; no group has a slash in its name."""
        return f"{self.app}/{self.name}"


@dataclass(frozen=True, slots=True)
class ConsumerEntry:
    """One attempt of a firing for a consumer.

    `ack_by` (ms UTC) is when it is tried again unless it was acknowledged; `returned` how often the connection of who
    had it ended. `event` is the JSON that a consumer gets.
    """

    firing_id: str
    attempt: int
    ack_by: int
    event: bytes
    returned: int = 0

    def returned_once_more(self) -> Self:
        """Return it as it stands after the connection of who had it ended."""
        return replace(self, returned=self.returned + 1)


def event_parts(firing_id: str, attempt: int, headers: dict[str, str], body: bytes) -> bytes:
    """Return the event of a firing without its end: `event_of` adds by when it is to be acknowledged."""
    said: dict[str, object] = {"id": firing_id, "attempt": attempt, "headers": headers}
    try:
        said["body"] = body.decode()
    except UnicodeDecodeError:
        said["bodyBase64"] = b64encode(body).decode()
    return orjson.dumps(said)


def event_of(parts: bytes, ack_by_text: str, ack_ms: int) -> bytes:
    """Return the whole event."""
    return b'%b,"ackTimeoutMs":%d,"ackBy":"%b"}' % (parts[:-1], ack_ms, ack_by_text.encode())
