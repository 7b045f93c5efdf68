"""The sockets that are watched, in an epoll, and the one place where the engine's thread rests."""

import select
from collections.abc import Callable

READABLE, WRITABLE = select.EPOLLIN, select.EPOLLOUT
# Events taken at one look: with Python's own bound, 1,023, a dead connection beyond it would be written to.
_MOST_EVENTS = 4_096
# select(2) waits to the µs, and epoll to the ms; it takes no descriptor beyond these.
_SELECT_TAKES = 1_024


class Sockets:
    """Tells who watches a socket what it is ready for; wrongly where another one had its number just before."""

    def __init__(self, wake_fd: int) -> None:
        self._wake_fd = wake_fd
        self._epoll = select.epoll()
        self._epoll.register(wake_fd, READABLE)
        self._is_exact = self._epoll.fileno() < _SELECT_TAKES
        self._watchers: dict[int, Callable[[int], None]] = {}

    def wait(self, timeout_s: float) -> bool:
        """Wait up to `timeout_s` until some socket is ready; tell whether one may be."""
        if self._is_exact:
            return bool(select.select((self._epoll,), (), (), timeout_s)[0])
        # Half a ms is taken off, so that Python's rounding up becomes the ms before: no moment is overslept.
        return bool(self._epoll.poll(max(0.0, int(timeout_s * 1000) / 1000 - 0.0005), 1))

    def drive(self) -> bool:
        """Tell the watchers of what is ready; True if `wake_fd` was."""
        is_woken = False
        for fd, events in self._epoll.poll(0.0, _MOST_EVENTS):
            watcher = self._watchers.get(fd)
            if watcher is not None:
                watcher(events)
            elif fd == self._wake_fd:
                is_woken = True
        return is_woken

    def watch(self, fd: int, on_ready: Callable[[int], None], events: int = READABLE) -> None:
        """Watch a socket for these events; tell what it is ready for (select.EPOLL*)."""
        self._epoll.register(fd, events)
        self._watchers[fd] = on_ready

    def watch_for(self, fd: int, events: int) -> None:
        """Watch it for these events from now on."""
        self._epoll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """Watch it no longer; before it is closed."""
        del self._watchers[fd]
        self._epoll.unregister(fd)

    def close(self) -> None:
        """Stop watching; the sockets are their owners' to close."""
        self._watchers.clear()
        self._epoll.close()
