"""The process of one APScheduler, which takes moments from a Unix socket.

It is paused while it takes a batch. Otherwise each `add_job` would wake it and read through the store.
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from multiprocessing.connection import Connection, Listener

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import BaseJobStore
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.jobstores.redis import RedisJobStore
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from benchmarks.due import Due
from benchmarks.peers.http_call import CALLERS, Caller
from benchmarks.peers.parts import say_ready

# Holds the caller once `main` has run. A job's function is found by its name, so it cannot hold it.
_callers: list[Caller] = []


def make_call(id_: int, at_ms: int) -> None:
    """Call the target. This is the job's function; stores keep its name."""
    _callers[0](Due(id_, at_ms))


def add_jobs(scheduler: BackgroundScheduler, moments: Sequence[tuple[int, int]]) -> None:
    """Add one date job per moment; it runs however late it is."""
    scheduler.pause()
    for id_, at_ms in moments:
        run_date = datetime.fromtimestamp(at_ms / 1_000, UTC)
        scheduler.add_job(make_call, "date", (id_, at_ms), run_date=run_date, misfire_grace_time=None)
    scheduler.resume()


def accept(scheduler: BackgroundScheduler, connection: Connection) -> None:
    """Accept the moments that one client sends."""
    with connection:
        add_jobs(scheduler, connection.recv())
        connection.send(None)


def job_store(chosen: argparse.Namespace) -> BaseJobStore:
    """Return the store that the options name."""
    if chosen.store == "redis":
        return RedisJobStore(host="127.0.0.1", port=chosen.redis_port)
    if chosen.store == "sqlite":
        return SQLAlchemyJobStore(url=f"sqlite:///{chosen.sqlite}")
    return MemoryJobStore()


def main() -> None:
    """Work as the scheduler's process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("target_url")
    parser.add_argument("--store")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--client", choices=CALLERS)
    parser.add_argument("--redis-port", type=int)
    parser.add_argument("--sqlite")
    chosen = parser.parse_args()
    _callers.append(CALLERS[chosen.client](chosen.target_url))
    scheduler = BackgroundScheduler(
        jobstores={"default": job_store(chosen)},
        executors={"default": ThreadPoolExecutor(chosen.threads)},
        timezone=UTC,
    )
    scheduler.start()
    with Listener(chosen.address) as listener:
        say_ready()
        while True:
            accept(scheduler, listener.accept())


if __name__ == "__main__":
    main()
