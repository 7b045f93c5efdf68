"""The load of a row: cron timers and one-shots, and what their own texts promise, never what our tables hold."""

import json
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import uuid4
from zoneinfo import ZoneInfo

from cronsim import CronSim
from sqlalchemy import Engine, bindparam, create_engine, insert, select, text
from sqlalchemy.pool import NullPool

from tests.e2e.deployment import Deployment
from wangtimer.store.sql.tables import timers

# A firing as the target sees it: timer, scheduled moment in ms UTC.
Key = tuple[int, int]

APP = "chaos"
MADE_BY_API = 20
HOUR_MS = 3_600_000
# Share of the rate that comes from timers of this text; the rest are one-shots.
CRON_SHARES = (
    ("* * * * * *", "UTC", 0.4),
    ("*/2 * * * * *", "Asia/Shanghai", 0.08),
    ("3-59/5 * * * * *", "America/New_York", 0.02),
)
# Inserting rows, and the migrator's time to plan the first of them, on a busy machine.
MAKING_MS = 15_000
MAKING_MS_A_ROW = 0.4
# A load in pulses comes due in the first fifth of each ten seconds: between them a slice needs no trigger.
PULSE_EVERY_MS = 10_000
PULSE_SHARE = 5


class Shape(StrEnum):
    """Of a load: half crons and half one-shots, one-shots alone, or one-shots that come in pulses."""

    MIXED = "mixed"
    ONE_SHOTS = "one-shots"
    PULSES = "pulses"


@dataclass(frozen=True, slots=True)
class Window:
    """The time a row looks at, ms UTC: from `start` to before `end`."""

    start: int
    end: int

    @classmethod
    def of(cls, seconds: float, rate: int) -> "Window":
        """Return a window that begins at a full second, late enough for its timers to be made."""
        making_ms = MAKING_MS + int(MAKING_MS_A_ROW * rate * seconds)
        start = (int(time.time() * 1_000) + making_ms) // 1_000 * 1_000
        return cls(start, start + int(seconds * 1_000))

    def ending_by(self, moment: int) -> "Window":
        """Return the window with its end at this moment at the latest."""
        return Window(self.start, min(self.end, moment))


@dataclass(frozen=True, slots=True)
class Cohort:
    """`count` timers of one cron text, or one-shots where `cron` is empty, all calling `url`."""

    cron: str
    timezone: str
    count: int
    url: str
    misfire: str = "fire_all"
    grace_ms: int = 60_000
    catchup_ms: int = 0
    in_pulses: bool = False

    @property
    def is_usual(self) -> bool:
        """Tell whether every firing is made, however late."""
        return self.misfire == "fire_all" and not self.catchup_ms


