"""When Celery tasks that are due at one moment begin: by `eta`, by beat, and by WangTimer.

    python -m benchmarks.celery_clock [--tasks 1000] [--ways ready,eta,beat,wangtimer]

`ready` is no clock: all tasks are on the queue at the moment, so it shows what the worker itself takes for them.
Each way has a Redis as the user's broker and one Celery worker of the user (8 threads), which notes when each task
begins. Each is measured twice: undisturbed, and with all that knows the moment killed (SIGKILL) 5 s before it, and
started again after a second: the worker of `eta`, beat with its schedule file, and WangTimer's scheduler, trigger and
callback processes; the worker too, each time. Prints a JSON line for each: how late tasks began (ms), how many did not
begin within a minute, and how many began twice. The workload `celery` of `python -m benchmarks` has the same figures.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import redis
import requests
from celery import Celery

from benchmarks.lateness import percentile
from tests.e2e.deployment import Deployment
from tests.servers.redis_server import RedisServer, redis_program
from tests.servers.server_process import ServerProcess

MINUTE_S = 60
# From when the moment is known until it comes: making a thousand timers, and planning them, has to end before.
AHEAD_S, KILLED_AHEAD_S, AWAY_S, WAITS_S = 25, 5, 1, 60
KILLED = ("scheduler", "trigger", "callback")
OURS = "wangtimer"
WAYS = ("ready", "eta", "beat", OURS)
SHOP = """
import os, time
import redis
from celery import Celery
from celery.schedules import crontab

