"""Connections to SQL that collide, are killed, freeze, or are gone: transactions bear being repeated."""

import itertools
import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import MySQLdb
import pytest
from sqlalchemy import Connection, event, func, select, text, update
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from tests.chaos.proxy import Proxy
from tests.servers.mariadb import MariaDBServer
from tests.store.members import outcome_of, row_at
from tests.store.worlds import SqlWorld, real_sql, until
from wangtimer.core.errors import StoreAway, TookTooLong
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.stack.ports import HOST, free_port
from wangtimer.store.sql.database import OLDEST_CONNECTION_S, READ_TIMEOUT_S, STATEMENT_S, Database
from wangtimer.store.sql.tables import firings
from wangtimer.store.sql.upgrade import patient_connection

AT = 1_800_000_000_000
THREADS = 4
# Connect 3 s, read 5 s, once more connect 3 s: longer is a worker that hangs.
BOUND_S = 12.0


def cost_of(sql: Connection, timer_id: int = 1) -> int:
    found = sql.scalar(select(firings.c.cost_ms).where(firings.c.timer_id == timer_id))
    assert found is not None
    return int(found)


def set_cost(sql: Connection, cost_ms: int, timer_id: int = 1) -> None:
    sql.execute(update(firings).where(firings.c.timer_id == timer_id).values(cost_ms=cost_ms))


def with_rows(database: Database, number: int = 1) -> SqlWorld:
    """Insert firings of timers 1, 2, ..., each with cost 0."""
    world = real_sql(database)
    world.insert([row_at(AT, timer_id) for timer_id in range(1, number + 1)])
    database.write(lambda sql: sql.execute(update(firings).values(cost_ms=0)))
    return world


# transactions


def test_a_write_that_raises_changes_nothing(database: Database) -> None:
    with_rows(database)

    def work(sql: Connection) -> None:
        set_cost(sql, 9)
        raise RuntimeError("second thoughts")

    with pytest.raises(RuntimeError):
        database.write(work)
    assert database.read(cost_of) == 0


def test_a_read_sees_what_another_process_wrote_just_now(database: Database) -> None:
    with_rows(database)
    with closing(Database(database.engine.url.render_as_string(hide_password=False), pool_size=2)) as other:
        for cost_ms in range(1, 5):
            other.write(lambda sql, cost_ms=cost_ms: set_cost(sql, cost_ms))
            assert database.read(cost_of) == cost_ms


def test_a_read_does_not_wait_for_a_write(database: Database) -> None:
    with_rows(database)

    def work(sql: Connection) -> int:
        set_cost(sql, 9)
        started_at = time.monotonic()
        seen = database.read(cost_of)
        assert time.monotonic() - started_at < 2
        return seen

    assert database.write(work) == 0
    assert database.read(cost_of) == 9


def test_each_connection_reads_what_is_committed_and_locks_no_gap(mariadb: Database) -> None:
    for engine in mariadb.engines:
        with engine.connect() as sql:
            said = sql.exec_driver_sql("SHOW SESSION VARIABLES LIKE '%%x_isolation'").one()
        assert said[1] == "READ-COMMITTED", engine


def test_tables_are_made_once(database: Database) -> None:
    with_rows(database)
    database.create_tables()
    assert database.read(cost_of) == 0
    database.ping()


def test_a_database_without_tables_says_what_to_load(empty_database_url: str) -> None:
    with (
        closing(Database(empty_database_url, pool_size=2)) as database,
        pytest.raises(StoreAway, match=r"load schema\.sql"),
    ):
        database.ping()


def test_a_mistake_is_neither_repeated_nor_an_absence(database: Database) -> None:
    tries = itertools.count(1)

    def work(sql: Connection) -> None:
        next(tries)
        sql.execute(text("SELECT no_such_column FROM firing"))

    with pytest.raises((ProgrammingError, OperationalError)):
        database.write(work)
    assert next(tries) == 2


# a database that takes nothing now


