"""The runbook and the page on backups, typed by the account for a person, on MariaDB and two Redis under `deploy`."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from sqlalchemy.engine import make_url

from tests.docs.blocks import ROOT, Block, blocks
from tests.servers.mariadb import MariaDBServer
from tests.stack.accounts import GuardedRedis, made_accounts, statements_of
from tests.store.plain_stores import plain_timers
from tests.store.test_timers import NOW, new
from wangtimer.stack.ports import HOST
from wangtimer.store.sql.database import Database

pytestmark = pytest.mark.processes

OURS = "tests/docs/test_operator_pages.py"
BACKUP, RESTORE, CLEAR = (
    one for one in blocks(ROOT / "docs/how-to/back-up-and-restore.md") if one.value == OURS
)
LANES, REFUSALS = (one for one in blocks(ROOT / "docs/operations.md") if one.value == OURS)


@dataclass
class Operator:
    """A person with `settings.env` and `operator.env`, in a folder of their own."""

    folder: Path
    settings: dict[str, str]
    store: GuardedRedis
    broker: GuardedRedis

    def types(self, block: Block) -> str:
        """Return what a block prints; it must end well."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WANGTIMER_")}
        bins = f"{Path(sys.executable).parent}:{self.folder / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-e", "-c", block.text],
            cwd=self.folder,
            env={**environment, **self.settings, "PATH": bins, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def names(self, database: str) -> list[str]:
        """Return the timers' names in a database, asked by the account of the processes."""
        url = make_url(self.settings["WANGTIMER_DATABASE_URL"]).set(
            username="wangtimer", password=self.settings["MYSQL_PASSWORD"], database=database
        )
        with closing(Database(url.render_as_string(hide_password=False), 1)) as opened:
            return list(
                opened.read(
                    lambda sql: sql.exec_driver_sql("SELECT name FROM timer ORDER BY name").scalars().all()
                )
            )


@pytest.fixture
def operator(mariadb_server: MariaDBServer, tmp_path: Path) -> Iterator[Operator]:
    with ExitStack() as held:
        passwords = made_accounts(tmp_path / "made", units=tmp_path / "units")
        servers = {
            name: held.enter_context(GuardedRedis(tmp_path / name, tmp_path / f"made/accounts/{name}.acl"))
            for name in ("store", "broker")
        }
        settings = {"MYSQL_PASSWORD": passwords["MYSQL_PASSWORD"]}
        for file in ("settings", "operator"):
            lines = (tmp_path / f"units/{file}.env").read_text().splitlines()
            settings |= dict(line.split("=", 1) for line in lines)
        at = {"127.0.0.1:3306": mariadb_server.port, "127.0.0.1:6379": servers["store"].port}
        at["127.0.0.1:6380"] = servers["broker"].port
        for place, port in at.items():
            settings = {name: text.replace(place, f"{HOST}:{port}") for name, text in settings.items()}
        with closing(Database(mariadb_server.create_database("wangtimer"), 1)) as database:
            database.create_tables()
            for statement in statements_of(passwords):
                mariadb_server.run(statement)
            plain_timers(database).create(new(name="夜间 'x\\"), NOW)
        yield Operator(tmp_path, settings, servers["store"], servers["broker"])
    for name in ("wangtimer", "wangtimer_restored"):
        mariadb_server.drop_database(name)
    for account in ("wangtimer", "wangtimer_schema"):
        mariadb_server.run(f"DROP USER IF EXISTS {account}@'%'")


@pytest.mark.timeout(180)
def test_what_was_dumped_is_there_again_and_redis_is_empty_of_ours_alone(
    operator: Operator, mariadb_server: MariaDBServer
) -> None:
    operator.types(BACKUP)
    assert (operator.folder / "wangtimer.sql").stat().st_mode & 0o777 == 0o600
    mariadb_server.run("TRUNCATE TABLE wangtimer.timer")
    with closing(operator.store.watcher()) as store, closing(operator.broker.watcher()) as broker:
        store.mset({"wt:def:1": "x", "wtb:def:1": "theirs", "other": "theirs"})
        broker.lpush("trigger", "x")
        broker.lpush("theirs", "x")
        operator.types(RESTORE)
        operator.types(CLEAR)
        assert set(store.keys()) == {"wtb:def:1", "other"}
        assert (broker.exists("theirs"), broker.exists("trigger")) == (1, 0)
    assert operator.names("wangtimer_restored") == ["夜间 'x\\"]
    assert operator.names("wangtimer") == []


@pytest.mark.timeout(120)
def test_lanes_and_what_was_refused_are_shown(operator: Operator) -> None:
    with closing(operator.store.watcher()) as store:
        store.hset("wt:lanes", "host:a.example:80 shop", "token")
        store.zadd("wt:{lane:host:a.example:80 shop}:due", {"1-5": 5, "1-6": 6})
        store.hset("wt:{lane:host:a.example:80 shop}:rest", "until", 1_795_207_483_000)
    assert re.search(r"host:a.example:80 shop +2 +2026-11-20T\S+Z", operator.types(LANES))
    beat = redis.Redis.from_url(url_of_beat(operator))
    with closing(beat), pytest.raises(redis.exceptions.NoPermissionError):
        beat.keys()
    assert re.search(r"broker +beat +keys", operator.types(REFUSALS))


def url_of_beat(operator: Operator) -> str:
    (line,) = (operator.folder / "units/beat.env").read_text().splitlines()
    return line.partition("=")[2].replace("127.0.0.1:6380", f"{HOST}:{operator.broker.port}")


def test_no_page_for_operators_tells_to_type_what_no_account_may() -> None:
    pages = [*(ROOT / "docs").rglob("how-to/*.md"), *(ROOT / "docs").rglob("operations.md")]
    told = {str(one.relative_to(ROOT)) for one in pages if re.search(r"redis-cli|FLUSHDB", one.read_text())}
    assert told == set()
