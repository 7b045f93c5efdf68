"""Real processes with thousands of firings, each with a large body of its own, stay small."""

import asyncio
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Thread

import pytest
from celery import Celery

from tests.patience import Deadline, wait_for
from tests.servers.redis_server import RedisServer
from wangtimer.base.settings import Settings
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.core.flow.firing import Chunk, FiringStatus
from wangtimer.core.flow.slicing import Slice
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.stack.child import inherited_environment
from wangtimer.store.redis.slices import BacklogRoom, Turn
from wangtimer.window.trigger import chunks_of
from wangtimer.wiring import Wiring

FIRINGS, BODY_BYTES, HOSTS = 2_000, 60_000, 15
ANSWER_AFTER_S = 1.0
# Of what is due soon the first is due when most of it is made; what enabling leaves to the migrator, after 60 s.
SOON_MS, LATER_MS = 10_000, 100_000
# Closer to its moment the API would send a firing itself.
LEAST_MS = 3_000
BOUND_MB = 300
WORKER = (sys.executable, "-m", "celery", "-A", "wangtimer", "worker", "--without-gossip", "--without-mingle")

Worker = subprocess.Popen[bytes]
StartWorker = Callable[[str, int], Worker]

pytestmark = pytest.mark.processes


class SlowTarget:
    """Answers each request a second after it came, keeps none of its body, and counts the firings' ids."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "0.0.0.0", 0, backlog=4_096)
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end_all(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                await reader.readexactly(int(_header(head, "Content-Length")))
                self.calls[_header(head, "webhook-id")] += 1
                await asyncio.sleep(ANSWER_AFTER_S)
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


class ChunkSender:
    """In the broker's place in this process: sends chunks to the worker, and nothing else."""

    def __init__(self, url: str) -> None:
        self._app = Celery(broker=url)

    def send_chunk(self, chunk: Chunk) -> None:
        where = {"exchange": "wangtimer", "routing_key": "callback", "queue": "callback"}
        self._app.send_task("wangtimer.callback", chunk.to_wire(), **where)


@pytest.fixture
def settings(redis_server: RedisServer, redis_url: str, sqlite_url: str, tmp_path: Path) -> Settings:
    broker_url = redis_server.url(1)
    return Settings(
        store_url=redis_url,
        broker_url=broker_url,
        database_url=sqlite_url,
        egress=PUBLIC_AND_LOOPBACK,
        ready_file=tmp_path / "ready",
    )


@pytest.fixture
def wiring(settings: Settings) -> Iterator[Wiring]:
    parts = Wiring(settings, None)
    parts.broker = ChunkSender(settings.broker_url)  # type: ignore[assignment]
    with closing(parts.database), closing(parts.redis):
        yield parts


@pytest.fixture
def start_worker(settings: Settings) -> Iterator[StartWorker]:
    """Return what starts a process of one queue, at the shipped settings."""
    named = settings.model_dump(exclude_unset=True, exclude={"secret_keys"})
    variables = {f"WANGTIMER_{name.upper()}": str(value) for name, value in named.items()}
    with ExitStack() as started:

        def start(queue: str, threads: int) -> Worker:
            command = [*WORKER, "-Q", queue, "-P", "threads", "-c", str(threads)]
            process = subprocess.Popen(command, env=inherited_environment() | variables)
            started.callback(process.wait)
            started.callback(process.kill)
            assert settings.ready_file is not None
            assert wait_for(settings.ready_file.exists, 30)
            return process

        yield start


@pytest.fixture
def target() -> Iterator[SlowTarget]:
    with closing(SlowTarget()) as slow:
        yield slow