def test_an_sqlite_that_takes_no_writes_is_away_until_it_takes_them_again(sqlite_url: str) -> None:
    with closing(Database(sqlite_url, pool_size=2)) as database:
        database.create_tables()
        with_rows(database)

        def take_writes(does: bool) -> None:
            pragma = f"PRAGMA query_only={int(not does)}"
            event.listen(database.engine, "checkout", lambda raw, _record, _proxy: raw.execute(pragma))

        take_writes(False)
        with pytest.raises(StoreAway, match="readonly database"):
            database.write(lambda sql: set_cost(sql, 9))
        assert database.read(cost_of) == 0
        take_writes(True)
        database.write(lambda sql: set_cost(sql, 9))
        assert database.read(cost_of) == 9


def test_a_mariadb_that_takes_no_writes_is_away_until_it_takes_them_again(own_server: MariaDBServer) -> None:
    url = own_server.create_database("kept")
    own_server.run(f"CREATE USER writer@'{HOST}'")
    own_server.run(f"GRANT ALL ON kept.* TO writer@'{HOST}'")
    with closing(Database(url.replace("root@", "writer@"), pool_size=2)) as database:
        database.create_tables()
        world = with_rows(database)
        outcome = outcome_of(Member(1, AT, 1))
        own_server.run("SET GLOBAL read_only = 1")
        with pytest.raises(StoreAway, match="read-only"):
            world.firings.settle([outcome])
        with pytest.raises(StoreAway, match="read-only"):
            database.write(lambda sql: sql.execute(select(firings.c.cost_ms).with_for_update()).all())
        assert world.firings.rows([outcome.member])[1, AT].status is FiringStatus.PENDING
        own_server.run("SET GLOBAL read_only = 0")
        world.firings.settle([outcome])
        assert world.firings.rows([outcome.member])[1, AT].status is FiringStatus.SUCCEEDED


@dataclass(frozen=True)
class Switched:
    """A database that moves from one MariaDB to another: what is connected stays connected to the first."""

    old: MariaDBServer
    new: MariaDBServer
    way: Proxy

    def url(self) -> str:
        """Return the URL of both, for an account that a read-only server refuses."""
        for server in (self.old, self.new):
            with closing(Database(server.create_database("moved"), pool_size=2)) as database:
                database.create_tables()
                with_rows(database)
            server.run(f"CREATE USER writer@'{HOST}'")
            server.run(f"GRANT ALL ON moved.* TO writer@'{HOST}'")
        url = self.old.url("moved").replace("root@", "writer@")
        return url.replace(f":{self.old.port}/", f":{self.way.port}/")

    def switch(self) -> None:
        self.old.run("SET GLOBAL read_only = 1")
        self.way.lead_to(self.new.port)


@pytest.fixture
def switched(tmp_path: Path) -> Iterator[Switched]:
    with (
        MariaDBServer(tmp_path / "old") as old,
        MariaDBServer(tmp_path / "new") as new,
        Proxy(old.port) as way,
    ):
        yield Switched(old, new, way)


@pytest.mark.test_all
def test_once_a_database_has_moved_no_connection_stays_with_the_server_that_was_demoted(
    switched: Switched,
) -> None:
    with closing(Database(switched.url(), pool_size=2)) as database:
        world = real_sql(database)
        outcome = outcome_of(Member(1, AT, 1))

        def open_both_pools() -> None:
            database.write(lambda sql: [set_cost(sql, 0), database.read(cost_of)])
            database.write_alone(lambda sql: set_cost(sql, 0), FailPoint.SQL_CREATE)

        open_both_pools()
        switched.switch()
        world.firings.settle([outcome])
        database.write_alone(lambda sql: set_cost(sql, 7), FailPoint.SQL_CREATE)
        assert {database.read(cost_of) for _ in range(10)} == {7}


@pytest.mark.test_all
def test_what_may_have_been_sent_is_asked_of_the_server_that_takes_writes_now(switched: Switched) -> None:
    """Though this process has written nothing since, and its connections are open."""
    with closing(Database(switched.url(), pool_size=2)) as database:
        world = real_sql(database)
        outcome = outcome_of(Member(1, AT, 1))
        assert world.firings.rows([outcome.member])[1, AT].status is FiringStatus.PENDING
        switched.switch()
        with closing(Database(switched.new.url("moved"), pool_size=2)) as other:
            real_sql(other).firings.settle([outcome])
        assert world.firings.rows([outcome.member])[1, AT].status is FiringStatus.SUCCEEDED
        assert world.firings.pending_between(0, AT * 2, 9) == []


