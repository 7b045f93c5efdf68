"""A connection being opened: its host's name, TCP to one address or another, TLS."""

import errno
import math
import os
import socket
import ssl
from collections import deque
from collections.abc import Iterable
from itertools import chain, zip_longest
from typing import NamedTuple, Protocol

from wangtimer.callback.call import Call
from wangtimer.callback.egress import REFUSED
from wangtimer.callback.network import CallNetwork
from wangtimer.callback.places import Flow
from wangtimer.callback.reply import TIME_OVER, Reply
from wangtimer.callback.request import Route
from wangtimer.callback.sockets import READABLE, WRITABLE
from wangtimer.callback.tls import fault_of
from wangtimer.callback.tls_stream import Connection, TlsStream
from wangtimer.core.egress.egress_rules import Peer
from wangtimer.core.flow.origin import Origin
from wangtimer.core.time.clock import Clock

# If an address does not answer for so long, the next one is tried beside it (RFC 8305, 5).
_NEXT_ADDRESS_S = 0.25
_MOST_ADDRESSES = 6
_CONNECTED = (0, errno.EISCONN)
_ON_ITS_WAY = (errno.EINPROGRESS, errno.EALREADY, errno.EINTR)


class Opener(Protocol):
    """The owner of openings."""

    def look_by(self, at: float, /) -> None:
        """Look at `next_try_at` by then, in monotonic seconds."""

    def queue_handshake(self, opening: "Opening", /) -> None:
        """Call its `shake_hands` when its turn has come: that costs up to 1 ms or 2."""

    def end(self, opening: "Opening", connection: Connection | None, error: str, /) -> None:
        """Take the open connection, or learn why there is none."""


class Placed(NamedTuple):
    """A call that has its place, since `started_at`, and needs a connection; both moments in monotonic seconds.

    `before`: how its first sending ended, if the kept connection was dead; None: nothing of it was sent yet.
    """

    call: Call
    flow: Flow
    started_at: float
    deadline_at: float
    before: Reply | None = None

    def unsent(
        self, clock: Clock, error: str, connect_ms: int | None = None, *, is_refused: bool = False
    ) -> Reply:
        """Return its reply if it is not sent, or not sent again."""
        if self.before is not None:
            return self.before._replace(error=f"{self.before.error}; not sent again: {error}")
        cost_ms = (clock.monotonic() - self.started_at) * 1_000
        return Reply(
            clock.now_ms() - cost_ms,
            cost_ms,
            None,
            "",
            f"not sent: {error}",
            was_sent=False,
            connect_ms=connect_ms,
            is_refused=is_refused,
        )


