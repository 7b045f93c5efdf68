"""Looks names up by c-ares: it asks over its own sockets and needs no thread, however many answers fail to come."""

import contextlib
import math
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pycares

from wangtimer.callback.sockets import READABLE, WRITABLE, Sockets
from wangtimer.core.time.clock import Clock

# A lost packet is sent again once, after so long; if there are several servers, they are asked in turn.
_TRY_S = 1.0
_TRIES = 2
# c-ares caches answers for their TTL, and read resolv.conf when it began: after so long both are forgotten.
_READ_ANEW_S = 30.0
_NOBODY = pycares.ARES_SOCKET_BAD


class Resolved(NamedTuple):
    """The result of a look-up: addresses, valid for `ttl_s`; or none, and why."""

    addresses: tuple[str, ...]
    ttl_s: float
    error: str


class Resolver:
    """Looks names up in /etc/hosts and DNS, as resolv.conf and nsswitch.conf say. One thread uses it.

    The thread calls `act` when `rest_s` is over; `sockets` drive it in between. Results of `look_up` come with `act`.
    """

    def __init__(self, clock: Clock, sockets: Sockets, name_servers: Sequence[str]) -> None:
        self._clock = clock
        self._sockets = sockets
        self._name_servers = name_servers
        self._channel: pycares.Channel | None = None
        self._watched: dict[int, int] = {}
        self._ended: list[tuple[Callable[[Resolved], None], Resolved]] = []
        self.under_way = 0  # look-ups whose results were not told yet
        self._read_anew_at = 0.0

    @property
    def rest_s(self) -> float:
        """How long it needs no `act`, unless a socket of its own is ready; infinite while no look-up is under way."""
        if self._ended:
            return 0.0
        if not self.under_way or self._channel is None:
            return math.inf
        return float(self._channel.timeout())  # type: ignore[no-untyped-call]

    def look_up(self, name: str, on_resolved: Callable[[Resolved], None]) -> None:
        """Begin to look a name up; `on_resolved` gets the result."""
        self.under_way += 1
        if name.endswith("localhost."):  # c-ares knows it without the dot
            name = name[:-1]
        try:
            self._opened().getaddrinfo(
                name,
                None,
                type=socket.SOCK_STREAM,
                callback=lambda result, error: self._take(on_resolved, result, error),
            )
        except (pycares.AresError, ValueError, RuntimeError) as error:  # the name, or no descriptor is left
            self._ended.append((on_resolved, Resolved((), 0.0, str(error))))

    def act(self) -> None:
        """Repeat questions that were not answered in time, and tell results."""
        if self.under_way > len(self._ended) and self._channel is not None:
            self._channel.process_fd(_NOBODY, _NOBODY)
        while self._ended:
            ended, self._ended = self._ended, []
            self.under_way -= len(ended)
            for on_resolved, found in ended:
                on_resolved(found)

    def close(self) -> None:
        """End all look-ups without telling."""
        if self._channel is not None:
            self._channel.cancel()
            channel, self._channel = self._channel, None
            channel.close()
        self._ended.clear()

    def _opened(self) -> pycares.Channel:
        now = self._clock.monotonic()
        if self._channel is None:
            self._channel = pycares.Channel(
                sock_state_cb=self._want, timeout=_TRY_S, tries=_TRIES, servers=list(self._name_servers)
            )
        elif now >= self._read_anew_at:
            self._channel.reinit()
        else:
            return self._channel
        self._read_anew_at = now + _READ_ANEW_S
        return self._channel

    def _take(
        self,
        on_resolved: Callable[[Resolved], None],
        result: pycares.AddrInfoResult | None,
        error: int | None,
    ) -> None:
        """Keep the result for `act`; c-ares calls this, and an error raised here would be lost."""
        if result is None:
            said = pycares.errno.strerror(error or pycares.errno.ARES_EBADRESP)
            found = Resolved((), 0.0, said if isinstance(said, str) else said.decode(errors="replace"))
        else:
            addresses = dict.fromkeys(node.addr[0].decode() for node in result.nodes)
            found = Resolved(tuple(addresses), min((node.ttl for node in result.nodes), default=0), "")
        self._ended.append((on_resolved, found))

    def _want(self, fd: int, is_to_read: bool, is_to_write: bool) -> None:
        """Watch a socket of c-ares for the events it wants; c-ares calls this, also from its closing thread."""
        events = (READABLE if is_to_read else 0) | (WRITABLE if is_to_write else 0)
        with contextlib.suppress(OSError, ValueError, KeyError):  # this end was closed first
            if not events:
                if self._watched.pop(fd, None) is not None:
                    self._sockets.forget(fd)
            elif fd in self._watched:
                self._sockets.watch_for(fd, events)
            else:
                self._sockets.watch(fd, lambda ready: self._go_on(fd, ready), events)
                self._watched[fd] = events

    def _go_on(self, fd: int, ready: int) -> None:
        if self._channel is not None:
            self._channel.process_fd(
                fd if ready & ~WRITABLE else _NOBODY,
                fd if ready & ~READABLE else _NOBODY,
            )
