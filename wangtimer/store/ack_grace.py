"""The grace of accepted firings: while SQL was away, no target could say that it is done."""

from contextlib import suppress

from wangtimer.core.errors import StoreAway
from wangtimer.store.replica import ReplicaTexts

# After an outage no accepted firing ends for so long: a target that got 503 repeats its word well within it.
GRACE_MS = 60_000
_NAME = "ack-grace"


class AckGrace:
    """In Redis: when a sweep last read SQL, and from when on firings end; moments in ms UTC.

    Without a word for `silent_ms`, SQL or the sweeps were away. Where Redis has lost it, what this process wrote
    counts.
    """

    def __init__(self, texts: ReplicaTexts, silent_ms: int) -> None:
        self._texts = texts
        self._silent_ms = silent_ms
        self._written = ""

    def is_over(self, now: int) -> bool:
        """Note that a sweep has read SQL; tell whether accepted firings end. Raises `StoreAway`."""
        (text,) = self._texts.read([_NAME])
        text = self._written if text is None else text
        read_at, ends_from = map(int, (text or "0 0").split())
        if abs(now - read_at) > self._silent_ms:
            ends_from = now + GRACE_MS
        self._write(f"{now} {ends_from}")
        return now >= ends_from

    def begin_anew(self) -> None:
        """Note that SQL is away; what fails here, the silence tells."""
        with suppress(StoreAway):
            self._write("")

    def _write(self, text: str) -> None:
        self._written = text
        self._texts.write(_NAME, text)
