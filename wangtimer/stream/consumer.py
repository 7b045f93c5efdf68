"""One connected consumer: what was given to it and not acknowledged, and what is still to be written."""

import asyncio
from collections import deque
from dataclasses import replace

from starlette.types import Message, Receive, Send

from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup

# Bytes written at once.
PART_BYTES = 65_536
COMMENT = b":\n\n"
# An entry: the firing's id, and the attempt.
EntryKey = tuple[str, int]


class Consumer:
    """`window` is how many firings it may have that are not acknowledged; `key_id` is its API key; None: it needs none.

    A consumer that lets all of its firings run out of time, again and again, acknowledges nothing: it is sent away.
    """

    __slots__ = (
        "_out",
        "_wake",
        "bytes_held",
        "group",
        "held",
        "key_id",
        "run_out",
        "why_over",
        "window",
    )

    def __init__(self, group: ConsumerGroup, window: int, key_id: str | None) -> None:
        self.group = group
        self.window = window
        self.key_id = key_id
        self.held: dict[EntryKey, ConsumerEntry] = {}
        self.bytes_held = 0
        # Firings in a row that ran out of time.
        self.run_out = 0
        # Why the connection ends; "": it goes on.
        self.why_over = ""
        self._out: deque[ConsumerEntry | bytes] = deque()
        self._wake = asyncio.Event()

    @property
    def room(self) -> int:
        """How many more firings it may have."""
        return 0 if self.why_over else max(0, self.window - len(self.held))

    def give(self, entry: ConsumerEntry) -> None:
        """Have an entry written to it; it is held until it is acknowledged."""
        self.held[entry.firing_id, entry.attempt] = entry
        self.bytes_held += len(entry.event)
        self._out.append(entry)
        self._wake.set()

    def let_go(self, key: EntryKey) -> ConsumerEntry | None:
        """Hold an entry no longer, and do not write it if it is not written yet; None: it is not held."""
        entry = self.held.pop(key, None)
        if entry is not None:
            self.bytes_held -= len(entry.event)
            if self._out:
                self._out = deque(
                    piece for piece in self._out if isinstance(piece, bytes) or _key_of(piece) != key
                )
        return entry

    def prolong(self, key: EntryKey, until: int) -> None:
        """Let an entry be acknowledged until then, ms UTC."""
        if key in self.held:
            self.held[key] = replace(self.held[key], ack_by=until)

    def say_nothing(self) -> None:
        """Write a comment, so that proxies keep the connection and a dead one is noticed."""
        if not self._out:
            self._out.append(COMMENT)
            self._wake.set()

    def end(self, why: str) -> None:
        """End the connection; `why` is told if it can be."""
        self.why_over = self.why_over or why
        self._wake.set()

    def unsent(self) -> list[ConsumerEntry]:
        """Return the entries of which nothing was written, which are held no longer."""
        keys = [_key_of(piece) for piece in self._out if isinstance(piece, ConsumerEntry)]
        self._out.clear()
        return [entry for key in keys if (entry := self.let_go(key)) is not None]

    async def serve(self, send: Send, receive: Receive, slow_s: float) -> None:
        """Write what is given, until the connection ends; raises TimeoutError where nothing is read for `slow_s`."""
        gone = asyncio.create_task(self._notice_end(receive))
        try:
            while not self.why_over:
                await self._wake.wait()
                self._wake.clear()
                while self._out and not self.why_over:
                    async with asyncio.timeout(slow_s):
                        await send(_body(self._next_part()))
        finally:
            gone.cancel()

    async def _notice_end(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end("the consumer closed the connection")

    def _next_part(self) -> bytes:
        parts, size = [], 0
        while self._out and size < PART_BYTES:
            piece = self._out.popleft()
            text = piece if isinstance(piece, bytes) else event_text(piece)
            parts.append(text)
            size += len(text)
        return b"".join(parts)


def _key_of(entry: ConsumerEntry) -> EntryKey:
    return entry.firing_id, entry.attempt


def event_text(entry: ConsumerEntry) -> bytes:
    """Return an entry as a server-sent event; its JSON has no line breaks."""
    return b"event: firing\nid: %b\ndata: %b\n\n" % (entry.firing_id.encode(), entry.event)


def closing_text(why: str) -> bytes:
    """Return the event that says why the connection ends."""
    return b"event: closing\ndata: %b\n\n" % " ".join(why.split()).encode()


def _body(part: bytes) -> Message:
    return {"type": "http.response.body", "body": part, "more_body": True}
