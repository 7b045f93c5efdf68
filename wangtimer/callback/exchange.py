"""One HTTP/1.1 connection, used for one call after another."""

import codecs
import logging
import math
import ssl
import sys
from collections.abc import Callable
from random import uniform

from wangtimer.callback.answer_reader import AnswerReader, NoHttp
from wangtimer.callback.call import Call
from wangtimer.callback.limits import Limits
from wangtimer.callback.places import Flow
from wangtimer.callback.reply import SENT_ONCE, TIME_OVER, Reply
from wangtimer.callback.request import Route
from wangtimer.callback.sockets import READABLE, WRITABLE
from wangtimer.callback.tls_stream import Connection, NothingButTls, TlsStream, alert_of
from wangtimer.core.egress.egress_rules import Peer
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timeouts import AS_DEPLOYED

_logger = logging.getLogger(__name__)

_READ_BYTES = 65_536
# The least share of its age that a connection lives: connections opened together do not all end together.
_SHORTEST_AGE = 0.75
# One TLS record: OpenSSL would write several, and an error would not tell how many were written.
_MOST_TLS_BYTES = 16_384
# The head and the beginning of the body are joined to write them at once; joining more would copy a large body.
_JOINED_BYTES = _MOST_TLS_BYTES
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_CLOSED_EARLY = "the target closed the connection before its answer was whole"


