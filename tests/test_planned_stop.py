"""A worker that is asked to end lets its running callbacks end, and gives back what it has not sent."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from celery import Celery

from tests.callback.target import NO_CONTENT, Received, Target
from tests.patience import wait_for
from tests.servers.redis_server import RedisServer
from wangtimer.base.settings import Settings
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.core.flow.firing import Chunk, FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.stack.child import inherited_environment
from wangtimer.store.redis.slices import BacklogRoom, Turn
from wangtimer.wiring import Wiring

# Longer than a worker takes from SIGTERM to its drain (a chunk's patience is 2 s), shorter than a callback may (10 s).
ANSWER_AFTER_S = 8.0
WORKER = (
    sys.executable,
    "-m",
    "celery",
    "-A",
    "wangtimer",
    "worker",
    "-Q",
    "callback",
    "-P",
    "threads",
    "-c",
    "4",
)

pytestmark = pytest.mark.processes


class ChunkSender:
    """In the broker's place in this process: sends chunks to the worker, and nothing else."""

    def __init__(self, url: str) -> None:
        self._app = Celery(broker=url)

    def send_chunk(self, chunk: Chunk) -> None:
        where = {"exchange": "wangtimer", "routing_key": "callback", "queue": "callback"}
        self._app.send_task("wangtimer.callback", chunk.to_wire(), **where)


@pytest.fixture
def settings(redis_server: RedisServer, redis_url: str, sqlite_url: str, tmp_path: Path) -> Settings:
    return Settings(
        store_url=redis_url,
        broker_url=redis_server.url(1),
        database_url=sqlite_url,
        egress=PUBLIC_AND_LOOPBACK,
        ready_file=tmp_path / "ready",
        # The second call waits while the first is answered.
        callback_connections_per_host=1,
    )


@pytest.fixture
def wiring(settings: Settings) -> Iterator[Wiring]:
    """The parts of an API process."""
    parts = Wiring(settings, None)
    parts.broker = ChunkSender(settings.broker_url)  # type: ignore[assignment]
    with closing(parts.database), closing(parts.redis):
        yield parts


@pytest.fixture
def worker(settings: Settings) -> Iterator["subprocess.Popen[bytes]"]:
    named = settings.model_dump(exclude_unset=True, exclude={"secret_keys"})
    variables = {f"WANGTIMER_{name.upper()}": str(value) for name, value in named.items()}
    process = subprocess.Popen(
        [*WORKER, "--without-gossip", "--without-mingle"], env=inherited_environment() | variables
    )
    assert settings.ready_file is not None
    assert wait_for(settings.ready_file.exists, 30)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def slow_target() -> Iterator[Target]:
    def answer_late(received: Received) -> None:
        time.sleep(ANSWER_AFTER_S)
        received.connection.sendall(NO_CONTENT)

    with closing(Target(answer_late)) as target:
        yield target


def test_on_sigterm_a_worker_gives_back_what_it_has_not_sent(
    wiring: Wiring, worker: "subprocess.Popen[bytes]", slow_target: Target
) -> None:
    moment = int(wiring.clock.now_ms())
    timers = [_due_at(wiring, moment, slow_target.url, name) for name in ("one", "other")]
    assert wait_for(lambda: _look(wiring, timers[0]).running == 2, 10)
    slow_target.wait_for_requests(1)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    status = {timer.id: wiring.firings.records(timer.id, 1)[0].firing.status for timer in timers}
    (unsent,) = (timer_id for timer_id, its in status.items() if its is FiringStatus.PENDING)
    assert sorted(status.values()) == [FiringStatus.PENDING, FiringStatus.SUCCEEDED]
    assert len(slow_target.requests) == 1
    assert [due.member.timer_id for due in _look(wiring, timers[0], credit=10).now_armed] == [unsent]


def _due_at(wiring: Wiring, moment: int, url: str, name: str) -> Timer:
    """Make a timer of one moment, and enable it."""
    new = NewTimer("shop", name, Once(moment), Notify(url))
    timer: Timer = wiring.registrar.enable("shop", wiring.registrar.create(new).id)
    return timer


def _look(wiring: Wiring, timer: Timer, credit: int = 0) -> Turn:
    """Return what a trigger sees of the timer's slice; no lease is taken back, whether it ran out or not."""
    (record,) = wiring.firings.records(timer.id, 1)
    turn: Turn | None = wiring.slices.turn(record.firing.slice, "test", credit, True, BacklogRoom())
    assert turn is not None
    return turn