app = Celery("shop", broker=os.environ["SHOP_BROKER"])
due_at, number = int(os.environ["SHOP_DUE_AT"]), int(os.environ["SHOP_ENTRIES"])
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=0,
    broker_connection_retry_on_startup=True,
    timezone="UTC",
    beat_schedule={
        f"task{one}": {"task": "shop.expire", "schedule": crontab(minute=due_at // 60 % 60), "args": (one,)}
        for one in range(number)
    },
)
came = redis.Redis.from_url(os.environ["SHOP_BROKER"])


@app.task(name="shop.expire")
def expire(number):
    came.rpush("came", f"{number} {time.time()}")
"""


class Shop:
    """The user's broker and processes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (directory / "shop.py").write_text(SHOP)
        self._store = RedisServer(redis_program(), _made(directory / "redis"))
        self._processes: dict[str, ServerProcess] = {}
        self.url = ""

    def __enter__(self) -> "Shop":
        self._store.__enter__()
        self._told_before = dict(os.environ)
        # Where the processes find `shop.py`.
        paths = [str(self._directory), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        self.url = self._store.url(0)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_all()
        os.environ.clear()
        os.environ.update(self._told_before)
        self._store.__exit__(None, None, None)

    def start(self, kind: str, due_at: int, entries: int) -> None:
        """Start a worker or beat, which keeps its schedule file over a kill."""
        of_kind = ["-P", "threads", "-c", "8", "--without-gossip", "--without-mingle"]
        options = of_kind if kind == "worker" else ["-s", str(self._directory / "schedule")]
        told = {"SHOP_BROKER": self.url, "SHOP_DUE_AT": str(due_at), "SHOP_ENTRIES": str(entries)}
        os.environ.update(told)
        log = _made(self._directory / f"{kind}-{time.monotonic_ns()}")
        argv = [sys.executable, "-m", "celery", "-A", "shop", kind, "-l", "INFO", *options]
        ready = "ready." if kind == "worker" else "beat: Starting"
        process = ServerProcess(argv, log, lambda: ready in (log / "server.log").read_text())
        self._processes[kind] = process
        process.start()

    def kill(self, kind: str) -> None:
        """End it at once."""
        self._processes.pop(kind).kill()

    def kill_all(self) -> None:
        """End whatever runs."""
        for kind in tuple(self._processes):
            self.kill(kind)

    def came(self) -> dict[int, list[float]]:
        """Return when each task began, s UTC."""
        found: dict[int, list[float]] = {}
        with closing(redis.Redis.from_url(self.url)) as client:
            for one in client.lrange("came", 0, -1):
                number, at = one.decode().split()
                found.setdefault(int(number), []).append(float(at))
        return found

    def forget(self) -> None:
        """Forget what came, and what waits."""
        with closing(redis.Redis.from_url(self.url)) as client:
            client.flushdb()


# Has tasks run at a moment (s UTC): so many. Returns what kills who knows the moment.
Make = Callable[["Shop", int, int], Callable[[], None]]
Rest = Callable[[float], None]


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def next_minute() -> int:
    """Return a full minute (s UTC) that is far enough ahead."""
    return int((time.time() + AHEAD_S) // MINUTE_S + 1) * MINUTE_S


def by_eta(shop: Shop, due_at: int, tasks: int) -> Callable[[], None]:
    """Publish the tasks; return what kills who knows the moment."""
    with Celery("shop", broker=shop.url) as app, app.connection_for_write() as link:
        for one in range(tasks):
            eta = datetime.fromtimestamp(due_at, UTC)
            app.send_task("shop.expire", (one,), eta=eta, connection=link, queue="celery")
    return lambda: None


def all_ready(shop: Shop, due_at: int, tasks: int) -> Callable[[], None]:
    """Publish the tasks to a queue that nobody reads, which becomes the worker's at the moment."""
    with Celery("shop", broker=shop.url) as app, app.connection_for_write() as link:
        for one in range(tasks):
            app.send_task("shop.expire", (one,), connection=link, queue="waiting")

    def move() -> None:
        with closing(redis.Redis.from_url(shop.url)) as client:
            time.sleep(max(0.0, due_at - time.time()))
            client.rename("waiting", "celery")

    threading.Thread(target=move, daemon=True).start()
    return lambda: None


def by_beat(shop: Shop, due_at: int, tasks: int) -> Callable[[], None]:
    """Start beat with an entry for each task; return what kills it."""
    shop.start("beat", due_at, tasks)

    def kill() -> None:
        shop.kill("beat")
        time.sleep(AWAY_S)
        shop.start("beat", due_at, tasks)

    return kill


@contextmanager
def wangtimer(shop: Shop, directory: Path) -> Iterator[tuple[Make, Rest]]:
    """Run a deployment that knows the user's broker; yield what makes the timers, and how to wait meanwhile."""
    brokers = _made(directory) / "brokers.toml"
    brokers.write_text(
        f'[[broker]]\nname = "shop"\nurl = "{shop.url}"\n'
        '[[broker.allow]]\napp = "shop"\ncelery_queues = ["celery"]\ncelery_tasks = ["shop.*"]\n'
    )
    with Deployment(directory / "deployment", brokers_file=str(brokers)) as deployment:
        headers = deployment.operator | {"WangTimer-App": "shop"}

        def ask(method: str, path: str, body: object) -> None:
            answer = requests.request(
                method, f"{deployment.api_url}{path}", json=body, headers=headers, timeout=60
            )
            if not answer.ok:
                raise SystemExit(answer.text)

        ask("PUT", "/v1/targets/tasks", {"celery": {"broker": "shop", "queue": "celery"}})

        def make(_shop: Shop, due_at: int, tasks: int) -> Callable[[], None]:
            at = datetime.fromtimestamp(due_at, UTC).isoformat()
            timers = [
                {
                    "key": f"{due_at}-{one}",
                    "schedule": {"at": at},
                    "target": {"name": "tasks", "celery": {"task": "shop.expire", "args": [one]}},
                }
                for one in range(tasks)
            ]
            ask("POST", "/v1/timers:batchCreate", {"timers": timers})

            def kill() -> None:
                for name, child in deployment.supervisor.children().items():
                    if name.rstrip("0123456789") in KILLED:
                        os.kill(child.pid, signal.SIGKILL)
                deployment.tend_for(AWAY_S)

            return kill

        yield make, deployment.tend_for


def measured(
    make: Make, shop: Shop, tasks: int, *, is_killed: bool, rest: Rest = time.sleep
) -> dict[str, float]:
    """Make the tasks, wait for them, and return how late they began."""
    shop.forget()
    due_at = next_minute()
    shop.start("worker", due_at, tasks)
    kill = make(shop, due_at, tasks)
    rest(max(0.0, due_at - KILLED_AHEAD_S - time.time()))
    if is_killed:
        shop.kill("worker")
        kill()
        shop.start("worker", due_at, tasks)
    ends_at = due_at + WAITS_S
    while time.time() < ends_at and (time.time() < due_at or len(shop.came()) < tasks):
        rest(0.5)
    rest(3)
    came = shop.came()
    shop.kill_all()
    return began(came, due_at, tasks)


def began(came: Mapping[int, Sequence[float]], due_at: int, tasks: int) -> dict[str, float]:
    """Return how late tasks first began, of the moments (s UTC) at which each began."""
    late = sorted((min(at) - due_at) * 1_000 for at in came.values())
    return {
        "late_p50_ms": round(percentile(late, 0.5), 1),
        "late_p99_ms": round(percentile(late, 0.99), 1),
        "late_max_ms": round(percentile(late, 1.0), 1),
        "early": sum(one < 0 for one in late),
        "not_within_a_minute": tasks - sum(one <= WAITS_S * 1_000 for one in late),
        "twice": sum(len(at) > 1 for at in came.values()),
    }


MAKES: dict[str, Make] = {"ready": all_ready, "eta": by_eta, "beat": by_beat}


def of_way(way: str, shop: Shop, directory: Path, tasks: int, *, is_killed: bool) -> dict[str, float]:
    """Measure one of `WAYS`; a deployment of ours is made in the directory."""
    if way == OURS:
        with wangtimer(shop, directory) as (make, rest):
            return measured(make, shop, tasks, is_killed=is_killed, rest=rest)
    return measured(MAKES[way], shop, tasks, is_killed=is_killed)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--ways", default=",".join(WAYS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Shop(Path(folder)) as shop:
        for way in options.ways.split(","):
            for is_killed in (False, True):
                ours = Path(folder) / f"ours-{is_killed}"
                found = of_way(way, shop, ours, options.tasks, is_killed=is_killed)
                told = {"way": way, "killed": is_killed, "tasks": options.tasks} | found
                print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