class Exchange:
    """A connection of one app, and the call under way on it: `call` is None while it idles.

    The watcher of the socket calls `on_ready`. `on_over` learns that the call has ended, with its error ("" when an
    answer came) and when, in monotonic seconds; or that an idle connection is dead. `stream` is the connection if it
    has TLS, else None. `judged_under` is the version of the rules of egress under which `peer` was allowed.
    `last_words`: why the target ended TLS, as when it asks for a certificate and got none. `deadline_at`, in monotonic
    seconds, moves on when the first byte of an answer comes.
    """

    __slots__ = (
        "_answer",
        "_clock",
        "_connect_ms",
        "_connection",
        "_first_byte_at",
        "_is_cut_short",
        "_may_be_out_of_step",
        "_most_at_once",
        "_on_over",
        "_unsent",
        "_watch",
        "_whole_by",
        "call",
        "deadline_at",
        "fd",
        "flow",
        "idle_since",
        "judged_under",
        "last_words",
        "looked_at_by",
        "peer",
        "route",
        "sent_at_ms",
        "started_at",
        "stream",
        "usable_until",
    )

    def __init__(
        self,
        connection: Connection,
        route: Route,
        peer: Peer,
        judged_under: int,
        clock: Clock,
        limits: Limits,
        watch: Callable[[int, int], None],
        on_over: Callable[["Exchange", str, float], None],
    ) -> None:
        self._connection = connection
        self.peer = peer
        self.judged_under = judged_under
        self._clock = clock
        self.stream = connection if isinstance(connection, TlsStream) else None
        self._most_at_once = sys.maxsize if self.stream is None else _MOST_TLS_BYTES
        self._watch = watch
        self._on_over = on_over
        self._answer = AnswerReader(limits.excerpt_bytes, limits.answer_bytes)
        self._unsent: list[memoryview] = []
        self._is_cut_short = False
        self._may_be_out_of_step = False
        self.fd = connection.fileno()
        self.route = route
        self.idle_since = clock.monotonic()
        self.usable_until = self.idle_since + limits.connection_age_s * uniform(_SHORTEST_AGE, 1)
        self.looked_at_by = math.inf  # kept by Deadlines
        self.last_words = ""
        self.call: Call | None = None
        self.flow: Flow

    def begin(
        self,
        call: Call,
        flow: Flow,
        started_at: float,
        first_byte_by: float,
        whole_by: float,
        connect_ms: int,
    ) -> None:
        """Write the request; OSError if the connection is dead and took nothing of it."""
        self._answer.begin(call.request.excerpt_bytes)
        self._first_byte_at: float | None = None
        self.started_at = started_at
        self._connect_ms = connect_ms
        self._whole_by = whole_by
        self.deadline_at = min(first_byte_by, whole_by)
        self.flow = flow
        self._may_be_out_of_step = call.request.ends_connection
        head, body = call.request.head, call.request.body
        joined = max(0, _JOINED_BYTES - len(head))
        begin = head + body[:joined]
        if self.stream is not None:
            self.stream.begin_call()
        self.sent_at_ms = self._clock.now_ms()
        try:
            written = self._connection.send(begin[: self._most_at_once])
        except _NOT_NOW:
            written = 0
        except OSError:
            self.last_words = "" if self.stream is None else self.stream.last_words()
            raise
        self.call = call
        if written < len(head) + len(body):
            self._begin_to_write_on([memoryview(begin)[written:], memoryview(body)[joined:]])
        elif (
            self.stream is not None and self.stream.has_more
        ):  # it came with the handshake; no reading tells of it
            self._begin_to_write_on([])
        if not self._unsent and call.timeouts != AS_DEPLOYED:
            _tell_written(call)

    @property
    def can_go_on(self) -> bool:
        """Whether the connection may carry another call, now that the last one has ended."""
        is_in_step = self._answer.keeps_open and not self._may_be_out_of_step
        return is_in_step and not self._unsent and not self._is_cut_short

    def reply(self, error: str, ended_at: float) -> Reply:
        """Return the call's reply."""
        answer, started_at = self._answer, self.started_at
        first_byte_at = self._first_byte_at
        return Reply(
            self.sent_at_ms,
            (ended_at - started_at) * 1000,
            answer.status,
            codecs.utf_8_decode(answer.excerpt, "replace", False)[0] if answer.excerpt else "",
            error,
            True,
            self._connect_ms,
            None
            if first_byte_at is None or answer.status is None
            else int((first_byte_at - started_at) * 1000),
            told=answer.told,
        )

    def time_out(self, now: float) -> str:
        """Return what to say of a call that is over its deadline."""
        took = f"{TIME_OVER} {(now - self.started_at) * 1000:.0f} ms"
        return took if self.deadline_at == self._whole_by else f"{took} without a byte of an answer"

    def on_ready(self, events: int) -> None:
        """Go on: the socket has something to read, room to write, or was closed."""
        if events & WRITABLE:
            self._write_on()
        if events != WRITABLE:
            self._read_on()
        if self.stream is not None:
            while self.stream.has_more:
                self._read_on()

    def close(self) -> None:
        """Close the connection; over TLS, tell the target first."""
        if self.stream is not None:
            self.stream.say_farewell()
        self._connection.close()
        self._answer.release()

    def _begin_to_write_on(self, unsent: list[memoryview]) -> None:
        try:
            self._watch(self.fd, READABLE | WRITABLE)
        except OSError:  # no error of `begin`: a part is with the target, and nothing may be sent again
            self._is_cut_short = True
        else:
            self._unsent = [piece for piece in unsent if piece]

    def _write_on(self) -> None:
        try:
            if self._unsent:
                piece = self._unsent[0]
                piece = piece[self._connection.send(piece[: self._most_at_once]) :]
                self._unsent[:1] = [piece] if piece else []
        except _NOT_NOW:
            return
        except OSError:  # what the target answers to the part it took may still be there to read
            self._unsent = []
            self._is_cut_short = True
        if not self._unsent:
            self._watch(self.fd, READABLE)
            if self.call is not None and self.call.timeouts != AS_DEPLOYED:
                _tell_written(self.call)

    def _read_on(self) -> None:
        try:
            data = self._connection.recv(_READ_BYTES)
        except _NOT_NOW:
            return
        except NothingButTls as error:
            self._on_over(self, str(error) if self.call else "", self._clock.monotonic())
            return
        except OSError as error:  # reset: nobody knows whether that was all
            data, is_ended_well = b"", False
            self.last_words = alert_of(error)
        else:
            is_ended_well = True
        now = self._clock.monotonic()
        if self.call is None:
            self._on_over(self, "", now)
            return
        if self._first_byte_at is None and data:
            self._first_byte_at = now
            self.deadline_at = self._whole_by
        try:
            is_whole = self._answer.feed(data) if data else is_ended_well and self._answer.feed_end()
        except NoHttp as error:
            self._on_over(self, str(error), now)
            return
        if is_whole:
            self._on_over(self, "", now)
        elif not data:
            self._on_over(self, self._end_without_answer(), now)

    def _end_without_answer(self) -> str:
        if self._answer.status is not None:
            return _CLOSED_EARLY
        return f"TLS with {self.flow.host}: {self.last_words}" if self.last_words else SENT_ONCE


def _tell_written(call: Call) -> None:
    try:
        call.on_written()
    except Exception:
        _logger.exception("callback.on_written_raised")
