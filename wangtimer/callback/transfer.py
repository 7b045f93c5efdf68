"""One libcurl handle, used for one call after another."""

import codecs
from collections.abc import Callable

import pycurl

from wangtimer.callback.call import Call, is_allowed
from wangtimer.callback.lanes import Lane
from wangtimer.callback.limits import Limits
from wangtimer.callback.reply import SENT_ONCE, Reply
from wangtimer.callback.request import USER_AGENT, Request
from wangtimer.callback.sockets import Sockets
from wangtimer.core.clock import Clock


class Transfer:
    """A call on its way: its libcurl handle, and what came back so far; or the opening of its connection.

    A call that can go out without libcurl (`Request.wire`) is only connected for. A handle keeps the options of
    its last call; loading sets what differs. libcurl calls `_before_send` when the connection is open, and
    `_keep` for each piece of the answer's body.
    """

    __slots__ = (
        "_body",
        "_clock",
        "_connects_anew",
        "_excerpt",
        "_is_broken_off",
        "_limits",
        "_method",
        "_on_connected",
        "_read_bytes",
        "_sockets",
        "_url",
        "_was_sent",
        "call",
        "curl",
        "deadline_at",
        "has_connected",
        "is_held_back",
        "lane",
        "met_dead_connection",
        "only_connects",
        "sent_at_ms",
        "started_at",
    )

    def __init__(
        self, clock: Clock, limits: Limits, sockets: Sockets, on_connected: Callable[[Lane], None]
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._sockets = sockets
        self._on_connected = on_connected
        self._connects_anew = False
        self.curl = pycurl.Curl()
        self._url = ""
        self._method = ""
        self._body: bytes | None = None
        self.call: Call
        self.lane: Lane
        self.only_connects = False
        self._set_lasting_options()

    def load(self, call: Call, lane: Lane, deadline_at: float) -> None:
        """Make ready to send `call`; pycurl.error or ValueError if libcurl cannot take it."""
        self.call = call
        self.lane = lane
        self.is_held_back = False
        self.met_dead_connection = False
        self.has_connected = False
        self._was_sent = False
        self._is_broken_off = False
        self._excerpt = b""
        self._read_bytes = 0
        self.sent_at_ms = self._clock.now_ms()
        self.started_at = self._clock.monotonic()
        self.deadline_at = deadline_at
        self._set_timeout(self.started_at)
        self._only_connect(call.request.wire is not None)
        self._connect_anew(self.only_connects)
        self._set_request(call.request)

    def reload(self) -> None:
        """Make ready to try the same call, of which nothing was sent, on a new connection."""
        self.met_dead_connection = False
        self._set_timeout(self._clock.monotonic())
        self._connect_anew(True)

    def reply(self, code: int, message: str) -> Reply:
        """Say what became of the call, from libcurl's result code (pycurl.E_*) and message."""
        getinfo = self.curl.getinfo
        http_status = getinfo(pycurl.RESPONSE_CODE) or None
        return Reply(
            self.sent_at_ms,
            (self._clock.monotonic() - self.started_at) * 1000,
            http_status,
            codecs.utf_8_decode(self._excerpt, "replace", False)[0] if self._excerpt else "",
            self._error(code, message) if code else "",
            self._was_sent,
            getinfo(pycurl.PRETRANSFER_TIME_T) // 1000 if self.has_connected else None,
            getinfo(pycurl.STARTTRANSFER_TIME_T) // 1000 if http_status else None,
        )

    def unsent_reply(self, error: str) -> Reply:
        """Say that libcurl would not even take the call."""
        return Reply(self.sent_at_ms, 0.0, None, "", error, was_sent=False)

    def _error(self, code: int, message: str) -> str:
        if code == pycurl.E_WRITE_ERROR and self._is_broken_off:
            return ""
        if code == pycurl.E_ABORTED_BY_CALLBACK and self._was_sent:
            return SENT_ONCE
        said = message or self.curl.errstr() or f"libcurl error {code}"
        # It may quote bytes of the target's, which pycurl gives as surrogates no store can take.
        return said.encode(errors="surrogateescape").decode(errors="replace")

    def _before_send(self, _ip: str, _local_ip: str, _port: int, local_port: int) -> int:
        """Let libcurl write the request, or not; libcurl calls this with the connection open.

        It comes twice for one call when a kept-open connection died after the request was written: libcurl
        would send it again, up to five times, and cannot tell whether the target has acted on it.
        """
        if self._was_sent:
            return pycurl.PREREQFUNC_ABORT
        self.has_connected = True
        if self.only_connects:
            self._on_connected(self.lane)
            return pycurl.PREREQFUNC_OK
        if self._sockets.take_dead(local_port) and not self._connects_anew:
            self.met_dead_connection = True
            return pycurl.PREREQFUNC_ABORT
        self._on_connected(self.lane)
        if not is_allowed(self.call):
            self.is_held_back = True
            return pycurl.PREREQFUNC_ABORT
        self._was_sent = True
        self.sent_at_ms = self._clock.now_ms()
        return pycurl.PREREQFUNC_OK

    def _keep(self, piece: bytes) -> int | None:
        """Keep the beginning of the answer, and break off a long one; libcurl calls this."""
        self._read_bytes += len(piece)
        room = self._limits.excerpt_bytes - len(self._excerpt)
        if room > 0:
            self._excerpt += piece[:room]
        if self._read_bytes <= self._limits.answer_bytes:
            return None
        self._is_broken_off = True
        return 0

    def _set_lasting_options(self) -> None:
        setopt = self.curl.setopt
        setopt(pycurl.NOSIGNAL, 1)  # signals and threads do not mix
        setopt(pycurl.PROXY, "")  # "" turns http_proxy and its kin off
        setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        setopt(pycurl.FOLLOWLOCATION, 0)
        setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)  # HTTP/2 has re-sends of its own
        setopt(pycurl.USERAGENT, USER_AGENT)
        setopt(pycurl.CONNECTTIMEOUT_MS, self._limits.connect_timeout_ms)
        setopt(pycurl.FORBID_REUSE, 1)  # its pool knows no apps
        setopt(pycurl.WRITEFUNCTION, self._keep)
        setopt(pycurl.PREREQFUNCTION, self._before_send)

    def _set_timeout(self, now: float) -> None:
        self.curl.setopt(pycurl.TIMEOUT_MS, max(1, int((self.deadline_at - now) * 1000)))

    def _only_connect(self, is_so: bool) -> None:
        if is_so is not self.only_connects:
            self.curl.setopt(pycurl.CONNECT_ONLY, int(is_so))
            self.curl.setopt(pycurl.FORBID_REUSE, int(not is_so))
            self.only_connects = is_so

    def _connect_anew(self, is_so: bool) -> None:
        if is_so is not self._connects_anew:
            self.curl.setopt(pycurl.FRESH_CONNECT, int(is_so))
            self._connects_anew = is_so

    def _set_request(self, request: Request) -> None:
        setopt = self.curl.setopt
        if request.url != self._url:
            setopt(pycurl.URL, request.url.encode())
            self._url = request.url
        if self.only_connects:
            return
        if request.method != self._method or request.body != self._body:
            self._set_method(request.method, request.body)
        setopt(pycurl.HTTPHEADER, request.lines)

    def _set_method(self, method: str, body: bytes) -> None:
        setopt = self.curl.setopt
        if method == "GET" and not body:
            setopt(pycurl.HTTPGET, 1)
        else:
            setopt(pycurl.POSTFIELDS, body)
        setopt(pycurl.CUSTOMREQUEST, method)
        self._method = method
        self._body = body
