"""Runs the stream under uvicorn: one process, one thread for all connections."""

import asyncio
import resource
import socket
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from wangtimer.base.logs import log_as_lines, warn_of_unknown_variables, warn_of_unset_database
from wangtimer.base.punctuality import spare_long_collections
from wangtimer.base.settings import Settings, read_settings
from wangtimer.celery import app as celery_app
from wangtimer.core.errors import BadSetting
from wangtimer.stream.stream import Stream
from wangtimer.stream.stream_app import create_app
from wangtimer.wiring import build

# ms; a connection whose far end confirms nothing for so long is dead. Comments are written every 15 s.
DEAD_AFTER_MS = 20_000
# s that a stopping process gives its requests; connections of consumers are ended at once.
STOP_S = 5
# s; how old the date in a reply may be.
LOOK_S = 1.0
# s that an idle connection is kept; most load balancers keep one for 60 s.
KEEPALIVE_S = 75
# Of a request's head: bytes, and s until it is whole.
MOST_HEAD_BYTES = 65_536
HEAD_S = 20.0
# Bytes beyond which a kernel keeps no more for who reads nothing: the rest is our bound.
SEND_BUFFER_BYTES = 262_144


class StreamProtocol(HttpToolsProtocol):
    """One connection. A far end that is gone without a word is noticed within half a minute.

    Its first request's head has `HEAD_S` from the opening on, a later one's from its first byte.
    """

    _head_bytes = 0
    _head_end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Bound what the kernel keeps for it, and how long a dead one is believed."""
        peer = transport.get_extra_info("socket")
        if peer is not None:
            with suppress(OSError):
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
                if peer.family != socket.AF_UNIX:
                    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_AFTER_MS)
        super().connection_made(transport)
        self._begin_head()

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that does not end ends its connection."""
        if self._head_end is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_end is not None and self._head_bytes > MOST_HEAD_BYTES:
            self._break_off()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._end_head()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin a request; its first bytes are counted with those of the next one."""
        super().on_message_begin()
        if self._head_end is None:
            self._begin_head()

    def on_headers_complete(self) -> None:
        """Have a whole head."""
        self._end_head()
        super().on_headers_complete()

    def _begin_head(self) -> None:
        self._head_bytes = 0
        self._head_end = self.loop.call_later(HEAD_S, self._break_off)

    def _end_head(self) -> None:
        if self._head_end is not None:
            self._head_end.cancel()
            self._head_end = None

    def _break_off(self) -> None:
        self._end_head()
        self.transport.abort()


class StreamServer(uvicorn.Server):
    """Ends the connections of consumers as soon as it is to stop, so that they connect elsewhere."""

    def __init__(self, settings: Settings) -> None:
        self._stream: Stream | None = None
        self._has_signal = asyncio.Event()
        self._ready_file = settings.ready_file
        app = create_app(build(settings, celery_app), self.abort, self._note_start)
        super().__init__(_config(app, settings))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop, at a signal."""
        super().handle_exit(sig, frame)
        if self._stream is not None:
            self._loop.call_soon_threadsafe(self._stream.send_all_away)
            self._loop.call_soon_threadsafe(self._has_signal.set)

    async def main_loop(self) -> None:
        """Look once a second, and at a signal; uvicorn looks ten times a second."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_signal.wait(), LOOK_S)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then tell the supervisor."""
        await super().startup(sockets)
        if self.started and self._ready_file is not None:
            self._ready_file.touch()

    def abort(self, scope: Scope) -> None:
        """Break off the connection of a request, without waiting for what is still to be written."""
        for connection in self.server_state.connections:
            if getattr(connection, "scope", None) is scope:
                connection.transport.abort()
                return

    def _note_start(self, stream: Stream) -> None:
        self._loop = asyncio.get_running_loop()
        self._stream = stream


def run() -> None:
    """Run until SIGINT or SIGTERM; wrong settings stop the start with one line."""
    try:
        settings = read_settings()
    except BadSetting as wrong:
        raise SystemExit(f"wangtimer: {wrong}") from None
    log_as_lines()
    warn_of_unknown_variables()
    warn_of_unset_database(settings)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = StreamServer(settings)
    spare_long_collections()
    server.run()


def _config(app: Any, settings: Settings) -> uvicorn.Config:
    bind = settings.stream_bind
    place: dict[str, Any] = {}
    if bind.startswith("unix:"):
        place["uds"] = bind.removeprefix("unix:")
    elif bind.startswith("fd://"):
        place["fd"] = int(bind.removeprefix("fd://"))
    else:
        host, _, port = bind.rpartition(":")
        place |= {"host": host.strip("[]"), "port": int(port)}
    return uvicorn.Config(
        app,
        http=StreamProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEPALIVE_S,
        timeout_graceful_shutdown=STOP_S,
        **place,
    )