@pytest.mark.test_all
def test_what_two_ask_at_the_switch_neither_is_told_by_the_demoted_server(switched: Switched) -> None:
    """Though the first to find out has renewed all connections when the second does."""
    with closing(Database(switched.url(), pool_size=2)) as database:
        both = threading.Barrier(2, timeout=20)
        asked = threading.local()

        def cost_once_both_ask(sql: Connection) -> int:
            cost = cost_of(sql)
            if not hasattr(asked, "before"):
                asked.before = True
                both.wait()
            return cost

        database.write(lambda sql: set_cost(sql, 1))
        with ThreadPoolExecutor(2) as pool:
            found = [pool.submit(lambda: [database.read(cost_of), both.wait()]) for _ in range(2)]
            assert [one.result()[0] for one in found] == [1, 1]
            switched.switch()
            with closing(Database(switched.new.url("moved"), pool_size=2)) as other:
                other.write(lambda sql: set_cost(sql, 7))
            found = [pool.submit(database.read_current, cost_once_both_ask) for _ in range(2)]
            assert [one.result() for one in found] == [7, 7]


@pytest.mark.parametrize("code", [1047, 1290, 1792, 1836, 3100])
def test_whatever_says_that_a_server_was_demoted_has_all_its_connections_left(
    sqlite_url: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = [MySQLdb.OperationalError(code, "read-only")]

    def work(_sql: Connection) -> str:
        if refused:
            raise DBAPIError.instance("INSERT ...", {}, refused.pop(), MySQLdb.Error)
        return "written"

    with closing(Database(sqlite_url, pool_size=2)) as database:
        left: list[str] = []
        monkeypatch.setattr(database.engine, "dispose", lambda **_: left.append("pool"))
        assert database.write(work) == "written"
        assert left == ["pool"]


def test_no_connection_grows_older_than_a_minute() -> None:
    with closing(Database("mysql://nobody@127.0.0.1:1/none", pool_size=2)) as database:
        pools = (database.engine.pool, database._committing.pool)
        assert all(0 < pool._recycle <= OLDEST_CONNECTION_S <= 60 for pool in pools)


def test_a_server_that_was_demoted_is_left_after_a_lost_connection_too(sqlite_url: str) -> None:
    errors = [
        MySQLdb.OperationalError(2013, "Lost connection"),
        MySQLdb.OperationalError(1290, "--read-only"),
    ]

    def work(_sql: Connection) -> str:
        if errors:
            error = errors.pop(0)
            raise DBAPIError.instance(
                "INSERT ...", {}, error, MySQLdb.Error, connection_invalidated=error.args[0] == 2013
            )
        return "written"

    with closing(Database(sqlite_url, pool_size=2)) as database:
        assert database.write(work) == "written"


def refused_with(error: Exception) -> Callable[[Connection], None]:
    def work(_sql: Connection) -> None:
        raise DBAPIError.instance("INSERT ...", {}, error, MySQLdb.Error)

    return work


@pytest.mark.parametrize(
    "error",
    [
        MySQLdb.OperationalError(1021, "Disk full; waiting for someone to free some space"),
        MySQLdb.OperationalError(1114, "The table 'firing' is full"),
        MySQLdb.OperationalError(1045, "Access denied for user"),
        MySQLdb.OperationalError(1226, "User has exceeded the 'max_updates' resource"),
        MySQLdb.OperationalError(1836, "Running in read-only mode"),
        MySQLdb.InternalError(3, "Error writing file: No space left on device"),
    ],
)
def test_what_a_server_may_take_later_finds_sql_away(sqlite_url: str, error: Exception) -> None:
    with closing(Database(sqlite_url, pool_size=2)) as database, pytest.raises(StoreAway):
        database.write(refused_with(error))


def test_a_statement_too_large_for_the_server_is_no_absence(sqlite_url: str) -> None:
    error = MySQLdb.OperationalError(1153, "Got a packet bigger than 'max_allowed_packet' bytes")
    with closing(Database(sqlite_url, pool_size=2)) as database, pytest.raises(OperationalError):
        database.write(refused_with(error))


def test_what_sqlite_commits_is_on_the_disk(sqlite_url: str) -> None:
    with closing(Database(sqlite_url, pool_size=2)) as database:
        assert database.write(lambda sql: sql.scalar(text("PRAGMA synchronous"))) == 2, "FULL"


def test_a_connection_to_sqlite_remembers_few_statements(sqlite_url: str) -> None:
    """For hardly two settle statements are alike, and each is as long as its rows."""
    options: dict[str, object] = {}
    with closing(Database(sqlite_url, pool_size=2)) as database:
        event.listen(
            database.engine, "do_connect", lambda _dialect, _record, _arguments, named: options.update(named)
        )
        database.create_tables()
    assert options["cached_statements"] == 16


# what a transaction leaves behind


def rollbacks(sql: Connection) -> int:
    """Return how often this connection has rolled back."""
    return int(sql.execute(text("SHOW SESSION STATUS LIKE 'Com_rollback'")).one()[1])


def test_after_its_commit_a_write_sends_nothing(mariadb: Database) -> None:
    before = mariadb.write(lambda sql: (own_id(sql), rollbacks(sql)))
    assert mariadb.write(lambda sql: (own_id(sql), rollbacks(sql))) == before


def test_a_connection_given_back_within_a_transaction_takes_nothing_into_the_next(mariadb: Database) -> None:
    """As SQLAlchemy gives back one that nobody closed, after many that were given back right after a commit."""
    with_rows(mariadb)
    before = mariadb.write(own_id)
    unfinished = mariadb.engine.raw_connection()
    unfinished.cursor().execute("UPDATE firing SET cost_ms = 9")
    unfinished.close()
    assert mariadb.write(lambda sql: (own_id(sql), cost_of(sql))) == (before, 0)


# collisions


class Collisions:
    """Work that collides a number of times before it succeeds."""

    def __init__(self, error: Exception, number: int) -> None:
        self.error = error
        self.left = number

    def __call__(self, _sql: Connection) -> str:
        if self.left:
            self.left -= 1
            raise OperationalError("UPDATE ...", {}, self.error)
        return "done"


DEADLOCK = MySQLdb.OperationalError(1213, "Deadlock found when trying to get lock")
LOCK_WAIT = MySQLdb.OperationalError(1205, "Lock wait timeout exceeded")
LOCKED = sqlite3.OperationalError("database is locked")


@pytest.mark.parametrize("error", [DEADLOCK, LOCK_WAIT, LOCKED])
def test_a_transaction_that_collided_is_repeated_after_a_pause(sqlite_url: str, error: Exception) -> None:
    pauses: list[float] = []
    with closing(Database(sqlite_url, pool_size=2, sleep=pauses.append)) as database:
        assert database.write(Collisions(error, 3)) == "done"
    assert len(pauses) == 3
    assert all(pauses)


def test_a_transaction_that_keeps_colliding_finds_sql_away(sqlite_url: str) -> None:
    pauses: list[float] = []
    with (
        closing(Database(sqlite_url, pool_size=2, sleep=pauses.append)) as database,
        pytest.raises(StoreAway),
    ):
        database.write(Collisions(DEADLOCK, 100))
    assert 3 <= len(pauses) <= 20


def in_threads(*works: Callable[[], object]) -> None:
    """Run all at once; raise the first error."""
    errors: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def test_of_two_transactions_in_a_deadlock_both_are_applied_once(mariadb: Database) -> None:
    with_rows(mariadb, 2)
    both_hold_one = threading.Barrier(2, timeout=10)

    def cross(first: int, then: int) -> Callable[[], object]:
        tries = itertools.count(1)

        def work(sql: Connection) -> int:
            number = next(tries)
            add_one(sql, first)
            if number == 1:
                both_hold_one.wait()
            add_one(sql, then)
            return number

        return lambda: took.append(mariadb.write(work))

    took: list[int] = []
    in_threads(cross(1, 2), cross(2, 1))
    assert sorted(took) == [1, 2]
    assert [mariadb.read(lambda sql, one=one: cost_of(sql, one)) for one in (1, 2)] == [2, 2]


def add_one(sql: Connection, timer_id: int) -> None:
    one_more = firings.c.cost_ms + 1
    sql.execute(update(firings).where(firings.c.timer_id == timer_id).values(cost_ms=one_more))


def test_planners_and_settlers_on_the_same_rows_never_deadlock(mariadb_url: str) -> None:
    """For both go through the rows in the order of their key."""
    pauses: list[float] = []
    with closing(Database(mariadb_url, pool_size=2, sleep=pauses.append)) as database:
        database.create_tables()
        world = real_sql(database)
        in_threads(*(plan_and_settle(world, start) for start in range(THREADS)))
        assert world.firings.pending_between(0, AT * 2, 9) == []
        assert database.read(lambda sql: sql.scalar(select(func.count()).select_from(firings))) == 2_000
    assert pauses == []


def plan_and_settle(world: SqlWorld, start: int) -> Callable[[], None]:
    """Batches that overlap those of the other threads, each thread beginning with another one."""

    def work() -> None:
        for page in range(10):
            moment = AT + (start + page) % 5
            batch = [row_at(moment, timer_id) for timer_id in range(1 + start * 60, 401)]
            world.insert(batch)
            world.firings.settle([outcome_of(row.member) for row in reversed(batch)])

    return work


def count_up(url: str, times: int) -> None:
    """Run in a process of its own: read, then write one more; each waits for its turn, nobody collides."""

    def no_collision(_seconds: float) -> None:
        raise AssertionError("two transactions collided")

    with closing(Database(url, pool_size=2, sleep=no_collision)) as database:
        for _ in range(times):
            database.write(lambda sql: set_cost(sql, cost_of(sql) + 1))


@pytest.mark.processes
def test_four_processes_on_sqlite_take_turns_and_lose_no_change(sqlite_url: str) -> None:
    with closing(Database(sqlite_url, pool_size=2)) as database:
        database.create_tables()
        with_rows(database)
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=count_up, args=(sqlite_url, 25)) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        assert [process.exitcode for process in processes] == [0] * 4
        assert database.read(cost_of) == 100


