"""A database whose name leads to another server, while what is connected stays with the one that was demoted."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import MySQLdb
import pytest
from sqlalchemy import Connection, event, insert, select
from sqlalchemy.exc import OperationalError

from wangtimer.celery import app as celery_app
from wangtimer.core.flow.pauses import PAUSES, Pause, Pauses
from wangtimer.store.replica import Replica
from wangtimer.store.sql.apps import ApiKeyStore
from wangtimer.store.sql.call_limits import HostLimit, HostLimitStore
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.pauses import PauseStore
from wangtimer.store.sql.tables import api_keys
from wangtimer.testing.deployment import GivenSettings
from wangtimer.testing.doubles import HandClock, MemoryReplicaTexts, MemoryServer
from wangtimer.wiring import build

ASKED_WHETHER_DEMOTED = "SELECT @@global.read_only, @@global.innodb_read_only"


class MovedDatabase(Database):
    """Two files of SQLite that stand for two servers with one name; the first may be demoted."""

    is_sqlite = False

    def __init__(self, directory: Path) -> None:
        super().__init__(f"sqlite:///{directory}/old", pool_size=2)
        self._directory, self._place = directory, "old"
        # Of each look whether its server takes writes; and how often a connection was taken.
        self.looks, self.checkouts = 0, 0
        event.listen(self.engine, "do_connect", self._connected)
        event.listen(self.engine, "checkout", self._note_checkout)
        event.listen(self.engine, "before_cursor_execute", self._answered, retval=True)
        for place in ("old", "new"):
            with closing(self.at(place)) as server:
                server.create_tables()

    def at(self, place: str) -> Database:
        """Return a connection to one of the servers, by its own name."""
        return Database(f"sqlite:///{self._directory}/{place}", pool_size=1)

    def move(self) -> None:
        """Demote the old server, and let the name lead to the new one. Connections stay."""
        self._place = "new"

    def stay(self) -> None:
        """Open connections to the old server, and move again."""
        self._renewed_at, self._place = float("-inf"), "old"
        self.close()
        self.write(lambda sql: sql.execute(select(1)))
        self.move()

    def is_asked_currently(self, read: Callable[[], object]) -> bool:
        """Tell whether each connection that is taken to read is asked whether its server takes writes."""
        before = self.checkouts, self.looks
        read()
        return self.checkouts - before[0] == self.looks - before[1] > 0

    def _connected(self, _dialect: Any, record: Any, _arguments: Any, _named: Any) -> sqlite3.Connection:
        record.info["place"] = self._place
        return sqlite3.connect(self._directory / self._place, check_same_thread=False)

    def _note_checkout(self, *_: Any) -> None:
        self.checkouts += 1

    def _answered(
        self, sql: Connection, _cursor: Any, statement: str, given: Any, context: Any, _many: bool
    ) -> tuple[str, Any]:
        is_demoted = sql.info["place"] != self._place
        if statement == ASKED_WHETHER_DEMOTED:
            self.looks += 1
            return f"SELECT {int(is_demoted)}, 0", given
        asked = getattr(context.compiled, "statement", None)
        locks = getattr(asked, "_for_update_arg", None) is not None
        if is_demoted and (locks or not statement.startswith(("SELECT", "BEGIN", "PRAGMA"))):
            raise OperationalError(statement, {}, MySQLdb.OperationalError(1290, "--read-only"))
        return statement, given


@pytest.fixture
def moved(tmp_path: Path) -> Iterator[MovedDatabase]:
    """It was moved, and a connection to the old server stands open."""
    with closing(MovedDatabase(tmp_path)) as database:
        database.stay()
        yield database


def named(sql: Connection) -> list[str]:
    return list(sql.execute(select(api_keys.c.id)).scalars())


def with_key(database: Database, key_id: str) -> None:
    row = {"id": key_id, "name": "", "fingerprint": "", "scopes": "", "created_at": 1}
    database.write(lambda sql: sql.execute(insert(api_keys).values(row)))


def test_what_is_to_be_current_is_not_told_by_a_server_that_was_demoted(moved: MovedDatabase) -> None:
    with closing(moved.at("new")) as new:
        with_key(new, "made there")
    assert moved.read(named) == []
    assert moved.read_current(named) == ["made there"]
    assert moved.read(named) == ["made there"], "all connections are left"


def test_a_refused_write_is_repeated_where_writes_are_taken(moved: MovedDatabase) -> None:
    with_key(moved, "made anew")
    with closing(moved.at("new")) as new:
        assert new.read(named) == ["made anew"]


def test_a_key_that_was_revoked_counts_nowhere(moved: MovedDatabase) -> None:
    with closing(moved.at("old")) as old, closing(moved.at("new")) as new:
        for server in (old, new):
            with_key(server, "k")
        ApiKeyStore(new).revoke(None, "k", 5)
    found = ApiKeyStore(moved).find("k")
    assert found is not None
    assert found.key.revoked_at == 5


def test_what_redis_is_told_is_read_of_a_server_that_takes_writes(tmp_path: Path) -> None:
    """Each connection that is taken for it is asked, whatever it tells."""
    wiring = build(GivenSettings(callback_queues="big", store_url="redis://127.0.0.1:1/0"), celery_app)
    with closing(MovedDatabase(tmp_path)) as database:
        vars(wiring)["database"] = database
        told = {one.kind.name: one.in_sql for one in wiring.replicas._all} | {
            "ways out": wiring.ways_out_mark.of_apps.in_sql,
            "changed timers": lambda: wiring.timers.changed_behind((0, 0), 9),
            "changed signing": lambda: wiring.signing_store.changed_behind((0, ""), 9),
            "changed targets": lambda: wiring.target_store.changed_behind((0, "", ""), 9),
        }
        assert {name for name, read in told.items() if not database.is_asked_currently(read)} == set()


def test_a_pause_on_the_new_server_is_not_taken_back_by_a_process_that_knows_the_old_one(
    moved: MovedDatabase,
) -> None:
    time = HandClock()
    texts = MemoryReplicaTexts(MemoryServer("Redis", time))
    with closing(moved.at("new")) as new:
        PauseStore(new).add(Pause("all", 1))
        Replica(PAUSES, PauseStore(new).of_calls, texts, time).tell()
    swept = Replica(PAUSES, PauseStore(moved).of_calls, texts, time)
    swept.tell_instead_of(texts.read([PAUSES.name])[0])
    assert swept.read() == Pauses(frozenset({"all"}))


def test_what_was_paused_or_limited_on_the_old_server_alone_decides_nothing(moved: MovedDatabase) -> None:
    pauses, limits = PauseStore(moved), HostLimitStore(moved)
    with closing(moved.at("old")) as old, closing(moved.at("new")) as new:
        PauseStore(old).add(Pause("all", 1))
        PauseStore(new).add(Pause("app:shop", 2))
        HostLimitStore(new).put(HostLimit("a.example:80", 1, None), 3)
        assert pauses.add(Pause("all", 4)) == Pause("all", 4)
        moved.stay()
        assert pauses.remove("app:shop", 5) == Pause("app:shop", 2)
        moved.stay()
        assert limits.remove("a.example:80", 6)
        assert PauseStore(new).all() == [Pause("all", 4)]