class Opening:
    """The way to a connection. Its opener calls `found`, `try_next`, `shake_hands`, `serve` and `give_up`.

    `placed` is the call that it is opened for; None: its call is not due yet.
    Each address is judged right before its socket is made. `peer` is the one that it connected to; `judged_under` a
    version of the rules that was not newer then. `is_refused`: no address was allowed. A refusal is noted only for a
    call that is due: it is tried again then.
    """

    __slots__ = (
        "_addresses",
        "_clock",
        "_connected",
        "_egress",
        "_error",
        "_opener",
        "_sockets",
        "_stage",
        "_stream",
        "_tls",
        "_tries",
        "_was_refused",
        "began_at",
        "give_up_at",
        "is_over",
        "is_refused",
        "is_shaking_hands",
        "judged_under",
        "next_try_at",
        "origin",
        "peer",
        "placed",
        "route",
    )

    def __init__(
        self,
        origin: Origin,
        route: Route,
        placed: Placed | None,
        give_up_at: float,
        clock: Clock,
        network: CallNetwork,
        opener: Opener,
    ) -> None:
        self.origin = origin
        self.route = route
        self.placed = placed
        self.began_at = clock.monotonic()
        self.give_up_at = give_up_at
        self.next_try_at = math.inf
        self.is_over = False
        self.is_shaking_hands = False
        self.is_refused = False
        self._sockets, self._tls, self._egress = network
        self.judged_under = self._egress.version
        self.peer: Peer | None = None
        self._clock = clock
        self._opener = opener
        self._addresses: deque[str] = deque()
        self._tries: dict[int, tuple[socket.socket, Peer]] = {}
        self._connected: socket.socket | None = None
        self._stream: TlsStream | None = None
        self._error = ""
        self._was_refused = False
        self._stage = "looking up its name"

    def found(self, addresses: Iterable[str], error: str) -> None:
        """Try the addresses, or end with the reason why there are none."""
        if self.is_over:
            return
        if error:
            self._fail(f"could not resolve host {self.origin.host}: {error}")
            return
        self._addresses.extend(_taking_turns(addresses))
        self._stage = "connecting"
        self.try_next()

    def try_next(self) -> None:
        """Connect to the next address that can be tried; earlier tries go on."""
        self.next_try_at = math.inf
        origin = self.origin
        name = "" if origin.is_address else origin.host
        while self._addresses and not self.is_over:
            if self._try(Peer(name, self._addresses.popleft(), origin.port, origin.is_tls)):
                if self._addresses:
                    self.next_try_at = self._clock.monotonic() + _NEXT_ADDRESS_S
                    self._opener.look_by(self.next_try_at)
                return
        if not self._tries and not self.is_over:
            # Where one address was allowed, what became of that one is the error.
            self.is_refused = self._was_refused and not self._error
            self._fail(REFUSED if self.is_refused else self._error)

    def shake_hands(self) -> None:
        """Go on with the handshake as far as the target's bytes reach."""
        try:
            stream = self._stream or self._begin_tls()
            fd = stream.fileno()
            stream.shake_hands()
        except ssl.SSLWantReadError:
            self._sockets.watch_for(fd, READABLE)
        except ssl.SSLWantWriteError:
            self._sockets.watch_for(fd, WRITABLE)
        except (OSError, ValueError) as error:
            self._fail(f"TLS with {self.origin.host_port}: {fault_of(error)}")
        else:
            self._hand_over(stream)

    def serve(self, placed: Placed, give_up_at: float) -> None:
        """Go on for a call that is due now."""
        self.placed = placed
        self.give_up_at = give_up_at

    def give_up(self, now: float) -> None:
        """End it, because its time is over."""
        took_ms = (now - (self.placed.started_at if self.placed else self.began_at)) * 1000
        self._fail(f"{TIME_OVER} {took_ms:.0f} ms while {self._stage}")

    def close(self) -> None:
        """Close what is open, without telling the opener."""
        self.is_over = True
        for fd in list(self._tries):
            self._drop(fd)
        if self._stream is not None:
            self._sockets.forget(self._stream.fileno())
        if self._connected is not None:
            self._connected.close()
        self._connected = self._stream = None

    def _try(self, peer: Peer) -> bool:
        """Begin to connect; False where that is not allowed, or failed at once."""
        app = self.route[0]
        allows = self._egress.allows_still if self.placed is None else self._egress.allows
        if not allows(peer, app):
            self._was_refused = True
            return False
        family = socket.AF_INET6 if ":" in peer.address else socket.AF_INET
        try:
            connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError as error:
            self._note(error.errno or errno.EMFILE)
            return False
        fd = connection.fileno()
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets.watch(fd, lambda _events: self._look_at(fd), WRITABLE)
        except OSError as error:
            connection.close()
            self._note(error.errno or errno.EMFILE)
            return False
        self._tries[fd] = connection, peer
        return self._is_under_way(fd)

    def _look_at(self, fd: int) -> None:
        """Go on with a try whose socket has an event."""
        if not self._is_under_way(fd):
            self.try_next()

    def _is_under_way(self, fd: int) -> bool:
        """Check a try: True while it connects or has connected; False if it failed, and it is dropped."""
        connection, peer = self._tries[fd]
        try:
            code = connection.connect_ex((peer.address, peer.port))
        except OSError as error:  # no address after all
            code = error.errno or errno.EINVAL
        if code in _ON_ITS_WAY:
            return True
        if code in _CONNECTED:
            del self._tries[fd]
            self._sockets.forget(fd)
            self.peer = peer
            self._be_connected(connection)
            return True
        self._drop(fd)
        self._note(code)
        return False

    def _be_connected(self, connection: socket.socket) -> None:
        for fd in list(self._tries):
            self._drop(fd)
        self._addresses.clear()
        self.next_try_at = math.inf
        if not self.origin.is_tls:
            self._hand_over(connection)
            return
        self._stage = "shaking hands for TLS"
        self._connected = connection
        self._opener.queue_handshake(self)

    def _begin_tls(self) -> TlsStream:
        assert self._connected is not None
        stream = self._tls.begin(self._connected, self.origin.host, self.route, self._clock.monotonic())
        self._sockets.watch(stream.fileno(), lambda _events: self._opener.queue_handshake(self))
        self._stream = stream
        return stream

    def _hand_over(self, connection: Connection) -> None:
        if self._stream is not None:
            self._sockets.forget(connection.fileno())
        self._connected = self._stream = None
        self.is_over = True
        self._opener.end(self, connection, "")

    def _fail(self, error: str) -> None:
        self.close()
        self._opener.end(self, None, error)

    def _drop(self, fd: int) -> None:
        self._sockets.forget(fd)
        self._tries.pop(fd)[0].close()

    def _note(self, code: int) -> None:
        self._error = f"could not connect to {self.origin.host_port}: {os.strerror(code)}"


def _taking_turns(addresses: Iterable[str]) -> list[str]:
    """Order addresses so that the two families take turns, the preferred one first; at most `_MOST_ADDRESSES`."""
    wanted = list(addresses)
    preferred = [each for each in wanted if (":" in each) is (":" in wanted[0])]
    others = [each for each in wanted if (":" in each) is not (":" in wanted[0])]
    turns = chain.from_iterable(zip_longest(preferred, others))
    return [each for each in turns if each is not None][:_MOST_ADDRESSES]
