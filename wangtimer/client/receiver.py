"""For the service that is called: reads callbacks, and acts on each firing once."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from .verification import BadSignature, Verification

MOST_SEEN = 100_000
KEPT_S = 86_400.0
MOST_BODY_BYTES = 1_048_576
MOST_TIMER_ID = 2**63 - 1
# Of a header, in an error.
SHOWN_CHARACTERS = 50

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ID, _OURS = "webhook-id", "x-wangtimer-"
_TIMER, _FIRE_AT = f"{_OURS}timer", f"{_OURS}fire-at"


class NotACallback(ValueError):
    """A request whose headers are not those of a callback, or whose body was cut off: answer 400."""


class StillActing(Exception):
    """Another attempt of the same firing is being processed: answer 503, and the firing is tried again."""


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """A callback: the firing's `id`, the same on every attempt; the timer, its app, the moment, the attempt (from 1).

    `id` is `TIMER-MOMENT`. `body` has the bytes that were sent. `ack_token` is what `Client.ack_firing` takes, of a
    timer with `ackTimeout`; "" of any other.

    A call of a numbered timer has its `sequence`, when the last moment before it succeeded (None: none is known), and
    how many were lost since (1,000: that many or more); others have None. `GapWatch` reads them.
    """

    id: str
    timer_id: int
    app: str
    fire_at: datetime
    attempt: int
    body: bytes = b""
    ack_token: str = ""
    sequence: int | None = None
    last_success_at: datetime | None = None
    lost_since: int | None = None

    @classmethod
    def read(cls, headers: Mapping[str, str], body: bytes = b"") -> "ReceivedCall":
        """Read a request's headers, named in any case; raises `NotACallback`."""
        named = {name.lower(): value for name, value in headers.items()}
        try:
            timer_id, fire_at_ms = int(named[_TIMER]), int(named[_FIRE_AT])
            call = cls(
                named[_ID],
                timer_id,
                named[f"{_OURS}app"],
                _moment(fire_at_ms),
                int(named[f"{_OURS}attempt"]),
                body,
                named.get(f"{_OURS}ack-token", ""),
                _number(named, "sequence"),
                None if (succeeded_at := _number(named, "last-success")) is None else _moment(succeeded_at),
                _number(named, "lost-since"),
            )
        except KeyError as error:
            raise NotACallback(f"the request has no header {error.args[0]}: it is not a callback") from None
        except (ValueError, OverflowError) as error:
            raise NotACallback(f"a header of the callback cannot be read: {error}") from None
        _refuse_contradictions(call, fire_at_ms)
        return call


def _moment(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)


def _number(named: Mapping[str, str], name: str) -> int | None:
    text = named.get(f"{_OURS}{name}")
    return None if text is None else int(text)


def _refuse_contradictions(call: ReceivedCall, fire_at_ms: int) -> None:
    """Raise `NotACallback` for an id that no firing has: receivers remember ids, so one may not be of any length."""
    if not 0 < call.timer_id <= MOST_TIMER_ID:
        raise NotACallback(f"header {_TIMER} is not the id of a timer: write 1 to {MOST_TIMER_ID}")
    expected = f"{call.timer_id}-{fire_at_ms}"
    if call.id != expected:
        shown = call.id[:SHOWN_CHARACTERS]
        raise NotACallback(f"header {_ID} is {shown}; by {_TIMER} and {_FIRE_AT} it is {expected}")


