"""One HTTP/1.1 connection, used for one call after another."""

import codecs
import fcntl
import logging
import math
import ssl
import sys
import termios
from collections.abc import Callable
from random import uniform
from typing import NamedTuple

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
from wangtimer.core.timers.call_options import AS_DEPLOYED

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
CLOSED_UNANSWERED = "the target closed the kept connection without an answer"
# Who gets these twice is left as after the first (RFC 9110, 9.2.2).
_IDEMPOTENT = frozenset({"GET", "PUT", "DELETE"})
# That the target has closed a connection shows within a round trip. What ends later was open, and the call has failed.
_DEAD_SHOWS_WITHIN_S = 1.0


class Opened(NamedTuple):
    """An open connection of a route; `judged_under` is the version of the rules of egress that allowed `peer`."""

    connection: Connection
    route: Route
    peer: Peer
    judged_under: int


class Exchange:
    """A connection of one app, and the call under way on it: `call` is None while it idles.

    The watcher of the socket calls `on_ready`. `on_over` learns that the call has ended, with its error ("" when an
    answer came) and when, in monotonic seconds; or that an idle connection is dead. `stream` is the connection if it
    has TLS, else None. `judged_under` is the version of the rules of egress under which `peer` was allowed.
    `last_words`: why the target ended TLS, as when it asks for a certificate and got none. `deadline_at`, in monotonic
    seconds, moves on when the first byte of an answer comes.

    A target may close a kept connection just as a request leaves. `on_dead` learns of a call that may go again then:
    nothing of an answer came, and its method is idempotent, or the target has closed its end of TCP before it got a
    byte of the request. That is so where its end is known, and not a byte of the request was acknowledged with it: what
    a program had read was acknowledged before or with its end. After a reset this is not known.
    """

    __slots__ = (
        "_clock",
        "_connect_ms",
        "_connection",
        "_first_byte_at",
        "_holds_request",
        "_is_again",
        "_is_cut_short",
        "_may_be_out_of_step",
        "_most_at_once",
        "_on_dead",
        "_on_over",
        "_over_at",
        "_unsent",
        "_watch",
        "answer",
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
        "whole_by",
    )

    def __init__(
        self,
        opened: Opened,
        clock: Clock,
        limits: Limits,
        watch: Callable[[int, int], None],
        on_over: Callable[["Exchange", str, float], None],
        on_dead: Callable[["Exchange", float], None],
    ) -> None:
        self._connection, self.route, self.peer, self.judged_under = opened
        self._clock = clock
        self.stream = self._connection if isinstance(self._connection, TlsStream) else None
        self._most_at_once = sys.maxsize if self.stream is None else _MOST_TLS_BYTES
        self._watch = watch
        self._on_over = on_over
        self._on_dead = on_dead
        self._holds_request = False
        self.answer = AnswerReader(limits.excerpt_bytes, limits.answer_bytes, limits.reuse_idle_s)
        self._unsent: list[memoryview] = []
        self._is_cut_short = False
        self._may_be_out_of_step = False
        self.fd = self._connection.fileno()
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
        connect_ms: int | None,
        is_again: bool,
    ) -> None:
        """Write the request; OSError if the connection is dead and took nothing of it.

        `connect_ms`: how long the call waited for this connection; None: it was kept. `is_again`: it was sent before.
        """
        self.answer.begin(call.request.excerpt_bytes)
        self._first_byte_at: float | None = None
        self.started_at = started_at
        self._connect_ms = connect_ms
        self._is_again = is_again
        self.whole_by = whole_by
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
        if call.timeouts != AS_DEPLOYED:
            if connect_ms is None:
                self._hold_request()
            elif not self._unsent:
                _tell_written(call)

    def lets_go(self, now: float) -> bool:
        """Tell whether the call was only to let go of its request by now; False if its time is over."""
        if not self._holds_request:
            return False
        self.deadline_at = self._over_at
        self._let_go_of_request()
        return self.deadline_at > now

    @property
    def can_go_on(self) -> bool:
        """Whether the connection may carry another call, now that the last one has ended."""
        is_in_step = self.answer.keeps_open and not self._may_be_out_of_step
        return is_in_step and not self._unsent and not self._is_cut_short

    def reply(self, error: str, ended_at: float) -> Reply:
        """Return the call's reply."""
        answer, started_at = self.answer, self.started_at
        first_byte_at = self._first_byte_at
        return Reply(
            self.sent_at_ms,
            (ended_at - started_at) * 1000,
            answer.status,
            codecs.utf_8_decode(answer.excerpt, "replace", False)[0] if answer.excerpt else "",
            error,
            True,
            self._connect_ms or 0,
            None
            if first_byte_at is None or answer.status is None
            else int((first_byte_at - started_at) * 1000),
            told=answer.told,
            is_again=self._is_again,
        )

    def time_out(self, now: float) -> str:
        """Return what to say of a call that is over its deadline."""
        took = f"{TIME_OVER} {(now - self.started_at) * 1000:.0f} ms"
        return took if self.deadline_at == self.whole_by else f"{took} without a byte of an answer"

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
        self.answer.release()

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
            self._is_cut_short = True
        if self._is_cut_short or not self._unsent:
            self._watch(self.fd, READABLE)
            if self.call is not None and self.call.timeouts != AS_DEPLOYED and not self._holds_request:
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
            self.deadline_at = self.whole_by
            if self._holds_request:
                self._let_go_of_request()
        try:
            is_whole = self.answer.feed(data) if data else is_ended_well and self.answer.feed_end()
        except NoHttp as error:
            self._on_over(self, str(error), now)
            return
        if is_whole:
            self._on_over(self, "", now)
        elif not data:
            if self._may_go_again(
                now, has_ended=is_ended_well if self.stream is None else self.stream.has_ended
            ):
                self._on_dead(self, now)
            else:
                self._on_over(self, self._end_without_answer(), now)

    def _hold_request(self) -> None:
        """Have a call with time-outs of its own hold its request, until it is known that it does not go again."""
        self._holds_request, self._over_at = True, self.deadline_at
        self.deadline_at = min(self.deadline_at, self.started_at + _DEAD_SHOWS_WITHIN_S)

    def _let_go_of_request(self) -> None:
        self._holds_request = False
        if not self._unsent and self.call is not None:
            _tell_written(self.call)

    def _may_go_again(self, now: float, *, has_ended: bool) -> bool:
        """Tell whether a call that got no answer may be sent again; `has_ended`: the target's end of TCP is closed."""
        is_dead = self._connect_ms is None and now < self.started_at + _DEAD_SHOWS_WITHIN_S
        if not is_dead or self._first_byte_at is not None or self.last_words or self.call is None:
            return False
        request = self.call.request
        if request.method in _IDEMPOTENT:
            return True
        written = len(request.head) + len(request.body) - sum(map(len, self._unsent))
        return has_ended and _unacknowledged(self.fd) >= written

    def _end_without_answer(self) -> str:
        if self.answer.status is not None:
            return _CLOSED_EARLY
        return f"TLS with {self.flow.host}: {self.last_words}" if self.last_words else SENT_ONCE


def _unacknowledged(fd: int) -> int:
    """Return how many bytes written to a socket its other end has not acknowledged: SIOCOUTQ of tcp(7)."""
    return int.from_bytes(fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


def _tell_written(call: Call) -> None:
    try:
        call.on_written()
    except Exception:
        _logger.exception("callback.on_written_raised")
