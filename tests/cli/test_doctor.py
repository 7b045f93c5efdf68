"""`wangtimer doctor` finds what was broken on purpose, and nothing where all is well."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from tests.patience import wait_for
from tests.servers.mariadb import MariaDBServer
from tests.servers.redis_server import RedisServer, redis_program
from tests.stack.running_up import running_up
from wangtimer.base.settings import Settings
from wangtimer.cli.doctor.findings import Finding, Part, Severity
from wangtimer.cli.doctor.server_checkups import (
    check_database,
    check_redis,
    check_sql,
    judge_beat,
    judge_clock,
)
from wangtimer.cli.doctor.stored_checkups import of_queues
from wangtimer.cli.terminal.output import printable
from wangtimer.core.flow.queues import OwnQueues
from wangtimer.stack.child import inherited_environment
from wangtimer.stack.embedded import said
from wangtimer.stack.ports import free_port
from wangtimer.stack.procfile import read_commands
from wangtimer.stack.service import Service
from wangtimer.stack.supervisor import Supervisor
from wangtimer.store.sql.database import Database

WORKERS = ("beat", "scheduler", "migrate", "trigger", "callback")
QUEUES = ("schedule", "migrate", "trigger", "callback")


def wrong(findings: list[Finding]) -> list[str]:
    return [one.text for one in findings if one.severity is Severity.ERROR]


def warnings(findings: list[Finding]) -> list[str]:
    return [one.text for one in findings if one.severity is Severity.WARNING]


# the command


def settings_of(database_url: str, store_url: str, broker_url: str) -> dict[str, str]:
    return {
        "WANGTIMER_DATABASE_URL": database_url,
        "WANGTIMER_STORE_URL": store_url,
        "WANGTIMER_BROKER_URL": broker_url,
        "WANGTIMER_EGRESS": "public",
    }


def doctor(settings: dict[str, str], *options: str) -> "subprocess.CompletedProcess[str]":
    """Celery reads its settings once a process, so each check-up is a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from wangtimer.cli import main; main()", "doctor", *options],
        env=inherited_environment() | settings,
        capture_output=True,
        text=True,
        timeout=90,
    )