@pytest.mark.timeout(180)
def test_a_callback_process_stays_small_however_large_the_bodies_of_what_is_due(
    wiring: Wiring, start_worker: StartWorker, target: SlowTarget
) -> None:
    worker = start_worker("callback", 200)
    timers = _timers_due_in(wiring, SOON_MS, target.port)
    before_mb = _megabytes(worker, "VmRSS")
    slices = {_slice_of(timer) for timer in timers}
    deadline = Deadline(120)
    while len(target.calls) < FIRINGS and not deadline.is_over:
        for slice_ in slices:
            _arm(wiring, slice_)
        time.sleep(0.25)
    assert sum(target.calls.values()) == len(target.calls) == FIRINGS
    assert wait_for(lambda: all(_turn(wiring, slice_, 0).running == 0 for slice_ in slices), 30)
    assert {wiring.firings.records(timer.id, 1)[0].firing.status for timer in timers} == {
        FiringStatus.SUCCEEDED
    }
    peak_mb = _megabytes(worker, "VmHWM")
    print(f"callback: {before_mb} MB before, {peak_mb} MB at the most", flush=True)
    assert peak_mb < BOUND_MB


@pytest.mark.timeout(180)
def test_a_migrate_process_stays_small_however_large_the_bodies_of_what_it_plans(
    wiring: Wiring, settings: Settings, start_worker: StartWorker
) -> None:
    timers = _timers_due_in(wiring, LATER_MS, port=9)
    slices = {_slice_of(timer) for timer in timers}
    worker = start_worker("migrate", 4)
    before_mb = _megabytes(worker, "VmRSS")
    Celery(broker=settings.broker_url).send_task(
        "wangtimer.migrate", exchange="wangtimer", routing_key="migrate", queue="migrate"
    )
    assert wait_for(lambda: sum(_turn(wiring, slice_, 0).due for slice_ in slices) == FIRINGS, 60)
    peak_mb = _megabytes(worker, "VmHWM")
    print(f"migrate: {before_mb} MB before, {peak_mb} MB at the most", flush=True)
    assert peak_mb < BOUND_MB


def _timers_due_in(wiring: Wiring, after_ms: int, port: int) -> list[Timer]:
    made: list[Timer] = []
    first_at = int(wiring.clock.now_ms()) + after_ms
    for first in range(0, FIRINGS, 500):
        moment = max(first_at, int(wiring.clock.now_ms()) + LEAST_MS)
        news = [_new_timer(number, moment, port) for number in range(first, first + 500)]
        results = wiring.batches.create("shop", news, enable=[True] * len(news))
        made += [one for one in results if isinstance(one, Timer)]
    assert len(made) == FIRINGS
    return made


def _new_timer(number: int, moment: int, port: int) -> NewTimer:
    body = f"{number:06}" * (BODY_BYTES // 6)
    notify = Notify(f"http://127.0.0.{1 + number % HOSTS}:{port}/due", body=body)
    return NewTimer("shop", f"large-{number}", Once(moment), notify)


def _slice_of(timer: Timer) -> Slice:
    assert isinstance(timer.definition.schedule, Once)
    return Slice.at(timer.definition.schedule.at_ms, 0)


def _arm(wiring: Wiring, slice_: Slice) -> None:
    """Do a trigger's turn in the slice: send what comes due, and what was given back."""
    turn = _turn(wiring, slice_, wiring.settings.arm_credit)
    for chunk in chunks_of(slice_, turn.now_armed, wiring.settings.chunk_size):
        wiring.broker.send_chunk(chunk)


def _turn(wiring: Wiring, slice_: Slice, credit: int) -> Turn:
    turn: Turn | None = wiring.slices.turn(slice_, "test", credit, False, BacklogRoom(10**6, 10**6))
    assert turn is not None
    return turn


def _megabytes(process: Worker, figure: str) -> int:
    found = re.search(
        rf"^{figure}:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE
    )
    assert found
    return int(found[1]) // 1_000


def _header(head: str, name: str) -> str:
    found = re.search(rf"^{name}: (.*)\r$", head, re.MULTILINE | re.IGNORECASE)
    assert found, head
    return found[1]