def cohorts(rate: int, window: Window, url: str, shape: Shape = Shape.MIXED) -> list[Cohort]:
    """Return timers that make `rate` firings a second within the window, on average where they come in pulses."""
    count = int(rate * (window.end - window.start) / 1_000)
    if shape is not Shape.MIXED:
        return [Cohort("", "UTC", count, url, in_pulses=shape is Shape.PULSES)]
    parts = [
        Cohort(text, zone, max(1, round(rate * share / _moments_a_second(text, zone))), url)
        for text, zone, share in CRON_SHARES
    ]
    return [*parts, Cohort("", "UTC", count // 2, url)]


def make(
    deployment: Deployment, window: Window, wanted: Iterable[Cohort], random_: random.Random
) -> set[Key]:
    """Make the timers, a few over the API and the mass as rows; return every firing they promise in the window.

    Raises `AssertionError` where that took longer than there was time.
    """
    promised: set[Key] = set()
    engine = create_engine(deployment.database_url, poolclass=NullPool)
    for cohort in wanted:
        prefix = uuid4().hex
        if cohort.cron:
            moments = moments_of(cohort.cron, cohort.timezone, window)
            ids = _make_crons(deployment, engine, cohort, prefix, window)
            promised |= {(timer_id, moment) for timer_id in ids for moment in moments}
        else:
            ats = [moment_of_one_shot(window, cohort, random_) for _ in range(cohort.count)]
            # In the order of their moments: else planning writes rows of a million at random places of the table.
            ats[MADE_BY_API:] = sorted(ats[MADE_BY_API:])
            ids = _make_one_shots(deployment, engine, cohort, prefix, ats)
            promised |= set(zip(ids, ats, strict=True))
    _await_planning(deployment, engine, window)
    return promised


def add_pending(deployment: Deployment, number: int) -> None:
    """Add so many pending firings, spread over the hour that begins in a quarter of one: none comes due in a row."""
    if not number:
        return
    engine = create_engine(deployment.database_url, poolclass=NullPool)
    first = int(time.time() * 1_000) + 15 * 60_000
    far = first + 24 * HOUR_MS
    row = _row(Cohort("", "UTC", 1, deployment.target.url), "pending-1")
    (timer_id,) = _insert(
        engine, "pending", [row | {"at_ms": far, "planned_until": far - 1, "next_fire_at": far}]
    )
    rows = text(
        "INSERT INTO firing (fire_at, timer_id, bucket, kind, status, due_at, attempt) SELECT :first + seq * :each,"
        " :timer_id, seq % 16, 'scheduled', 'pending', :first + seq * :each, 1 FROM (SELECT seq FROM"
        f" seq_1_to_{number:d}) AS numbers"
    )
    with engine.begin() as sql:
        sql.execute(rows, {"first": first, "each": HOUR_MS // number, "timer_id": timer_id})


def add_many_to_plan(deployment: Deployment) -> None:
    """Make timers whose plans fill more than one transaction; their first moments are half an hour away."""
    _add_to_plan(
        deployment, Cohort("*/10 * * * * *", "UTC", 100, deployment.target.url), HOUR_MS // 2, 10_000
    )


def add_soon_due(deployment: Deployment) -> None:
    """Make timers to plan whose first moments come within the window of Redis; what they call is not judged."""
    _add_to_plan(deployment, Cohort("* * * * *", "UTC", 20, deployment.target.unlogged_url), 30_000, 60_000)


def _add_to_plan(deployment: Deployment, cohort: Cohort, begin_in_ms: int, every_ms: int) -> None:
    begin = int(time.time() * 1_000) + begin_in_ms
    prefix = f"to-plan-{uuid4().hex}"
    row = _row(cohort, prefix)
    rows = [
        row | {"name": f"{prefix}-{i}", "planned_until": begin, "next_fire_at": begin + every_ms}
        for i in range(cohort.count)
    ]
    _insert(create_engine(deployment.database_url, poolclass=NullPool), prefix, rows)


def moments_of(cron: str, timezone: str, window: Window) -> list[int]:
    """Return the moments of a cron text in the window, as an independent library reads it."""
    found: list[int] = []
    just_before = datetime.fromtimestamp(window.start / 1_000 - 1, UTC).astimezone(ZoneInfo(timezone))
    for moment in CronSim(cron, just_before):
        at = int(moment.timestamp() * 1_000)
        if at >= window.end:
            return found
        if at >= window.start:
            found.append(at)
    return found


def moment_of_one_shot(window: Window, cohort: Cohort, random_: random.Random) -> int:
    """Return a moment of the window, at random."""
    at = random_.randrange(window.start, window.end)
    if not cohort.in_pulses:
        return at
    since_pulse = (at - window.start) % PULSE_EVERY_MS
    return at - since_pulse + since_pulse // PULSE_SHARE


def _moments_a_second(cron: str, timezone: str) -> float:
    return len(moments_of(cron, timezone, Window(0, 60_000))) / 60


def _make_crons(
    deployment: Deployment, engine: Engine, cohort: Cohort, prefix: str, window: Window
) -> list[int]:
    by_api = min(MADE_BY_API, cohort.count // 4) if cohort.is_usual else 0
    ids = [
        deployment.make_timer(f"{prefix}-api{i}", cron=cohort.cron, timezone=cohort.timezone, url=cohort.url)
        for i in range(by_api)
    ]
    next_fire_at = moments_of(cohort.cron, cohort.timezone, window)[0]
    rows = [
        _row(cohort, f"{prefix}-{i}") | {"planned_until": window.start - 1, "next_fire_at": next_fire_at}
        for i in range(cohort.count - by_api)
    ]
    return ids + _insert(engine, prefix, rows)


def _make_one_shots(
    deployment: Deployment, engine: Engine, cohort: Cohort, prefix: str, ats: Sequence[int]
) -> list[int]:
    by_api = min(MADE_BY_API, cohort.count // 4) if cohort.is_usual else 0
    ids = [
        deployment.make_timer(f"{prefix}-api{i}", at=at, url=cohort.url) for i, at in enumerate(ats[:by_api])
    ]
    rows = [
        _row(cohort, f"{prefix}-{i}") | {"at_ms": at, "planned_until": at - 1, "next_fire_at": at}
        for i, at in enumerate(ats[by_api:])
    ]
    return ids + _insert(engine, prefix, rows)


def _row(cohort: Cohort, name: str) -> dict[str, object]:
    now = int(time.time() * 1_000)
    notify = {"url": cohort.url, "method": "POST", "headers": [], "body": "{}"}
    return {
        "app": APP,
        "name": name,
        "status": "enabled",
        "cron": cohort.cron or None,
        "timezone": cohort.timezone,
        "at_ms": None,
        "notify": json.dumps(notify),
        "misfire": cohort.misfire,
        "misfire_grace_ms": cohort.grace_ms,
        "catchup_window_ms": cohort.catchup_ms,
        "version": 1,
        "edited_at": 0,
        "created_at": now,
        # Not so late that every sweep would write all of them to Redis again.
        "updated_at": now - 3_600_000,
    }


def _insert(engine: Engine, prefix: str, rows: list[dict[str, object]]) -> list[int]:
    """Insert the rows; return their ids in the order of the rows."""
    if not rows:
        return []
    with engine.begin() as sql:
        sql.execute(insert(timers), rows)
        named = select(timers.c.name, timers.c.id).where(
            timers.c.app == APP, timers.c.name.startswith(bindparam("prefix"))
        )
        ids = {row.name: row.id for row in sql.execute(named, {"prefix": f"{prefix}-"})}
    return [ids[row["name"]] for row in rows]


def _await_planning(deployment: Deployment, engine: Engine, window: Window) -> None:
    """Wait until the migrator has planned what comes due in the window's first seconds."""
    unplanned = select(timers.c.id).where(
        timers.c.status == "enabled", timers.c.next_fire_at <= window.start + 20_000
    )

    def all_planned() -> bool:
        with engine.connect() as sql:
            return sql.execute(unplanned.limit(1)).first() is None

    deployment.supervisor.tend_until(lambda: all_planned() or time.time() * 1_000 > window.start)
    assert time.time() * 1_000 < window.start, (
        "making and planning the timers took longer than there was time"
    )
