"""For a service that cannot be called: it connects to WangTimer, gets firings, and acts on each once."""

import json
import logging
import os
import random
import socket
import threading
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from queue import Queue
from typing import Any, NamedTuple
from urllib.parse import quote

import requests

from .api_key import Bearer, found_key
from .consumer_words import Speaker, Word
from .errors import Problem, Refused, TooFast, Unavailable, refused
from .receiver import Act, NotACallback, ReceivedCall, SeenFirings, StillActing
from .transport import USER_AGENT, Transport

# s; to connect, and without a byte: the service writes every 15 s.
CONNECT_S, SILENT_S = 5.0, 45.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
RETRIES = 5
# A firing that is worked on is prolonged each time so much of its `ackTimeout` has passed.
HEARTBEAT_SHARE = 3
LOOK_EVERY_S = 0.2

_log = logging.getLogger(__name__)


class GivenUp(Exception):
    """Raised by `act`: the firing has failed for good, and is not tried again."""


class _Waiting(NamedTuple):
    """A firing that waits for a worker: when it came, s of the stop-watch, and for how long it is this consumer's."""

    call: ReceivedCall
    came_at: float
    lasts_s: float


class Consumer:
    """Takes firings of a group of consumers, and calls `act` once for each; many may run, on any machines.

    A firing is acknowledged once `act` has returned, and is tried again, here or at another consumer, if it raises or
    this process dies; `GivenUp` ends it. While `act` runs, the firing is prolonged. `act` runs in `workers` threads;
    `window` is how many firings may be here at once, so `workers` at least.

    `url` is that of the stream (`WANGTIMER_STREAM_BIND`, or the proxy before it), `key` an API key with the scope
    `firings:consume`, found as by `Client`. `app` is for a service without keys. `seen` are the firings that were acted
    on; where a restart must not forget them, store `call.id` with the work.

        consumer = Consumer("http://127.0.0.1:5001", "reports", make_report)
        consumer.run()      # until consumer.stop(), by a signal's handler or another thread

    `run` goes on connecting, with growing pauses; it raises `Refused` where the service says that it never will, as for
    a key that counts no more.
    """

    def __init__(
        self,
        url: str,
        group: str,
        act: Act,
        *,
        window: int = 10,
        workers: int = 4,
        key: str | None = None,
        app: str | None = None,
        seen: SeenFirings | None = None,
    ) -> None:
        if not 1 <= workers <= window:
            raise ValueError(
                f"workers is {workers} and window {window}; write 1 or more workers, at most the window"
            )
        own_key = found_key(url) if key is None else key
        self._place = f"{url.rstrip('/')}/v1/consumers/{quote(group, safe='')}"
        self._auth = Bearer(own_key) if own_key else None
        self._headers = {} if app is None else {"WangTimer-App": app}
        self._act = act
        self._window = window
        self._workers = workers
        self._seen = SeenFirings() if seen is None else seen
        self._calls: Queue[_Waiting | None] = Queue()
        transport = Transport(url, SILENT_S, RETRIES, key=own_key or "")
        self._speaker = Speaker(transport, f"/v1/consumers/{quote(group, safe='')}", self._headers)
        self._holding = threading.Lock()
        # By firing and attempt: what it takes until it is prolonged, s, and when it is next (s of the stop-watch).
        self._under_way: dict[tuple[str, int], tuple[ReceivedCall, float, float]] = {}
        # These, and those that wait for a worker.
        self._held: set[tuple[str, int]] = set()
        self._is_stopping = threading.Event()
        self._is_over = False
        self._response: requests.Response | None = None
        self._error: Refused | None = None

    def run(self) -> None:
        """Take firings until `stop`, then end what is under way; raises `Refused`."""
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(self._workers)]
        helpers = [threading.Thread(target=work, daemon=True) for work in (self._beat, self._read_for_ever)]
        for thread in (*workers, *helpers):
            thread.start()
        self._speaker.start()
        try:
            self._is_stopping.wait()
        finally:
            self._end(workers)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Begin no further firing; `run` returns once those under way are done. Any thread may call it."""
        self._is_stopping.set()

    def _end(self, workers: list[threading.Thread]) -> None:
        """End what is under way, tell it, and only then close the connection: others get at once what is left."""
        self._is_stopping.set()
        for _ in workers:
            self._calls.put(None)
        for thread in workers:
            thread.join()
        self._speaker.stop()
        self._is_over = True
        if self._response is not None:
            _break_off(self._response)

    def _read_for_ever(self) -> None:
        tries = 0
        while not self._is_over:
            began_at = time.monotonic()
            try:
                for event in self._events():
                    tries = 0
                    self._take(event)
            except (TooFast, Unavailable) as error:
                _log.warning("the stream takes no consumer now: %s", error)
            except Refused as error:
                self._error = error
                self._is_stopping.set()
                return
            except (
                Exception
            ) as error:  # whatever urllib3 makes of a connection that broke, or was broken off here
                if not self._is_over:
                    _log.info("the connection to the stream broke: %s", error)
            if self._is_stopping.is_set():
                return
            if time.monotonic() - began_at > LONGEST_PAUSE_S:
                tries = 0  # it was connected, though nothing was due
            pause_s = min(FIRST_PAUSE_S * 2**tries, LONGEST_PAUSE_S)
            self._is_stopping.wait(pause_s * random.uniform(0.5, 1.5))
            tries = min(tries + 1, 10)

    def _events(self) -> Iterator[Mapping[str, Any]]:
        """Connect, and yield what comes until the connection ends; raises `Refused`."""
        with requests.Session() as session:
            response = session.get(
                f"{self._place}/events",
                params={"window": self._window},
                headers={**self._headers, "Accept": "text/event-stream", "User-Agent": USER_AGENT},
                auth=self._auth,
                stream=True,
                timeout=(CONNECT_S, SILENT_S),
                allow_redirects=False,
            )
            self._response = response
            if self._is_stopping.is_set():
                return  # what came would be read by nobody, and wait for its time to be over
            if response.status_code != 200:
                raise refused(_problem_of(response))
            yield from _firings_of(lines_of(response.iter_content(None)))

    def _take(self, event: Mapping[str, Any]) -> None:
        """Have a firing worked on, unless the same attempt is under way already, or this consumer stops."""
        if self._is_stopping.is_set():
            return
        body = b64decode(event["bodyBase64"]) if "bodyBase64" in event else event.get("body", "").encode()
        try:
            call = ReceivedCall.read(event["headers"], body)
        except NotACallback as error:
            _log.error("a firing cannot be read, and is left: %s", error)
            return
        lasts_s = event.get("ackTimeoutMs", 30_000) / 1_000
        with self._holding:
            if (call.id, call.attempt) in self._held:
                return
            self._held.add((call.id, call.attempt))
        self._calls.put(_Waiting(call, time.monotonic(), lasts_s))

    def _work(self) -> None:
        while (waiting := self._calls.get()) is not None:
            call = waiting.call
            # Others get it: once the connection is closed, or because its time is over.
            if not self._is_stopping.is_set() and time.monotonic() < waiting.came_at + waiting.lasts_s:
                self._begin(waiting)
                try:
                    word = self._done(call)
                finally:
                    self._forget(call)
                if word is not None:
                    self._speaker.say(word)
            else:
                self._forget(call)

    def _begin(self, waiting: "_Waiting") -> None:
        """Prolong it from now on: what only waits is left to others once its time is over."""
        every_s = max(0.3, waiting.lasts_s / HEARTBEAT_SHARE)
        call = waiting.call
        with self._holding:
            self._under_way[call.id, call.attempt] = (call, every_s, waiting.came_at + every_s)

    def _done(self, call: ReceivedCall) -> Word | None:
        try:
            with self._seen.acting_on(call.id) as is_new:
                if is_new:
                    self._act(call)
        except StillActing:
            return None  # an earlier attempt goes on here, and speaks for the firing
        except GivenUp as error:
            return Word("nack", call.id, call.ack_token, str(error), final=True)
        # Also what would end the thread, such as SystemExit of a parser of arguments: the firing failed.
        except BaseException as error:
            _log.error("acting on firing %s failed, attempt %d", call.id, call.attempt, exc_info=error)
            return Word("nack", call.id, call.ack_token, f"{type(error).__name__}: {error}")
        return Word("ack", call.id, call.ack_token)

    def _forget(self, call: ReceivedCall) -> None:
        with self._holding:
            self._under_way.pop((call.id, call.attempt), None)
            self._held.discard((call.id, call.attempt))

    def _beat(self) -> None:
        """Prolong what is under way, also while this consumer stops."""
        while not self._is_stopping.is_set() or self._under_way:
            time.sleep(LOOK_EVERY_S)
            now = time.monotonic()
            with self._holding:
                late = [(key, held) for key, held in self._under_way.items() if held[2] <= now]
                for key, (call, every_s, _) in late:
                    self._under_way[key] = (call, every_s, now + every_s)
            for _, (call, _, _) in late:
                self._speaker.say(Word("heartbeat", call.id, call.ack_token))


def _break_off(response: requests.Response) -> None:
    """End a connection from which another thread reads: closing would wait for that."""
    with (
        suppress(OSError, ValueError, AttributeError),
        socket.socket(fileno=os.dup(response.raw.fileno())) as same,
    ):
        same.shutdown(socket.SHUT_RDWR)


def _problem_of(response: requests.Response) -> Problem:
    try:
        said = response.json()
        return Problem(
            type=said["type"],
            title=said["title"],
            status=response.status_code,
            detail=said["detail"],
            code=said["code"],
        )
    except (ValueError, KeyError, TypeError):
        status = response.status_code
        # A proxy's answer: it may pass.
        return Problem(
            type="", title="", status=max(status, 500), detail=f"it answered {status}", code=status * 100
        )


def lines_of(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the whole lines of bytes that come in parts."""
    kept = b""
    for part in parts:
        *lines, kept = (kept + part).split(b"\n")
        yield from lines


def _firings_of(lines: Iterator[bytes]) -> Iterator[Mapping[str, Any]]:
    """Read server-sent events (WHATWG HTML, 9.2.6); yield the firings among them."""
    kind, data = "", b""
    for line in lines:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            kind = value.decode()
        elif name == b"data":
            data += value
        elif not line:
            if kind == "firing" and data:
                yield json.loads(data)
            elif kind == "closing":
                _log.info("the stream closes the connection: %s", data.decode(errors="replace"))
            kind, data = "", b""
