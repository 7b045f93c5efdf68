"""The sockets that are watched, libcurl's and ours, in an epoll: no limit of 1,024 as with CurlMulti.select."""

import contextlib
import errno
import os
import select
import socket
from collections.abc import Callable

import pycurl

_TO_EPOLL = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
# At one look; Python's own bound is 1,023, and a dead connection beyond it would be written to.
_MOST_EVENTS = 4_096
_READABLE = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR
_WRITABLE = select.EPOLLOUT | select.EPOLLHUP | select.EPOLLERR


class Sockets:
    """What is waited for, and the one place where the engine's thread rests.

    A socket of libcurl's stays in the epoll while its kept-open connection idles, because leaving and entering it
    for each call costs 4 µs of the 20 a call takes. It goes when it shows life while idle, or with its descriptor;
    so a descriptor asked for again may or may not be known to the kernel.

    Life on an idle connection means that the target closed it. It is remembered, because libcurl (from 8.22)
    looks whether a connection is alive at most once a second, and would write a request into a dead one.
    """

    def __init__(self, wake_fd: int) -> None:
        self._multi: pycurl.CurlMulti
        self._wake_fd = wake_fd
        self._epoll = select.epoll()
        self._epoll.register(wake_fd, select.EPOLLIN)
        self._wanted: set[int] = set()
        self._dead_ports: set[int] = set()
        self._watchers: dict[int, Callable[[int], None]] = {}

    def serve(self, multi: pycurl.CurlMulti) -> None:
        """Watch what this one waits for; once, and first."""
        self._multi = multi
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._want)

    def drive(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s`, in whole ms, and let libcurl act on what is ready.

        True if the wake-up was among it. Python's epoll rounds up to the next ms; half a ms less makes that
        the ms before, so that a moment is not overslept.
        """
        is_woken = False
        for fd, events in self._epoll.poll(max(0.0, int(timeout_s * 1000) / 1000 - 0.0005), _MOST_EVENTS):
            watcher = self._watchers.get(fd)
            if watcher is not None:
                watcher(events)
            elif fd in self._wanted:
                self._act(fd, events)
            elif fd == self._wake_fd:
                is_woken = True
            elif events & _READABLE:
                self._bury(fd)
            else:
                self._watch_idle(fd)
        return is_woken

    def watch(self, fd: int, on_ready: Callable[[int], None]) -> None:
        """Watch a socket that is not libcurl's for something to read; tell what it is ready for (select.EPOLL*)."""
        self._epoll.register(fd, select.EPOLLIN)
        self._watchers[fd] = on_ready

    def watch_for(self, fd: int, events: int) -> None:
        """Watch it for these events from now on."""
        self._epoll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """Watch it no longer; before it is closed."""
        del self._watchers[fd]
        self._epoll.unregister(fd)

    def take_over(self, fd: int) -> socket.socket:
        """Have a connection of libcurl's, which closes its own descriptor of it; it is not watched any more.

        Raises OSError where it is gone, or no descriptor is left.
        The kernel watches connections, not descriptors: one left in would be reported by its old number.
        """
        if fd < 0:
            raise OSError(errno.ENOTCONN, "the connection is gone already")
        self._wanted.discard(fd)
        with contextlib.suppress(FileNotFoundError):
            self._epoll.unregister(fd)
        own = os.dup(fd)
        try:
            connection = socket.socket(fileno=own)
        except OSError:
            os.close(own)
            raise
        connection.setblocking(False)
        return connection

    def take_dead(self, local_port: int) -> bool:
        """Tell whether the target closed the connection from this port, and forget it: it must not be used.

        Where libcurl closed it first and the port has come to another connection, this is a false alarm, once,
        and costs a new connection.
        """
        if local_port not in self._dead_ports:
            return False
        self._dead_ports.discard(local_port)
        return True

    def close(self) -> None:
        """Stop watching; the sockets are libcurl's own."""
        self._epoll.close()

    def _act(self, fd: int, events: int) -> None:
        ready = 0
        if events & _READABLE:
            ready |= pycurl.CSELECT_IN
        if events & _WRITABLE:
            ready |= pycurl.CSELECT_OUT
        self._multi.socket_action(fd, ready)

    def _want(self, what: int, fd: int, _multi: object, _data: object) -> None:
        """Take note of what libcurl waits for; libcurl calls this."""
        if what == pycurl.POLL_REMOVE:
            self._wanted.discard(fd)
            return
        self._wanted.add(fd)
        try:
            self._epoll.modify(fd, _TO_EPOLL[what])
        except FileNotFoundError:
            self._epoll.register(fd, _TO_EPOLL[what])

    def _watch_idle(self, fd: int) -> None:
        """Watch for closing only, what was watched for writing: its answer came before libcurl had to wait."""
        with contextlib.suppress(OSError):  # closed by now
            self._epoll.modify(fd, select.EPOLLIN)

    def _bury(self, fd: int) -> None:
        """Take a connection that shows life while idle off the watch, and remember its local port."""
        with contextlib.suppress(OSError, IndexError):  # closed by now, or no connection but libcurl's own
            self._epoll.unregister(fd)
            self._dead_ports.add(local_port_of(fd))


def local_port_of(fd: int) -> int:
    """Read the local port of a TCP socket that stays another's own."""
    borrowed = socket.socket(fileno=fd)
    try:
        return int(borrowed.getsockname()[1])
    finally:
        borrowed.detach()
