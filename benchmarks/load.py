"""Makes many timers at once: inserts rows in SQL, which the deployment's migrator then plans.

Only the HTTP API is left out, one request a timer (the `create` workload measures it). The rows are those that the API
would write, and the migrator brings them to Redis. `updated_at` is an hour ago, because the sweep writes recently
changed definitions to Redis again, and would repeat 100,000 of them.
"""

import itertools
import json
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, insert

from benchmarks.due import Due
from wangtimer.core.timers.timer import TimerIds
from wangtimer.store.sql.tables import timers

HOUR_MS = 3_600_000
ROWS_AT_ONCE = 5_000

_ids = TimerIds()
_numbers = itertools.count(random.SystemRandom().randrange(1_000_000) * 1_000_000)


@dataclass(frozen=True, slots=True)
class Shot:
    """A one-shot timer of an app: its moment and its URL."""

    due: Due
    url: str
    app: str = "bench"

    @property
    def called_url(self) -> str:
        """The URL with the parameters that the target logs."""
        return f"{self.url}?due={self.due.at_ms}&id={self.due.id}"


def dues_at(moments_ms: Iterable[int]) -> list[Due]:
    """Return a due call, with an id never used before, for each moment."""
    return [Due(next(_numbers), moment) for moment in moments_ms]


def spread(start: int, seconds: float, rate: int) -> list[int]:
    """Return `rate` moments a second at random ms, from `start` on."""
    return sorted(start + random.randrange(int(seconds * 1_000)) for _ in range(int(seconds * rate)))


def each_second(start: int, seconds: float, number: int) -> list[int]:
    """Return `number` moments at each full second, the first at `start` or the next one."""
    first = -(-start // 1_000) * 1_000
    return [first + 1_000 * second for second in range(int(seconds)) for _ in range(number)]


def insert_shots(engine: Engine, shots: Sequence[Shot]) -> None:
    """Insert the timers as the API stores enabled ones, not planned yet."""
    now = int(time.time() * 1_000)
    rows = [
        timer_row(shot.app, str(shot.due.id), shot.called_url, now)
        | {"at_ms": shot.due.at_ms, "next_fire_at": shot.due.at_ms, "plan_by": shot.due.at_ms}
        for shot in shots
    ]
    insert_rows(engine, rows)


def insert_crons(engine: Engine, cron: str, number: int, url: str, first_moment: int) -> None:
    """Insert enabled timers of one expression, planned up to just before `first_moment`."""
    rows = [
        timer_row("bench", str(due.id), url, first_moment - 1) | {"cron": cron, "next_fire_at": first_moment}
        for due in dues_at([first_moment] * number)
    ]
    insert_rows(engine, rows)


def timer_row(app: str, name: str, url: str, now: int) -> dict[str, object]:
    """Return the columns that all rows share; `now` is the moment up to which the timer is planned."""
    return {
        "id": _ids.next(int(time.time() * 1_000)),
        "app": app,
        "name": name,
        "status": "enabled",
        "cron": None,
        "timezone": "UTC",
        "at_ms": None,
        "notify": json.dumps({"url": url, "method": "POST", "headers": [], "body": '{"order":7}'}),
        "misfire": "fire_all",
        "misfire_grace_ms": 60_000,
        "catchup_window_ms": 0,
        "version": 1,
        "edited_at": 0,
        "planned_until": now,
        "created_at": now,
        "updated_at": now - HOUR_MS,
    }


def insert_rows(engine: Engine, rows: Sequence[dict[str, object]]) -> None:
    """Insert timer rows, some thousands per transaction."""
    for first in range(0, len(rows), ROWS_AT_ONCE):
        with engine.begin() as sql:
            sql.execute(insert(timers), rows[first : first + ROWS_AT_ONCE])
