"""What thousands of connected consumers cost a stream process, and how soon each gets a firing.

    python -m benchmarks.connected_consumers [--consumers 5000] [--groups 100] [--seconds 20]

Starts a MariaDB, a Redis and a stream process of its own. Consumers connect over plain HTTP from this process, over
all groups in turn. Prints one JSON line: resident memory (MB) of the stream process before anybody connects, with all
of them connected and idle for some seconds, and at its peak after each has got a firing; its CPU while they are idle
(percent of a core); and how long after a firing for each was put at one moment half, 99 % and all of them had it (ms).
"""

import argparse
import asyncio
import json
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tests.servers.mariadb import MariaDBServer
from tests.servers.redis_server import RedisServer, redis_program
from tests.stream.ground import Ground, StreamProcess
from wangtimer.core.flow.firing import Member

# Connections that are opened at once.
AT_ONCE = 50


class Crowd:
    """The consumers; `came_at` is when each firing came, s of the stop-watch."""

    def __init__(self, process: StreamProcess, key: str) -> None:
        self._host, _, port = process.url.removeprefix("http://").partition(":")
        self._port = int(port)
        self._key = key
        self._opening = asyncio.Semaphore(AT_ONCE)
        self._readers: list[asyncio.Task[None]] = []
        self.came_at: list[float] = []

    async def join(self, group: str) -> None:
        """Connect one, and wait until it is in."""
        async with self._opening:
            reader, writer = await asyncio.open_connection(self._host, self._port)
            writer.write(
                f"GET /v1/consumers/{group}/events?window=10 HTTP/1.1\r\nHost: {self._host}\r\n"
                f"Authorization: Bearer {self._key}\r\n\r\n".encode()
            )
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in head.partition(b"\r\n")[0] + b" ":
                raise SystemExit(head.decode())
        self._readers.append(asyncio.create_task(self._read(reader, writer)))

    async def _read(self, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        """Read to the end; a writer that nobody holds closes its connection."""
        while line := await reader.readline():
            if line.startswith(b"event: firing"):
                self.came_at.append(time.perf_counter())


async def measured(
    ground: Ground, process: StreamProcess, consumers: int, groups: int, seconds: float
) -> None:
    """Connect, rest, put a firing for each, and print what was measured."""
    crowd, figures = Crowd(process, ground.keys["shop"]), {"consumers": consumers, "groups": groups}
    figures["alone_mb"] = memory_mb(process.pid)
    await asyncio.gather(*(crowd.join(f"g{number % groups}") for number in range(consumers)))
    await asyncio.sleep(3)
    cpu, began = cpu_s(process.pid), time.perf_counter()
    await asyncio.sleep(seconds)
    figures["connected_mb"] = memory_mb(process.pid)
    figures["idle_cpu_percent"] = round(100 * (cpu_s(process.pid) - cpu) / (time.perf_counter() - began), 1)
    now = int(time.time() * 1_000)
    each = [
        [Member(number + 1, now, 1) for number in range(group, consumers, groups)] for group in range(groups)
    ]
    put_at = time.perf_counter()
    for group, members in enumerate(each):
        await asyncio.to_thread(ground.put, members, group=f"g{group}")
    figures["put_ms"] = round((time.perf_counter() - put_at) * 1_000)
    deadline = time.perf_counter() + 30
    while len(crowd.came_at) < consumers and time.perf_counter() < deadline:
        await asyncio.sleep(0.05)
    if len(crowd.came_at) < consumers:
        raise SystemExit(f"only {len(crowd.came_at)} firings came: {process.log.read_text()[-2000:]}")
    figures |= shares([(at - put_at) * 1_000 for at in crowd.came_at], consumers)
    figures["peak_mb"] = memory_mb(process.pid, "VmHWM")
    print(json.dumps(figures))


def shares(took_ms: Sequence[float], number: int) -> dict[str, int]:
    """Return after how many ms half, 99 % and all had their firing."""
    ordered = sorted(took_ms)
    return {
        "half_ms": round(ordered[number // 2]),
        "p99_ms": round(ordered[number * 99 // 100]),
        "all_ms": round(ordered[-1]),
    }


def memory_mb(pid: int, field: str = "VmRSS") -> int:
    """Return a process's memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) // 1_000


def cpu_s(pid: int) -> float:
    """Return the CPU time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--consumers", type=int, default=5_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    asked = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="wangtimer-bench-") as folder:
        places = [Path(folder) / name for name in ("sql", "redis", "streams")]
        for place in places:
            place.mkdir()
        with (
            MariaDBServer(places[0]) as sql,
            RedisServer(redis_program(), places[1]) as store,
            closing(Ground(sql.create_database("bench"), store.url(), places[2])) as ground,
        ):
            process = ground.start(stream_connections_per_app=asked.consumers)
            asyncio.run(measured(ground, process, asked.consumers, asked.groups, asked.seconds))


if __name__ == "__main__":
    main()