# many rows in few statements


def statements_sent(mariadb: Database, work: Callable[[], object]) -> int:
    """Return how many INSERTs the server got meanwhile."""

    def count() -> int:
        row = mariadb.read(lambda sql: sql.execute(text("SHOW GLOBAL STATUS LIKE 'Com_insert'")).one())
        return int(row[1])

    before = count()
    work()
    return count() - before


def test_many_rows_travel_in_one_statement(mariadb: Database) -> None:
    world = real_sql(mariadb)
    planned = [row_at(AT, timer_id) for timer_id in range(1, 201)]
    outcomes = [outcome_of(row.member, output="ok", http_status=200) for row in planned]
    assert statements_sent(mariadb, lambda: world.insert(planned)) == 1
    assert statements_sent(mariadb, lambda: world.firings.settle(outcomes)) == 1


# lost connections


def own_id(sql: Connection) -> int:
    return int(sql.scalar(text("SELECT CONNECTION_ID()")) or 0)


def test_a_pooled_connection_that_was_killed_is_replaced(
    mariadb: Database, mariadb_server: MariaDBServer
) -> None:
    with_rows(mariadb)
    for verb in (mariadb.read, mariadb.write):
        mariadb_server.run(f"KILL CONNECTION {mariadb.read(own_id)}")
        assert verb(cost_of) == 0


