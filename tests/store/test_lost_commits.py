"""SQL that lost its last commits, under a Redis that did not: nothing of one app is done or recorded for another."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import delete, text
from sqlalchemy.engine import make_url
from structlog.testing import capture_logs

from tests.store.members import outcome_of
from tests.store.plain_stores import plain_timers
from tests.store.worlds import LEASES, WINDOW
from wangtimer.core.flow.firing import DueMember, Firing, FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.executor.unread import Unread
from wangtimer.executor.verdicts import Drop
from wangtimer.executor.verifier import Verifier
from wangtimer.store.hot import ALWAYS_HELD_MS, HotStore
from wangtimer.store.redis.agenda import Agenda
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.lanes import LaneBudget, LaneStore
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.redis.slices import SliceStore
from wangtimer.store.redis.window import Window
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import FiringStore, insert_missing
from wangtimer.store.sql.tables import metadata
from wangtimer.store.sql.timers import TimerStore
from wangtimer.testing.doubles import HandClock
from wangtimer.window.sweeper import Sweeper

NOW = 1_800_000_000_000
AT = NOW + 60_000
HOUR_S = 3_600


@dataclass(frozen=True)
class Deployment:
    """SQL and Redis, and what sets SQL back to how it was when it was empty."""

    database: Database
    timers: TimerStore
    firings: FiringStore
    definitions: DefinitionStore
    outbox: Outbox
    hot: HotStore
    sweeper: Sweeper
    verifier: Verifier
    lose_commits: Callable[[], None]

    def planned(self, app: str, now: int) -> tuple[Timer, Firing]:
        """Make a timer of one moment, `AT`; let SQL and Redis know of it and of its firing."""
        notify = Notify(f"http://{app}.example/", "POST", (), "")
        # Of a process of its own: one that has made a timer before may remember.
        timer = plain_timers(self.database).create(NewTimer(app, "only", Once(AT), notify), now)
        row = Firing.planned(timer.id, AT, 0)
        self.database.write(lambda sql: insert_missing(sql, [row]))
        self.definitions.put([timer.definition])
        self.hot.add([row])
        return timer, row

    def status_of(self, row: Firing) -> FiringStatus | None:
        found = self.firings.rows([row.member]).get(row.member.key)
        return None if found is None else found.status


def set_back(database: Database, copy: Path) -> None:
    """Put back the copy of a file, or what a MariaDB was whose counters stood where they stood."""
    if database.is_sqlite:
        database.close()
        file = Path(make_url(str(database.engine.url)).database or "")
        for name in (f"{file}-wal", f"{file}-shm"):
            Path(name).unlink(missing_ok=True)
        shutil.copy(copy, file)
        return

    def forget(sql: object) -> None:
        for table in metadata.sorted_tables:
            sql.execute(delete(table))  # type: ignore[attr-defined]
        sql.execute(text("ALTER TABLE timer AUTO_INCREMENT = 1"))  # type: ignore[attr-defined]

    database.write(forget)


@pytest.fixture
def deployment(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Deployment]:
    clock, keys = HandClock(NOW), Keys("wt")
    with (
        closing(Database(database_url, pool_size=2)) as database,
        closing(RedisConnection(redis_url)) as redis,
    ):
        database.create_tables()
        copy = tmp_path / "copy.db"
        if database.is_sqlite:
            database.read(lambda sql: sql.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all())
            shutil.copy(make_url(database_url).database or "", copy)
        timers, firings, outbox = plain_timers(database), FiringStore(database), Outbox(redis, keys)
        agenda, definitions = Agenda(redis, keys), DefinitionStore(redis, keys, clock, HOUR_S, BadTimers())
        slices, lanes = (
            SliceStore(redis, keys, clock, LEASES),
            LaneStore(redis, keys, clock, LEASES, LaneBudget(0)),
        )
        hot = HotStore(slices, agenda, Window(redis, keys, WINDOW), clock, lanes, ALWAYS_HELD_MS)
        sweeper = Sweeper(timers, firings, hot, definitions, outbox, clock, ())
        verifier = Verifier(outbox, firings, clock, LEASES.lead_ms, Unread(BadTimers()))
        yield Deployment(
            database,
            timers,
            firings,
            definitions,
            outbox,
            hot,
            sweeper,
            verifier,
            lambda: set_back(database, copy),
        )


def test_a_new_timer_is_not_called_by_the_definition_of_one_that_sql_lost(deployment: Deployment) -> None:
    lost, _ = deployment.planned("bank", NOW)
    deployment.lose_commits()
    timer, _ = deployment.planned("shop", NOW + 5_000)
    assert timer.id != lost.id
    (held,) = deployment.definitions.get([timer.id]).definitions.values()
    assert (held.app, held.notify.url) == ("shop", "http://shop.example/")


def test_an_outcome_parked_for_a_lost_timer_settles_no_other_s_firing(deployment: Deployment) -> None:
    _, gone = deployment.planned("bank", NOW)
    deployment.outbox.park([outcome_of(gone.member)])
    deployment.lose_commits()
    _, row = deployment.planned("shop", NOW + 5_000)
    with capture_logs() as logs:
        deployment.sweeper.flush()
    assert deployment.status_of(row) is FiringStatus.PENDING
    assert deployment.status_of(gone) is None
    assert deployment.outbox.count() == 0
    (line,) = [one for one in logs if one["event"] == "outcomes_of_unknown_timers"]
    assert (line["outcomes"], line["members"]) == (1, [str(gone.member)])


def test_an_outcome_of_a_known_timer_s_firing_that_sql_lost_is_recorded(deployment: Deployment) -> None:
    _, row = deployment.planned("shop", NOW)
    deployment.outbox.park([outcome_of(row.member), outcome_of(row.member._replace(fire_at=AT + 1))])
    deployment.sweeper.flush()
    assert deployment.status_of(row) is FiringStatus.SUCCEEDED
    assert deployment.status_of(row._replace(fire_at=AT + 1)) is FiringStatus.SUCCEEDED


def test_a_member_of_a_lost_timer_is_dropped_where_sql_is_asked_about_it(deployment: Deployment) -> None:
    _, gone = deployment.planned("bank", NOW)
    deployment.lose_commits()
    deployment.planned("shop", NOW + 5_000)
    with capture_logs() as logs:
        verdicts = deployment.verifier.verify(gone.slice, [DueMember(gone.member, AT)])
    assert verdicts == {gone.member: Drop(None)}
    (line,) = [one for one in logs if one["event"] == "firings_unknown_to_sql"]
    assert line["members"] == [str(gone.member)]


def test_an_id_that_another_process_drew_is_drawn_anew(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = deployment.planned("bank", NOW)
    drawn = iter([first.id, first.id, first.id + 1])
    monkeypatch.setattr("wangtimer.core.timers.timer.TimerIds.next", lambda _self, _now: next(drawn))
    timer, _ = deployment.planned("shop", NOW)
    assert timer.id == first.id + 1
    assert deployment.timers.get("bank", first.id) == first


def test_timers_that_a_database_counted_stay_and_new_ones_come_after_them(deployment: Deployment) -> None:
    old, _ = deployment.planned("bank", NOW)
    deployment.database.write(
        lambda sql: sql.execute(text("UPDATE timer SET id = 7 WHERE id = :old"), {"old": old.id})
    )
    new, _ = deployment.planned("bank2", NOW)
    assert deployment.timers.get("bank", 7).id == 7
    assert new.id > 7
    assert new.id < 2**53