def found(settings: dict[str, str]) -> tuple[int, list[dict[str, Any]]]:
    done = doctor(settings, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def deployment(
    redis_url: str, redis_server: RedisServer, mariadb_url: str, tmp_path: Path
) -> Iterator[tuple[Supervisor, dict[str, str]]]:
    """The Procfile's workers and beat, and what they were told."""
    with closing(Database(mariadb_url, pool_size=2)) as database:
        database.create_tables()
    settings = settings_of(mariadb_url, redis_url, redis_server.url(1))
    supervisor = Supervisor()
    try:
        Service(supervisor, tmp_path, settings).start(read_commands()[name] for name in WORKERS)
        assert wait_for(supervisor.all_ready, seconds=60), supervisor.unready()
        yield supervisor, settings
    finally:
        supervisor.stop(seconds=5)


@pytest.mark.processes
def test_a_deployment_that_is_well_has_nothing_wrong_and_each_queue_its_worker(
    deployment: tuple[Supervisor, dict[str, str]],
) -> None:
    _, settings = deployment
    answers: list[tuple[int, list[dict[str, Any]]]] = []

    def is_well() -> bool:
        """A worker just started may need a moment more to answer."""
        answers.append(found(settings))
        return answers[-1][0] == 0

    assert wait_for(is_well, seconds=45), answers[-1]
    texts = [one["text"] for one in answers[-1][1]]
    assert [one for one in answers[-1][1] if one["severity"] == "error"] == []
    assert any(text.startswith("MariaDB 10.") for text in texts)
    assert {"transactions are READ COMMITTED", "maxmemory-policy is noeviction"} <= set(texts)
    for queue in QUEUES:
        assert any(text.startswith(f"queue {queue}: ") for text in texts)
    for start in ("beat: beat@", "the clock of this host is ", "the clock of SQL is "):
        assert any(text.startswith(start) for text in texts)


@pytest.mark.processes
def test_queues_without_workers_and_a_missing_beat_are_errors(
    redis_url: str, redis_server: RedisServer, empty_mariadb_url: str
) -> None:
    status, findings = found(settings_of(empty_mariadb_url, redis_url, redis_server.url(1)))
    assert status == 1
    errors = {one["text"]: one["mend"] for one in findings if one["severity"] == "error"}
    for queue in QUEUES:
        assert f"-Q {queue} " in errors[f"queue {queue} has no worker"]
    assert "no beat answers: nothing is planned, scheduled or swept" in errors
    assert "CREATE TABLE timer (" in errors["the schema lacks table timer"]


@pytest.mark.processes
def test_what_is_away_is_told_of_each_part_in_a_table_too(tmp_path: Path) -> None:
    away = f"redis://127.0.0.1:{free_port()}/0"
    done = doctor(settings_of(f"mysql://root@127.0.0.1:{free_port()}/none", away, away))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for part in ("sql", "store", "broker"):
        assert f"error: {part}: " in done.stdout
    assert "look at WANGTIMER_STORE_URL" in done.stdout


@pytest.mark.processes
def test_it_finds_the_embedded_service_by_its_data_directory(tmp_path: Path) -> None:
    missing = doctor({}, "--data-dir", str(tmp_path))
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "wangtimer up has not run" in missing.stderr
    with running_up(tmp_path) as stack:
        assert f"wangtimer doctor --data-dir {stack.directory.path}" in said(stack)
        assert f"API      {stack.api_url}/v1/timers\n" in said(stack)
        assert f"check    .venv/bin/wangtimer doctor --data-dir {stack.directory.path}\n" in said(
            stack, ".venv/bin/wangtimer"
        )
        done = doctor({}, "--data-dir", str(stack.directory.path), "--json")
    findings = json.loads(done.stdout)
    assert [one for one in findings if one["severity"] == "error"] == []
    assert any(one["text"].startswith("looked at sqlite:///") for one in findings)
    assert {one["part"] for one in findings if "Valkey" in one["text"]} == {"store", "broker"}


def test_wrong_settings_are_one_line() -> None:
    done = doctor({"WANGTIMER_DATABASE_URL": "nonsense"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("wangtimer: WANGTIMER_DATABASE_URL='***'")
    assert done.stderr.count("\n") == 1


def test_workers_that_answer_are_no_beat() -> None:
    assert wrong([judge_beat({"migrate@a": {"ok": "pong"}, "callback@a": {"ok": "pong"}})])
    assert not wrong([judge_beat({"migrate@a": {"ok": "pong"}, "beat@a": {"ok": "pong"}})])


# Redis


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(redis_program(), tmp_path) as server:
        yield server


def checked(server: RedisServer) -> list[Finding]:
    return list(check_redis(server.url(), Part("store"), "WANGTIMER_STORE_URL"))


def configure(server: RedisServer, **values: str) -> None:
    with closing(Redis.from_url(server.url())) as client:
        for name, value in values.items():
            client.config_set(name.replace("_", "-"), value)


def test_a_redis_that_may_evict_is_wrong(own_redis: RedisServer) -> None:
    assert wrong(checked(own_redis)) == []
    configure(own_redis, maxmemory_policy="allkeys-lru")
    (finding,) = [one for one in checked(own_redis) if one.severity is Severity.ERROR]
    assert "maxmemory-policy is allkeys-lru" in finding.text
    assert finding.mend.startswith("CONFIG SET maxmemory-policy noeviction")


def test_a_replica_is_wrong(own_redis: RedisServer) -> None:
    with closing(Redis.from_url(own_redis.url())) as client:
        client.replicaof("127.0.0.1", 1)
    assert wrong(checked(own_redis)) == ["it is a replica and takes no writes"]


def test_a_redis_that_is_nearly_full_is_a_warning(own_redis: RedisServer) -> None:
    with closing(Redis.from_url(own_redis.url())) as client:
        used = int(client.info()["used_memory"])
        client.config_set("maxmemory", used)
    assert "% of its maxmemory is used" in warnings(checked(own_redis))[0]


def test_a_redis_with_less_memory_than_settings_let_it_take_is_a_warning(own_redis: RedisServer) -> None:
    def planned() -> list[Finding]:
        return list(
            check_redis(own_redis.url(), Part("store"), "WANGTIMER_STORE_URL", Settings().store_planned_mb)
        )

    assert any(
        one.text.startswith("the window, lanes, outcomes and consumers may take 620 MB") for one in planned()
    )
    assert warnings(planned()) == []
    configure(own_redis, maxmemory="640mb")
    (said,) = warnings(planned())
    assert said.endswith("; its maxmemory is 671 MB")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "it persists nothing, which is enough: what it loses is loaded again from SQL"),
        ({"save": "60 1"}, "it persists by snapshots (save 60 1)"),
        ({"appendonly": "yes"}, "it persists (appendonly)"),
    ],
)
def test_it_says_how_a_redis_persists(own_redis: RedisServer, values: dict[str, str], said: str) -> None:
    configure(own_redis, **values)
    assert said in [one.text for one in checked(own_redis)]