def test_a_transaction_whose_connection_is_killed_is_repeated_whole(
    mariadb: Database, mariadb_server: MariaDBServer
) -> None:
    with_rows(mariadb, 2)
    tries: list[int] = []

    def work(sql: Connection) -> None:
        add_one(sql, 1)
        tries.append(own_id(sql))
        if len(tries) == 1:
            mariadb_server.run(f"KILL CONNECTION {tries[0]}")
        add_one(sql, 2)

    mariadb.write(work)
    assert len(set(tries)) == 2
    assert [mariadb.read(lambda sql, one=one: cost_of(sql, one)) for one in (1, 2)] == [1, 1]


def test_a_connection_that_is_killed_again_and_again_finds_sql_away(
    mariadb: Database, mariadb_server: MariaDBServer
) -> None:
    with_rows(mariadb)

    def work(sql: Connection) -> None:
        mariadb_server.run(f"KILL CONNECTION {own_id(sql)}")
        add_one(sql, 1)

    with pytest.raises(StoreAway):
        mariadb.write(work)
    assert mariadb.read(cost_of) == 0


def test_a_server_that_is_not_there_is_away_at_once() -> None:
    with closing(Database(f"mysql://root@{HOST}:{free_port()}/x", pool_size=2)) as database:
        started_at = time.monotonic()
        for verb in (database.read, database.write):
            with pytest.raises(StoreAway):
                verb(own_id)
        assert time.monotonic() - started_at < 2