class SeenFirings:
    """The firings that this process has acted on: up to `most` of them, for `kept_s` seconds.

    It is safe for any number of threads. A restart forgets them, and another process does not know them. Where that
    matters, store the firing's id under a unique key, in the transaction that does the work.
    """

    def __init__(
        self,
        most: int = MOST_SEEN,
        kept_s: float = KEPT_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._kept_s = kept_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._acting: set[str] = set()
        # Ordered: the oldest first.
        self._acted: dict[str, float] = {}

    @contextmanager
    def acting_on(self, firing_id: str) -> Iterator[bool]:
        """Yield whether this firing is new; if the block raises, it is new again for the next attempt.

        Raises `StillActing` while another thread acts on it.
        """
        is_new = self._begin(firing_id)
        try:
            yield is_new
        except BaseException:
            self._end(firing_id, is_new, is_done=False)
            raise
        self._end(firing_id, is_new, is_done=True)

    def _begin(self, firing_id: str) -> bool:
        with self._lock:
            if firing_id in self._acting:
                raise StillActing(f"firing {firing_id} is being acted on")
            self._forget_old()
            is_new = firing_id not in self._acted
            if is_new:
                self._acting.add(firing_id)
            return is_new

    def _end(self, firing_id: str, is_new: bool, is_done: bool) -> None:
        if not is_new:
            return
        with self._lock:
            self._acting.discard(firing_id)
            if is_done:
                self._acted[firing_id] = self._monotonic()
            self._forget_old()

    def _forget_old(self) -> None:
        now = self._monotonic()
        while self._acted:
            oldest = next(iter(self._acted))
            if len(self._acted) <= self._most and now - self._acted[oldest] < self._kept_s:
                return
            del self._acted[oldest]


Act = Callable[[ReceivedCall], None]


class Receiver:
    """A WSGI application that calls `act` once for each firing, on any path.

    It answers 204 once `act` has returned, and for a firing it has seen; 500 where `act` raises, so the firing is tried
    again; 400 for a request that is not a callback, or whose body was cut off; 401 for a signature that is not by one
    of `secrets`; 503 while `act` runs for the same firing. The exception of `act` goes to the server's error log.

    With `is_long_work`, `act` only begins the work, such as by a queue. It answers 202, and calls `act` once for each
    attempt: another one means that nobody said in time that the work is done (`Client.ack_firing`).

    `secrets` are those of the app, as `whsec_...`; both while one replaces the other. None: signatures are not checked,
    so anybody who reaches the receiver can call it. Raises ValueError for a secret that is none.
    `wangtimer.client.receive` has the same for Flask, FastAPI and Django.

        from wsgiref.simple_server import make_server
        make_server("127.0.0.1", 8080, Receiver(expire, secrets=["whsec_..."])).serve_forever()
    """

    def __init__(
        self,
        act: Act,
        seen: SeenFirings | None = None,
        secrets: Iterable[str] | Verification | None = None,
        *,
        is_long_work: bool = False,
    ) -> None:
        self._act = act
        self._is_long_work = is_long_work
        self._seen = SeenFirings() if seen is None else seen
        if secrets is None or isinstance(secrets, Verification):
            self._verification = secrets
        else:
            self._verification = Verification(secrets)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        status, text = self._answer(environ)
        body = text.encode()
        status_line = f"{status} {HTTPStatus(status).phrase}"
        headers = [("Content-Type", "text/plain; charset=utf-8")] if body else []
        start_response(status_line, [*headers, ("Content-Length", str(len(body)))] if body else [])
        return [body]

    def answer(
        self, headers: Mapping[str, str], body: bytes, report: Callable[[Exception], object] | None = None
    ) -> tuple[int, str]:
        """Act on a request, and return the status and text to answer: for any web framework.

        `headers` as UTF-8, their names in any case. `report` gets what `act` raises; by default it is logged.
        """
        try:
            call = self.read(headers, body)
            work = f"{call.id} {call.attempt}" if self._is_long_work else call.id
            with self._seen.acting_on(work) as is_new:
                if is_new:
                    self._act(call)
        except BadSignature as error:
            return 401, f"{error}\n"
        except NotACallback as error:
            return 400, f"{error}\n"
        except StillActing as error:
            return 503, f"{error}\n"
        except Exception as error:
            if report is None:
                logging.getLogger(__name__).error(_failed(headers), exc_info=error)
            else:
                report(error)
            return 500, "it failed; try again\n"
        return 202 if self._is_long_work else 204, ""

    def read(self, headers: Mapping[str, str], body: bytes) -> ReceivedCall:
        """Return the callback that a request is; raises `BadSignature`, `NotACallback`."""
        if self._verification is not None:
            self._verification.check(headers, body)
        _refuse_a_part(headers, body)
        return ReceivedCall.read(headers, body)

    def _answer(self, environ: dict[str, Any]) -> tuple[int, str]:
        try:
            body = _body(environ)
        except NotACallback as error:
            return 400, f"{error}\n"

        headers = _headers(environ)

        def report(error: Exception) -> None:
            environ["wsgi.errors"].write(f"{_failed(headers)}: {error!r}\n")

        return self.answer(headers, body, report)


def _failed(headers: Mapping[str, str]) -> str:
    """Return the words for a callback that failed: a log is searched by the firing's id."""
    named = {name.lower(): value for name, value in headers.items()}
    timer, attempt = named.get(_TIMER), named.get(f"{_OURS}attempt")
    return f"callback failed: {_ID} {named.get(_ID)}, timer {timer}, attempt {attempt}"


def _refuse_a_part(headers: Mapping[str, str], body: bytes) -> None:
    """Raise `NotACallback` for a body that is shorter than was announced."""
    announced = next((value for name, value in headers.items() if name.lower() == "content-length"), None)
    if announced is not None and announced != str(len(body)):
        raise NotACallback(
            f"the body was cut off: it has {len(body)} bytes of {announced[:20]}; send it again"
        )


def _headers(environ: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a WSGI request, read as UTF-8: the app's name is sent in it."""
    found = {}
    for name, value in environ.items():
        if name.startswith("HTTP_"):
            header = name.removeprefix("HTTP_").replace("_", "-").lower()
            found[header] = value.encode("latin-1").decode(errors="replace")
    return found


def _body(environ: Mapping[str, Any]) -> bytes:
    length = environ.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal() or int(length) > MOST_BODY_BYTES:
        raise NotACallback(f"no callback has a body of {length[:20]} bytes")
    body: bytes = environ["wsgi.input"].read(int(length))
    if len(body) != int(length):
        raise NotACallback(f"the body was cut off: it has {len(body)} bytes of {length}; send it again")
    return body
