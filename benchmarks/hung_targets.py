"""Targets that accept connections and do not answer until they are told to, in one process of their own.

Each has its own address, on one port. Each call that comes is a line in a log: `<arrived ms> <scheduled ms>`.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tests.servers.server_process import ServerProcess
from wangtimer.stack.ports import free_port

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
_MOMENT = b"x-wangtimer-fire-at:"


@dataclass(frozen=True, slots=True)
class HungCall:
    """When a call arrived, and for which moment (ms UTC)."""

    arrived_ms: float
    fire_at: int


class HungTargets:
    """`with HungTargets(directory, 20) as targets: targets.urls`; `let_answer()`; `calls()`."""

    def __init__(self, directory: Path, number: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._log = directory / "calls.log"
        self._log.touch()
        self._port = free_port()
        hosts = [f"127.1.{index // 200}.{index % 200 + 1}" for index in range(number)]
        self.urls = [f"http://{host}:{self._port}/" for host in hosts]
        argv = [sys.executable, "-m", "benchmarks.hung_targets", str(self._log), str(self._port), *hosts]
        self._process = ServerProcess(argv, directory, self._listens)
        self._last = hosts[-1]

    def __enter__(self) -> "HungTargets":
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()

    def let_answer(self) -> None:
        """Let all targets answer new calls at once from now on. Calls that wait go on waiting."""
        os.kill(self._process.pid, signal.SIGUSR1)

    def calls(self) -> list[HungCall]:
        """Return every call that came."""
        pairs = (line.split() for line in self._log.read_text().splitlines())
        return [HungCall(float(arrived), int(moment)) for arrived, moment in pairs]

    def _listens(self) -> bool:

        with contextlib.suppress(OSError), socket.create_connection((self._last, self._port), 1):
            return True
        return False


class _Server:
    def __init__(self, log: TextIO) -> None:
        self._log = log
        self.answers = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                moment = next(line for line in lines if line.startswith(_MOMENT)).partition(b":")[2]
                length = next(
                    (int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")), 0
                )
                await reader.readexactly(length)
                self._log.write(f"{time.time() * 1_000:.1f} {int(moment)}\n")
                if not self.answers:
                    await reader.read()
                    break
                writer.write(_ANSWER)
        writer.transport.abort()


async def main(log_path: str, port: str, *hosts: str) -> None:
    """Listen at every host until killed; answer after SIGUSR1."""
    with Path(log_path).open("a", buffering=1) as log:
        server = _Server(log)
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGUSR1, lambda: setattr(server, "answers", True)
        )
        for host in hosts:
            await asyncio.start_server(server.serve, host, int(port), backlog=1024)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
