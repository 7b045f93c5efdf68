"""Targets that misbehave, each in its own way at a port of its own, in one process that notes every arrival."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from tests.servers.nginx import ArrivedCall
from tests.servers.server_process import ServerProcess
from wangtimer.stack.ports import HOST, free_port

WAYS = ("hang", "drip", "reset", "500", "429", "301")
# Between two bytes of a dripping answer, so that no time-out between bytes ever ends it.
DRIP_S = 0.5
# What those that hang are told to do.
ANSWER, HANG = signal.SIGUSR1, signal.SIGUSR2
_EMPTY_ANSWERS = {
    way: f"HTTP/1.1 {way} No\r\nLocation: http://{HOST}:9/\r\nContent-Length: 0\r\n\r\n".encode()
    for way in ("200", "500", "429", "301")
}
_HEADERS = (b"x-wangtimer-timer", b"x-wangtimer-fire-at", b"x-wangtimer-attempt")


class BadTargets:
    """`with BadTargets(directory) as targets: targets.urls["hang"]`; `calls()` as of nginx."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._log = directory / "calls.log"
        self._log.touch()
        self._ports = {way: free_port() for way in WAYS}
        self.urls = {way: f"http://{HOST}:{port}/" for way, port in self._ports.items()}
        words = [f"{way}={port}" for way, port in self._ports.items()]
        argv = [sys.executable, "-m", "tests.chaos.bad_targets", str(self._log), *words]
        self._process = ServerProcess(argv, directory, self._answers)

    def __enter__(self) -> "BadTargets":
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()

    def calls(self) -> Iterator[ArrivedCall]:
        """Yield every call that was noted."""
        for line in self._log.read_text().splitlines():
            timer_id, fire_at, attempt, arrived_ms = line.split()
            yield ArrivedCall(int(timer_id), int(fire_at), int(attempt), float(arrived_ms))

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Let those that hang answer each new request with success meanwhile."""
        os.kill(self._process.pid, ANSWER)
        try:
            yield
        finally:
            os.kill(self._process.pid, HANG)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((HOST, self._ports[WAYS[-1]]), 1):
            return True
        return False


class BadServer:
    """One port's way to misbehave."""

    def __init__(self, way: str, log: TextIO) -> None:
        self._way = way
        self._log = log
        self._is_answering = False

    def be_told(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer, and hang again, by signals; only if it hangs."""
        if self._way == "hang":
            loop.add_signal_handler(ANSWER, setattr, self, "_is_answering", True)
            loop.add_signal_handler(HANG, setattr, self, "_is_answering", False)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Note each request of a connection, and treat it badly."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                arrived_ms = time.time() * 1_000
                headers = _headers(head)
                await reader.readexactly(int(headers.get(b"content-length", b"0")))
                identity = [headers[name].decode() for name in _HEADERS]
                self._log.write(" ".join([*identity, f"{arrived_ms:.3f}"]) + "\n")
                await self._mistreat(reader, writer)
        writer.transport.abort()

    async def _mistreat(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._way == "hang" and self._is_answering:
            writer.write(_EMPTY_ANSWERS["200"])
        elif self._way == "hang":
            await reader.read()
        elif self._way == "drip":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(1_000):
                writer.write(b".")
                await writer.drain()
                await asyncio.sleep(DRIP_S)
        elif self._way == "reset":
            raise ConnectionResetError
        else:
            writer.write(_EMPTY_ANSWERS[self._way])


def _headers(head: bytes) -> dict[bytes, bytes]:
    pairs = (line.split(b":", 1) for line in head.split(b"\r\n")[1:] if line)
    return {name.lower(): value.strip() for name, value in pairs}


async def main(log_path: str, *words: str) -> None:
    """Serve every way at its port until killed."""
    with Path(log_path).open("a", buffering=1) as log:
        servers = []
        for word in words:
            way, port = word.split("=")
            server = BadServer(way, log)
            server.be_told(asyncio.get_running_loop())
            servers.append(await asyncio.start_server(server.serve, HOST, int(port), backlog=1024))
        await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
