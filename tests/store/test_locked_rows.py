"""A row that somebody else holds, say a process that froze in a transaction: no background work waits for it."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from sqlalchemy import Connection, text

from tests.servers.mariadb import MariaDBServer
from tests.store.members import outcome_of, row_at
from tests.store.plain_stores import plain_timers
from tests.store.test_finished_timers import finished, is_there, purge
from tests.store.test_timers import ONE_BUCKET, enabled, planned
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.errors import RowsLocked
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.planning import firings_of
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.sql.database import IDLE_S, Database

AT = 1_800_000_000_000
# A wait for a lock is a second, and one may be needed to learn of it. A write that waits for locks waits nine times.
AT_ONCE_S = 6.0


@contextmanager
def held(database: Database, statement: str) -> Iterator[None]:
    """Let a session of somebody else lock what the statement asks for; what is done meanwhile waits for nothing."""
    with database.engine.connect() as session, session.begin():
        session.execute(text(f"{statement} FOR UPDATE")).all()
        began_at = time.monotonic()
        yield
        assert time.monotonic() - began_at < AT_ONCE_S


def test_a_timer_that_somebody_holds_keeps_no_other_from_being_planned(mariadb: Database) -> None:
    store = plain_timers(mariadb)
    plans = [planned(enabled(store, name), 2)[0] for name in ("a", "b", "c")]
    firings = firings_of(plans, {}, ONE_BUCKET)
    with held(mariadb, f"SELECT 1 FROM timer WHERE id = {plans[1].timer.id}"):
        was_held, pending, locked = store.commit_plans(plans, firings)
    assert was_held == [plans[0], plans[2]]
    assert {one.timer_id for one in pending} == {plans[0].timer.id, plans[2].timer.id}
    assert locked == {plans[1].timer.id}
    assert store.commit_plans([plans[1]], firings[2:4])[0] == [plans[1]]


def with_rows(database: Database, number: int) -> SqlWorld:
    world = real_sql(database)
    world.insert([row_at(AT, timer_id) for timer_id in range(1, number + 1)])
    return world


def statuses(world: SqlWorld, number: int) -> list[FiringStatus]:
    rows = world.firings.rows(Member(timer_id, AT, 1) for timer_id in range(1, number + 1))
    return [rows[timer_id, AT].status for timer_id in range(1, number + 1)]


def test_a_firing_that_somebody_holds_keeps_no_other_from_having_its_outcome(mariadb: Database) -> None:
    world = with_rows(mariadb, 3)
    outcomes = [outcome_of(Member(timer_id, AT, 1)) for timer_id in (3, 2, 1)]
    with held(mariadb, "SELECT 1 FROM firing WHERE timer_id = 2"):
        assert world.firings.settle(outcomes) == [outcomes[1]]
    assert statuses(world, 3) == [FiringStatus.SUCCEEDED, FiringStatus.PENDING, FiringStatus.SUCCEEDED]
    assert world.firings.settle(outcomes) == []
    assert statuses(world, 3) == [FiringStatus.SUCCEEDED] * 3


def test_a_firing_that_somebody_holds_keeps_no_other_from_its_lane(mariadb: Database) -> None:
    world = with_rows(mariadb, 3)
    members = [Member(timer_id, AT, 1) for timer_id in (1, 2, 3)]
    with held(mariadb, "SELECT 1 FROM firing WHERE timer_id = 2"):
        assert world.firings.note_lanes({SharedLane("app:shop"): members}) == {members[1]}
    rows = world.firings.rows(members)
    assert [rows[one.key].lane for one in members] == ["app:shop", "", "app:shop"]


def test_a_finished_timer_that_somebody_holds_keeps_no_other(mariadb: Database) -> None:
    timers = [finished(mariadb, name) for name in ("a", "b", "c")]
    with held(mariadb, f"SELECT 1 FROM timer WHERE id = {timers[0].id}"):
        assert purge(mariadb) == 2
    assert [is_there(plain_timers(mariadb), one) for one in timers] == [True, False, False]
    assert purge(mariadb) == 1


def test_a_write_that_may_not_wait_says_that_rows_are_locked(mariadb: Database) -> None:
    with_rows(mariadb, 1)

    def work(sql: Connection) -> None:
        sql.execute(text("UPDATE firing SET cost_ms = 1"))

    with held(mariadb, "SELECT 1 FROM firing"), pytest.raises(RowsLocked):
        mariadb.write(work, waits_for_locks=False)


def test_a_process_that_freezes_in_a_transaction_is_cut_off_before_others_give_up(
    mariadb_server: MariaDBServer,
) -> None:
    """The server ends its session: so it is where its host is gone, too. A write that waits for locks waits longer."""
    with closing(Database(mariadb_server.create_database("frozen_session"), pool_size=2)) as database:
        assert bounds_of(database) == {"idle_transaction_timeout": "6", "wait_timeout": "70"}
        assert IDLE_S < 9


def bounds_of(database: Database) -> dict[str, str]:
    """Return the server's bounds for this session."""
    shown = "SHOW VARIABLES WHERE Variable_name IN ('idle_transaction_timeout', 'wait_timeout')"
    return database.read(lambda sql: {row[0]: row[1] for row in sql.execute(text(shown))})


@pytest.mark.test_all
def test_what_a_frozen_process_holds_is_written_once_the_server_has_ended_its_session(
    mariadb: Database,
) -> None:
    world = with_rows(mariadb, 1)
    with mariadb.engine.connect() as frozen:
        frozen.execute(text("UPDATE firing SET cost_ms = 9"))
        mariadb.write(lambda sql: sql.execute(text("UPDATE firing SET cost_ms = cost_ms + 1")))
        frozen.invalidate()
    assert mariadb.read(lambda sql: sql.scalar(text("SELECT cost_ms FROM firing"))) == 1
    assert statuses(world, 1) == [FiringStatus.PENDING]
