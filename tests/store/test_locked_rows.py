"""A row that somebody else holds, say a process that froze in a transaction: no background work waits for it."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from sqlalchemy import Connection, Table, insert, text

from tests.servers.mariadb import MariaDBServer
from tests.store.members import outcome_of, row_at
from tests.store.plain_stores import plain_timers
from tests.store.test_dead_letters import fail
from tests.store.test_dead_letters import timer as letter_of
from tests.store.test_finished_timers import finished, is_there, purge
from tests.store.test_kept_answers import create
from tests.store.test_timers import NOW, ONE_BUCKET, enabled, planned
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.errors import RowsLocked
from wangtimer.core.flow.disabled_hosts import DisabledHost
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.planning import firings_of
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.store.sql.alert_messages import AlertMessages
from wangtimer.store.sql.app_totals import TotalCounts
from wangtimer.store.sql.database import IDLE_S, Database
from wangtimer.store.sql.disabled_hosts import DisabledHostStore
from wangtimer.store.sql.firings_to_cancel import FiringsToCancel, ToCancel
from wangtimer.store.sql.kept_answers import KEPT_MS
from wangtimer.store.sql.on_settled import ReplyControlStore
from wangtimer.store.sql.schedule_rules import PlannedBy, ScheduleRuleStore
from wangtimer.store.sql.tables import (
    alert_messages,
    app_totals,
    audit,
    firings_to_cancel,
    reply_controls,
)

AT = 1_800_000_000_000
# A wait for a lock is a second, and one may be needed to learn of it. A write that waits for locks waits nine times.
AT_ONCE_S = 6.0


@contextmanager
def held(database: Database, *statements: str) -> Iterator[None]:
    """Let a session of somebody else lock what the statements ask for; what is done meanwhile waits for nothing."""
    with database.engine.connect() as session, session.begin():
        for statement in statements:
            assert session.execute(text(f"{statement} FOR UPDATE")).all()
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


def test_what_runs_in_the_background_comes_back_later_where_somebody_holds_a_row(mariadb: Database) -> None:
    """None waits as a change by the API does: it would hold up what else its process does in turn."""
    world = real_sql(mariadb)
    finished(mariadb, "tagged")
    deleted = create(world, "kept")
    world.timers.delete("shop", deleted.id, AT)
    fail(world, letter_of(world, "failed").id, AT)
    host = DisabledHost("shop", "http://a.test:80", AT, AT, AT, "")
    DisabledHostStore(mariadb).disable([host], 0)
    DisabledHostStore(mariadb).enable("shop", host.origin, AT)
    rules = ScheduleRuleStore(mariadb, BadTimers())
    rules.write(PlannedBy("1", {}), None)
    rows: dict[Table, dict[str, object]] = {
        audit: {"at": AT, "key_name": "", "address": "", "action": "", "kind": "", "subject": ""},
        firings_to_cancel: {"timer_id": 1, "fire_at": AT, "cancelled_by": AT + 1},
        reply_controls: {"timer_id": 1, "fire_at": AT, "control": "1 disable"},
        app_totals: {"app": "shop", "slot": 0},
        alert_messages: {"app": "shop", "rule": "r", "is_test": 1, "content": "", "created_at": AT}
        | {"due_at": AT, "attempt": 0, "taken_until": 0},
    }
    mariadb.write(lambda sql: [sql.execute(insert(table).values(row)) for table, row in rows.items()])
    passes: dict[str, Callable[[], object]] = {
        "firing": lambda: world.firings.purge(AT + 1, 9),
        "timer": lambda: world.timers.purge(AT + 1, 9),
        "idempotency": lambda: world.answers.purge(NOW + KEPT_MS + 1, 9),
        "audit": lambda: world.audit.purge(AT + 1, 9),
        "dead_letter": lambda: world.dead_letters.purge(AT + DAY_MS, 0, 9),
        "timer_tag": lambda: purge(mariadb),
        "firing_to_cancel": lambda: FiringsToCancel(mariadb).cancel(
            [ToCancel((1, AT), AT + 1)], lambda outcome: outcome
        ),
        "reply_control": lambda: ReplyControlStore(mariadb).forget([(1, AT)], {}),
        "alert_message": lambda: AlertMessages(mariadb).forget_tests(AT + 1),
        "disabled_host": lambda: DisabledHostStore(mariadb).disable([host], 0),
        "app_total": lambda: TotalCounts(mariadb).forget("shop"),
        "schedule_rules": lambda: rules.write(PlannedBy("2", {}), PlannedBy("1", {})),
    }
    of_deleted = {"timer": f"SELECT 1 FROM timer WHERE id = {deleted.id}"}
    statements = [of_deleted.get(table, f"SELECT 1 FROM {table}") for table in passes]
    with held(mariadb, *statements), ThreadPoolExecutor(len(passes)) as pool:
        begun = {table: pool.submit(one) for table, one in passes.items()}
        errors = {table: one.exception() for table, one in begun.items()}
    assert {table: type(error) for table, error in errors.items()} == dict.fromkeys(passes, RowsLocked)


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
