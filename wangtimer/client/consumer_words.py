"""Tells the stream what became of firings: many in one request, so that no thread waits for each answer."""

import json
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .errors import BadAnswer, Refused
from .transport import Call, Transport

MOST_AT_ONCE = 500
# The stream takes a body of 1 MiB; a proxy before it may take less.
MOST_BYTES_AT_ONCE = 500_000
TOO_LARGE = 413
# s; how long a word is told again that the service could not record.
PATIENCE_S = 60.0
PAUSE_S = 1.0
SHOWN_CHARACTERS = 2_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Word:
    """What is said of a firing: `ack`, `nack` or `heartbeat`."""

    verb: str
    id: str
    token: str
    error: str = ""
    final: bool = False

    def written(self) -> dict[str, object]:
        """Return it as it stands in a request."""
        said: dict[str, object] = {"id": self.id, "token": self.token}
        if self.verb == "nack":
            # Names of files and arguments may have what is no UTF-8.
            error = self.error[:SHOWN_CHARACTERS].encode("utf-8", "replace").decode()
            said |= {"error": error, "final": self.final}
        return said


class Speaker:
    """One thread. Words that cannot be told are dropped after a minute: their firings come again."""

    def __init__(self, transport: Transport, place: str, headers: Mapping[str, str]) -> None:
        self._transport = transport
        self._place = place
        self._headers = dict(headers)
        self._words: deque[tuple[Word, float]] = deque()
        self._has_words = threading.Condition()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._speak, daemon=True)

    def start(self) -> None:
        """Start; once."""
        self._thread.start()

    def say(self, word: Word) -> None:
        """Have a word told soon."""
        with self._has_words:
            self._words.append((word, time.monotonic()))
            self._has_words.notify()

    def stop(self) -> None:
        """Return once all is told, or cannot be."""
        with self._has_words:
            self._is_stopping = True
            self._has_words.notify()
        self._thread.join()
        self._transport.close()

    def _speak(self) -> None:
        while words := self._next():
            by_verb: dict[str, list[tuple[Word, float]]] = defaultdict(list)
            for timed in words:
                by_verb[timed[0].verb].append(timed)
            untold = [
                timed
                for verb, timed_words in by_verb.items()
                for batch in _batches(timed_words)
                for timed in self._tell(verb, batch)
            ]
            if untold:
                now = time.monotonic()
                with self._has_words:
                    self._words.extend(timed for timed in untold if now - timed[1] < PATIENCE_S)
                time.sleep(PAUSE_S)

    def _next(self) -> list[tuple[Word, float]]:
        """Wait for words; return some, none once this stops and all are told."""
        with self._has_words:
            while not self._words and not self._is_stopping:
                self._has_words.wait()
            return [self._words.popleft() for _ in range(min(MOST_AT_ONCE, len(self._words)))]

    def _tell(self, verb: str, words: list[tuple[Word, float]]) -> list[tuple[Word, float]]:
        """Tell words of one kind, in halves where they are too large; return those that are to be told again."""
        body = {"firings": [word.written() for word, _ in words]}
        try:
            answer = self._transport.ask(
                Call("POST", f"{self._place}:{verb}", body=body, header=self._headers)
            )
            items = answer.body["items"]
        except Exception as error:  # whatever it is: all further words go through this thread
            # A proxy says so in words of its own.
            if isinstance(error, Refused | BadAnswer) and error.status == TOO_LARGE and len(words) > 1:
                half = len(words) // 2
                return [*self._tell(verb, words[:half]), *self._tell(verb, words[half:])]
            _log.warning("the stream could not be told of %d firings: %s", len(words), error)
            return words if verb != "heartbeat" else []
        again = []
        for timed, item in zip(words, items, strict=False):
            problem = item.get("problem")
            if problem is None:
                continue
            if problem["status"] >= 500 and verb != "heartbeat":
                again.append(timed)
            else:
                _log.warning("%s of firing %s did not count: %s", verb, timed[0].id, problem["detail"])
        return again


def _batches(words: list[tuple[Word, float]]) -> Iterator[list[tuple[Word, float]]]:
    batch: list[tuple[Word, float]] = []
    size = 0
    for timed in words:
        bytes_of_one = len(json.dumps(timed[0].written(), ensure_ascii=False).encode())
        if batch and size + bytes_of_one > MOST_BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
        batch.append(timed)
        size += bytes_of_one
    if batch:
        yield batch
