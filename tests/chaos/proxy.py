"""A TCP proxy between one process and one of its dependencies: it can cut, black-hole and delay."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from wangtimer.stack.ports import HOST, free_port

CHUNK = 65_536
WAIT_S = 10.0
# Linger for no time: a close sends RST.
_AT_ONCE = struct.pack("ii", 1, 0)


class Rewriter(Protocol):
    """Changes what one connection's client sends."""

    def feed(self, data: bytes) -> bytes:
        """Return what is to be sent on instead; incomplete parts may be kept back."""
        ...


class Proxy:
    """`with Proxy(port) as proxy: connect to proxy.port`; call its verbs from any thread.

    What a black hole swallows is held and delivered once it ends, as TCP does after a partition.
    """

    def __init__(self, upstream_port: int, rewriter: Callable[[], Rewriter] | None = None) -> None:
        self.port = free_port()
        self._upstream_port = upstream_port
        self._rewriter = rewriter
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._delay_s = 0.0
        # How many bytes of answers still pass before the cut; None: all.
        self._answers_left: int | None = None

    def __enter__(self) -> "Proxy":
        self._thread.start()
        self.restore()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S)

    def cut(self) -> None:
        """Reset every connection and refuse new ones."""
        self._run(self._cut())

    def cut_within_answers(self, passing: int) -> None:
        """Let so many bytes more of what the dependency answers pass, then cut: the last answer arrives half."""
        self._answers_left = passing

    def black_hole(self) -> None:
        """Let nothing through, in either direction; connections stay open, new ones are taken."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def lead_to(self, upstream_port: int) -> None:
        """Take new connections elsewhere, and keep the old ones: as a name, an address or a load balancer moves."""
        self._upstream_port = upstream_port

    def delay(self, seconds: float) -> None:
        """Hold every piece of data this long, in either direction."""
        self._delay_s = seconds

    def restore(self) -> None:
        """Let everything through again."""
        self._delay_s = 0.0
        self._answers_left = None
        self._run(self._restore())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            _reset(writer)

    async def _restore(self) -> None:
        self._open.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, HOST, self.port, backlog=512)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        self._writers.add(writer)
        try:
            upstream_reader, upstream = await asyncio.open_connection(HOST, self._upstream_port)
        except OSError:
            self._writers.discard(writer)
            _reset(writer)
            return
        self._writers.add(upstream)
        rewriter = self._rewriter() if self._rewriter else None
        try:
            await asyncio.gather(
                self._pump(reader, upstream, rewriter),
                self._pump(upstream_reader, writer, None, is_answer=True),
            )
        finally:
            self._writers -= {writer, upstream}

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        rewriter: Rewriter | None,
        is_answer: bool = False,
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._open.wait()
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                if is_answer and self._answers_left is not None:
                    await self._pass_on_until_the_cut(data, writer)
                    continue
                writer.write(rewriter.feed(data) if rewriter else data)
                await writer.drain()
        writer.close()

    async def _pass_on_until_the_cut(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        assert self._answers_left is not None
        passing = data[: self._answers_left]
        self._answers_left -= len(passing)
        writer.write(passing)
        await writer.drain()
        if len(passing) < len(data) or not self._answers_left:
            await self._cut()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST, as a dead host's kernel answers."""
    # One side may have closed it by itself a moment ago.
    with contextlib.suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    writer.transport.abort()


class MessageDoubler:
    """Makes every message that is put onto a Redis queue two: `LPUSH queue m` becomes `LPUSH queue m m`."""

    def __init__(self) -> None:
        self.doubled = 0
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """Pass complete commands on, pushes doubled."""
        self._rest += data
        out = []
        while (command := self._next_command()) is not None:
            raw, words = command
            is_push = words[0].upper() == b"LPUSH"
            self.doubled += is_push
            out.append(_doubled(words) if is_push else raw)
        return b"".join(out)

    def _next_command(self) -> tuple[bytes, list[bytes]] | None:
        """Cut one whole command off the front: `*n`, then n times `$length` and its bytes."""
        end = self._rest.find(b"\r\n")
        if end < 0:
            return None
        assert self._rest[:1] == b"*", "a client of Redis sends arrays only"
        position, words = end + 2, []
        for _ in range(int(self._rest[1:end])):
            end = self._rest.find(b"\r\n", position)
            if end < 0:
                return None
            length = int(self._rest[position + 1 : end])
            if len(self._rest) < end + 2 + length + 2:
                return None
            words.append(self._rest[end + 2 : end + 2 + length])
            position = end + 2 + length + 2
        raw, self._rest = self._rest[:position], self._rest[position:]
        return raw, words


def _doubled(words: list[bytes]) -> bytes:
    words = [*words, *words[2:]]
    head = b"*%d\r\n" % len(words)
    return head + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
