"""What thousands of connected consumers cost a stream process, and how soon each gets a firing.

    python -m benchmarks.connected_consumers [--consumers 5000] [--groups 100] [--seconds 20]

Starts a MariaDB, a Redis and a stream process of its own. Consumers connect over plain HTTP from this process, over
all groups in turn. Prints one JSON line: resident memory (MB) of the stream process before anybody connects, with all
of them connected and idle for some seconds, and at its peak after each has got a firing; its CPU while they are idle
(percent of a core); and how long after a firing for each was put at one moment half, 99 % and all had come (ms). The
workload `consumers` of `python -m benchmarks` is the same.
"""

import argparse
import asyncio
import json
import os
import resource
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from math import nan
from pathlib import Path

from tests.servers.mariadb import MariaDBServer
from tests.servers.redis_server import RedisServer, redis_program
from tests.stream.ground import Ground, StreamProcess
from wangtimer.core.flow.firing import Member

# Connections that are opened at once.
AT_ONCE = 50
# s; until all are idle, and until what was put has come.
SETTLED_S, COMES_WITHIN_S = 3, 30


class Crowd:
    """The consumers; `came_at` is when each firing came first, s of the stop-watch."""

    def __init__(self, process: StreamProcess, key: str) -> None:
        self._host, _, port = process.url.removeprefix("http://").partition(":")
        self._port = int(port)
        self._key = key
        self._opening = asyncio.Semaphore(AT_ONCE)
        self._readers: list[asyncio.Task[None]] = []
        self.came_at: dict[bytes, float] = {}

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
                raise ConnectionError(head.decode())
        self._readers.append(asyncio.create_task(self._read(reader, writer)))

    async def _read(self, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        """Read to the end; a writer that nobody holds closes its connection. Only events of firings have an id."""
        while line := await reader.readline():
            if line.startswith(b"id: "):
                self.came_at.setdefault(line, time.perf_counter())


async def measured(
    ground: Ground, process: StreamProcess, consumers: int, groups: int, seconds: float
) -> dict[str, float]:
    """Connect, rest, put a firing for each, and return what was measured."""
    crowd = Crowd(process, ground.keys["shop"])
    figures: dict[str, float] = {"consumers": consumers, "groups": groups}
    figures["alone_mb"] = memory_mb(process.pid)
    await asyncio.gather(*(crowd.join(f"g{number % groups}") for number in range(consumers)))
    await asyncio.sleep(SETTLED_S)
    cpu, began = cpu_s(process.pid), time.perf_counter()
    await asyncio.sleep(seconds)
    figures["connected_mb"] = memory_mb(process.pid)
    figures["idle_cpu_percent"] = round(100 * (cpu_s(process.pid) - cpu) / (time.perf_counter() - began), 1)
    put_at = time.perf_counter()
    await _put_for_each(ground, consumers, groups)
    figures["put_ms"] = round((time.perf_counter() - put_at) * 1_000)
    deadline = time.perf_counter() + COMES_WITHIN_S
    while len(crowd.came_at) < consumers and time.perf_counter() < deadline:
        await asyncio.sleep(0.05)
    took_ms = {name: (at - put_at) * 1_000 for name, at in crowd.came_at.items()}
    return figures | shares(took_ms, consumers) | {"peak_mb": memory_mb(process.pid, "VmHWM")}


async def _put_for_each(ground: Ground, consumers: int, groups: int) -> None:
    now = int(time.time() * 1_000)
    for group in range(groups):
        members = [Member(number + 1, now, 1) for number in range(group, consumers, groups)]
        await asyncio.to_thread(ground.put, members, group=f"g{group}")


def shares(took_ms: Mapping[bytes, float], number: int) -> dict[str, float]:
    """Return after how many ms half, 99 % and all of so many firings had come, and how many did not."""
    ordered = [*sorted(map(round, took_ms.values())), *[nan] * (number - len(took_ms))]
    return {
        "half_ms": ordered[number // 2],
        "p99_ms": ordered[number * 99 // 100],
        "all_ms": ordered[-1],
        "lost": number - len(took_ms),
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


def crowded(folder: Path, consumers: int, groups: int, seconds: float) -> dict[str, float]:
    """Start the servers and a stream process in an empty directory, and return what was measured."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    places = [folder / name for name in ("sql", "redis", "streams")]
    for place in places:
        place.mkdir()
    with (
        MariaDBServer(places[0]) as sql,
        RedisServer(redis_program(), places[1]) as store,
        closing(Ground(sql.create_database("bench"), store.url(), places[2])) as ground,
    ):
        process = ground.start(stream_connections_per_app=consumers)
        return asyncio.run(measured(ground, process, consumers, groups, seconds))


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--consumers", type=int, default=5_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wangtimer-bench-") as folder:
        print(json.dumps(crowded(Path(folder), options.consumers, options.groups, options.seconds)))


if __name__ == "__main__":
    main()
