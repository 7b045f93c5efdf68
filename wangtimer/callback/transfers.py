"""The calls that libcurl makes, and the connections it opens."""

import socket
from collections.abc import Callable

import pycurl

from wangtimer.callback.call import Call
from wangtimer.callback.lanes import Lane
from wangtimer.callback.limits import Limits
from wangtimer.callback.reply import Reply
from wangtimer.callback.sockets import Sockets
from wangtimer.callback.transfer import Transfer
from wangtimer.core.clock import Clock


class Transfers:
    """What libcurl does at one time. One thread uses it: it lets `act` when `rest_s` is over, and `sockets` drive.

    `on_connected` learns of each connection that opened, `on_end` how each call ended: with its reply, or None
    where it was held back, and whether its target could be reached. `on_open` learns instead, where a call only
    needed a connection, of that and of the transfer, which is used again afterwards.
    """

    def __init__(
        self,
        clock: Clock,
        limits: Limits,
        sockets: Sockets,
        on_connected: Callable[[Lane], None],
        on_end: Callable[[Call, Lane, Reply | None, bool], None],
        on_open: Callable[[socket.socket, Transfer], None],
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._sockets = sockets
        self._on_connected = on_connected
        self._on_end = on_end
        self._on_open = on_open
        self._running: dict[pycurl.Curl, Transfer] = {}
        self._spare: list[Transfer] = []
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, limits.connections_total)
        sockets.serve(self._multi)

    @property
    def rest_s(self) -> float | None:
        """How long libcurl needs no `act`, if no socket of its own is ready; None: any time."""
        timer_ms = self._multi.timeout()
        return None if timer_ms < 0 else timer_ms / 1000

    def start(self, call: Call, lane: Lane, deadline_at: float) -> None:
        """Hand a call to libcurl; the next `act` begins it."""
        transfer = self._spare.pop() if self._spare else self._new_transfer()
        try:
            transfer.load(call, lane, deadline_at)
            self._multi.add_handle(transfer.curl)
        except (pycurl.error, ValueError) as error:  # the handle, half loaded, is let go
            self._on_end(call, lane, transfer.unsent_reply(f"not sent: {error}"), True)
            return
        self._running[transfer.curl] = transfer

    def act(self) -> None:
        """Let libcurl do what needs no socket (start what was added, time out), and tell what ended."""
        if self._multi.timeout() == 0:
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        queued = 1
        while queued:
            queued, done, failed = self._multi.info_read()
            for curl in done:
                self._finish(curl, pycurl.E_OK, "")
            for curl, code, message in failed:
                self._finish(curl, code, message)

    def close(self, error: str) -> None:
        """End what is under way with this error, and close all connections."""
        for curl, transfer in list(self._running.items()):
            self._multi.remove_handle(curl)
            self._end(transfer, pycurl.E_OPERATION_TIMEDOUT, error)
        self._multi.close()
        for transfer in self._spare:
            transfer.curl.close()

    def _new_transfer(self) -> Transfer:
        return Transfer(self._clock, self._limits, self._sockets, self._on_connected)

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        transfer = self._running[curl]
        if transfer.only_connects and code == pycurl.E_OK:
            try:
                connection = self._sockets.take_over(curl.getinfo(pycurl.ACTIVESOCKET))
            except OSError as error:
                code, message = pycurl.E_COULDNT_CONNECT, f"not sent: {error}"
            else:
                self._hand_over(connection, transfer)
                return
        self._multi.remove_handle(curl)
        if transfer.met_dead_connection:
            transfer.reload()
            self._multi.add_handle(curl)
        else:
            self._end(transfer, code, message)

    def _hand_over(self, connection: socket.socket, transfer: Transfer) -> None:
        self._multi.remove_handle(transfer.curl)
        del self._running[transfer.curl]
        self._on_open(connection, transfer)
        self._spare.append(transfer)

    def _end(self, transfer: Transfer, code: int, message: str) -> None:
        """Tell how the call ended; libcurl has let go of the handle."""
        del self._running[transfer.curl]
        reply = None if transfer.is_held_back else transfer.reply(code, message)
        self._on_end(transfer.call, transfer.lane, reply, transfer.has_connected)
        self._spare.append(transfer)
