"""How long timers take to get a calendar's new days: `python -m benchmarks.following --timers 100000`.

It runs as the migrate worker does: one process, with a MariaDB and a Redis of its own. The new closed day is the first
one on which most timers would fire, so each of them needs a new next moment. Prints seconds and CPU seconds.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.processes import read_cpu
from tests.servers.mariadb import MariaDBServer
from tests.servers.redis_server import RedisServer, redis_program
from wangtimer.base.settings import Settings
from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.schedule import Bounded
from wangtimer.core.timers.timer import NewTimer, Notify
from wangtimer.wiring import Wiring

APP, NAME = "shop", "plant"
AT_ONCE = 1_000
NOBODY = SimpleNamespace(send_chunk=lambda _chunk: None, send_follow=lambda: None)


def new_timer(number: int, calendar: Calendar) -> NewTimer:
    """Return a daily timer, at one of the day's minutes."""
    cron = Cron(f"{number % 60} {number // 60 % 24} * * *", ("UTC", "Asia/Shanghai")[number % 2])
    notify = Notify(f"http://shop.test/due/{number}")
    return NewTimer(APP, f"daily-{number}", Bounded(cron, excluded=calendar), notify)


def calendar(*extra_days: int) -> Calendar:
    """Return a calendar of ten holidays a year, and of days that many days ahead."""
    today = datetime.now(UTC).date()
    holidays = {today + timedelta(days=40 + 36 * number) for number in range(20)}
    return Calendar(NAME, days=frozenset(holidays | {today + timedelta(days=one) for one in extra_days}))


def measure(wiring: Any, number: int, servers: Mapping[str, Sequence[int]]) -> None:
    """Make the timers, upload the calendar again, and follow it to the end."""
    first = calendar()
    wiring.calendars.put(APP, first, int(wiring.clock.now_ms()))
    for start in range(0, number, AT_ONCE):
        new = [new_timer(one, first) for one in range(start, min(start + AT_ONCE, number))]
        wiring.batches.create(APP, new, enable=[True] * len(new))
    wiring.calendar_follower.follow_all()
    wiring.calendars.put(APP, calendar(0, 1), int(wiring.clock.now_ms()))
    pids = {"this process": [os.getpid()], **servers}
    began_at, cpu_began_at = time.monotonic(), read_cpu(pids)
    followed = 0
    while wiring.calendar_followers.progress(APP, NAME).left:
        followed += wiring.calendar_follower.follow_all()
    took_s, cpu_s = time.monotonic() - began_at, cpu_began_at.until(read_cpu(pids))
    # The servers are children of this process, and are counted with it.
    cpu_s["this process"] -= sum(cpu_s[name] for name in servers)
    progress = wiring.calendar_followers.progress(APP, NAME)
    shown = ", ".join(f"{name} {seconds:.1f}" for name, seconds in cpu_s.items())
    print(f"{followed} of {progress.followers} timers followed in {took_s:.1f} s; CPU s: {shown}")


def main() -> None:
    """Start servers, measure, stop them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timers", type=int, default=100_000)
    number = parser.parse_args().timers
    with tempfile.TemporaryDirectory() as directory:
        sql, store = Path(directory, "sql"), Path(directory, "store")
        sql.mkdir()
        store.mkdir()
        with MariaDBServer(sql) as mariadb, RedisServer(redis_program(), store) as redis:
            url = mariadb.create_database("wangtimer")
            settings = Settings(database_url=url, store_url=redis.url(0), broker_url=redis.url(1))
            wiring = Wiring(settings, None)
            vars(wiring).update(broker=NOBODY)
            wiring.database.create_tables()
            measure(wiring, number, {"MariaDB": [mariadb.process.pid], "Redis": [redis.process.pid]})


if __name__ == "__main__":
    main()