# a server that freezes


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[MariaDBServer]:
    """A MariaDB of the test's own, to be frozen; thawed in the end, so that a client without time-outs fails."""
    with MariaDBServer(tmp_path) as server:
        thaw = threading.Timer(2 * BOUND_S, server.process.thaw)
        thaw.start()
        yield server
        thaw.cancel()


@pytest.mark.test_all
def test_a_server_that_freezes_is_away_in_time_and_may_have_applied_the_write(
    own_server: MariaDBServer,
) -> None:
    """Frozen when the commit is on its way: the client is told of an error, and then the server commits."""
    with closing(Database(own_server.create_database("frozen"), pool_size=2)) as database:
        database.create_tables()
        world = with_rows(database)
        outcome = outcome_of(Member(1, AT, 1), output="once", first_sent_at=AT + 5)
        event.listen(database.engine, "commit", lambda _sql: own_server.process.freeze(), once=True)
        started_at = time.monotonic()
        with pytest.raises(StoreAway):
            world.firings.settle([outcome])
        assert time.monotonic() - started_at < BOUND_S

        own_server.process.thaw()
        until(lambda: world.firings.rows([outcome.member])[1, AT].status is FiringStatus.SUCCEEDED)
        (before,) = world.firings.records(1, 9)
        world.firings.settle([outcome])
        assert world.firings.records(1, 9) == [before]


# a statement that takes too long


def works(sql: Connection, what: str) -> int:
    """Return how many statements with this in them the server works on."""
    listed = sql.execute(text("SHOW FULL PROCESSLIST")).mappings()
    return sum(what in (row["Info"] or "") for row in listed if row["Id"] != own_id(sql))


def too_long(sql: Connection) -> None:
    sql.execute(text("SELECT SLEEP(30), 'too long' FROM firing"))


def too_long_a_change(sql: Connection) -> None:
    sql.execute(text("UPDATE firing SET cost_ms = SLEEP(30), error = 'too long'"))


@pytest.mark.test_all
@pytest.mark.parametrize("work", [too_long, too_long_a_change])
def test_a_statement_that_is_given_up_is_gone_from_the_server(
    mariadb: Database, work: Callable[[Connection], None]
) -> None:
    """And it is tried once only: what took too long would take too long again."""
    with_rows(mariadb)
    tries = itertools.count(1)

    def counted(sql: Connection) -> None:
        next(tries)
        work(sql)

    with pytest.raises(TookTooLong, match="max_statement_time"):
        mariadb.write(counted)
    assert next(tries) == 2
    assert mariadb.read(lambda sql: works(sql, "too long")) == 0
    assert mariadb.read(cost_of) == 0


def test_the_server_ends_a_statement_before_its_client_gives_up() -> None:
    assert STATEMENT_S < READ_TIMEOUT_S


def test_a_schema_upgrade_has_all_the_time_it_needs(mariadb_url: str, mariadb_server: MariaDBServer) -> None:
    """Whatever bound the server has for everybody."""
    mariadb_server.run("SET GLOBAL max_statement_time = 7")
    try:
        with patient_connection(mariadb_url) as sql:
            assert sql.scalar(text("SELECT @@max_statement_time")) == 0
    finally:
        mariadb_server.run("SET GLOBAL max_statement_time = 0")