def test_the_embedded_valkey_is_new_enough(valkey_url: str) -> None:
    findings = list(check_redis(valkey_url, Part("store"), "WANGTIMER_STORE_URL"))
    assert wrong(findings) == []
    assert findings[0].text.startswith("Valkey ")


# SQL


def test_the_mend_can_be_pasted(sqlite_url: str) -> None:
    with closing(Database(sqlite_url, pool_size=2)) as database:
        database.create_tables()
        database.write(lambda sql: [sql.exec_driver_sql("DROP TABLE calendar")])
    mends = [one.mend for one in check_sql(sqlite_url) if one.mend]
    assert "CREATE TABLE calendar" in mends[0]
    assert printable(mends[0]) == mends[0]


def test_a_database_that_lacks_something_is_wrong_and_its_mend_is_printed(mariadb_url: str) -> None:
    with closing(Database(mariadb_url, pool_size=2)) as database:
        database.create_tables()
        assert wrong(list(check_sql(mariadb_url))) == []
        database.write(lambda sql: sql.exec_driver_sql("DROP INDEX timer_updated ON timer"))
    (finding,) = [one for one in check_sql(mariadb_url) if one.severity is Severity.ERROR]
    assert finding.text == "the schema lacks index timer.timer_updated"
    assert finding.mend.endswith("or run: CREATE INDEX timer_updated ON timer (updated_at);")


def test_a_server_that_takes_no_writes_is_wrong_and_one_that_flushes_late_a_warning(
    mariadb_url: str, mariadb_server: MariaDBServer
) -> None:
    with closing(Database(mariadb_url, pool_size=2)) as database:
        database.create_tables()
    try:
        mariadb_server.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
        assert warnings(list(check_sql(mariadb_url))) == []
        mariadb_server.run("SET GLOBAL read_only = 1")
        # As the tests' server has it.
        mariadb_server.run("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
        findings = list(check_sql(mariadb_url))
    finally:
        mariadb_server.run("SET GLOBAL read_only = 0")
    assert wrong(findings) == ["the server takes no writes (read_only)"]
    assert "innodb_flush_log_at_trx_commit is 2" in warnings(findings)[0]


def test_an_sqlite_file_that_is_not_there_is_not_made(empty_sqlite_url: str, tmp_path: Path) -> None:
    assert warnings(list(check_sql(empty_sqlite_url)))
    assert list(tmp_path.iterdir()) == []


def test_sqlite_is_well(sqlite_url: str) -> None:
    with closing(Database(sqlite_url, pool_size=2)) as database:
        database.create_tables()
    assert {one.severity for one in check_sql(sqlite_url)} == {Severity.OK}


def test_it_says_which_database_it_looked_at_without_the_password() -> None:
    (finding,) = check_database(Settings(database_url="mysql://wang:secret@db.example/timers"))
    assert (finding.severity, finding.text) == (Severity.OK, "looked at mysql://***@db.example/timers")


def test_a_database_that_was_not_set_is_a_warning_with_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("WANGTIMER_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    (finding,) = check_database(Settings())
    said = f"SQLite at {tmp_path / 'wangtimer.db'}: one machine only; WANGTIMER_DATABASE_URL is not set"
    assert (finding.severity, finding.text) == (Severity.WARNING, said)


# clocks


@pytest.mark.parametrize(
    ("ahead_ms", "severity", "said"),
    [
        (3.2, Severity.OK, "3 ms ahead of"),
        (-700.0, Severity.WARNING, "700 ms behind"),
        (3_600_000.0, Severity.ERROR, "3600000 ms ahead of"),
    ],
)
def test_clocks_that_are_apart_are_told(ahead_ms: float, severity: Severity, said: str) -> None:
    finding = judge_clock("SQL", ahead_ms)
    assert finding.severity is severity
    assert f"the clock of SQL is {said} Redis'" in finding.text


# Queues


def test_an_app_whose_queue_is_in_no_setting_is_an_error() -> None:
    own = OwnQueues.read("mail")
    (finding,) = of_queues({"ads": "reports", "shop": "mail"}, own)
    assert wrong([finding])
    assert ("app ads" in finding.text, "apps limit ads --queue none" in finding.mend) == (True, True)
    assert not wrong(list(of_queues({"shop": "mail"}, own)))
    assert list(of_queues({}, OwnQueues())) == []
