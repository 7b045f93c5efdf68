"""`wangtimer backup` and `restore`, on MariaDB and SQLite: what is whole comes back, what is not changes nothing."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner, Result
from kombu.exceptions import OperationalError
from redis import Redis
from sqlalchemy.engine import make_url

from tests.patience import wait_for
from tests.store.plain_stores import plain_timers
from tests.store.test_timers import NOW, new
from wangtimer.cli.main import commands
from wangtimer.stack.data_directory import held_directory
from wangtimer.stack.ports import free_port
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.process_marks import tell_web, web_runs
from wangtimer.store.sql.database import Database


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch: pytest.MonkeyPatch, redis_url: str) -> None:
    monkeypatch.setattr("celery.app.control.Inspect.ping", lambda _: None)
    monkeypatch.setenv("WANGTIMER_STORE_URL", redis_url)


@pytest.fixture
def full_url(database_url: str) -> str:
    """A database with a timer."""
    with closing(Database(database_url, 1)) as database:
        database.create_tables()
        plain_timers(database).create(new(name="nightly"), NOW)
    return database_url


def run(url: str, *arguments: object) -> Result:
    return CliRunner(env={"WANGTIMER_DATABASE_URL": url}).invoke(commands, [str(one) for one in arguments])


def names(url: str) -> list[str]:
    with closing(Database(url, 1)) as database:
        return list(database.read(lambda sql: sql.exec_driver_sql("SELECT name FROM timer").scalars().all()))


def beside(url: str, tmp_path: Path) -> str:
    """Return the name of another database of that server."""
    parsed = make_url(url)
    return (
        str(tmp_path / "restored.db")
        if parsed.get_backend_name() == "sqlite"
        else f"{parsed.database}_restored"
    )


def test_what_is_written_is_loaded_into_a_database_beside_it(full_url: str, tmp_path: Path) -> None:
    file, into = tmp_path / "dump", beside(full_url, tmp_path)
    assert run(full_url, "backup", file).exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.glob("*.part")] == []
    restored = run(full_url, "restore", file, "--into", into)
    assert restored.exit_code == 0, restored.output
    other = make_url(full_url).set(database=into)
    try:
        assert names(other.render_as_string(hide_password=False)) == ["nightly"]
    finally:
        if other.get_backend_name() != "sqlite":
            with closing(Database(full_url, 1)) as database:
                database.write(lambda sql: sql.exec_driver_sql(f"DROP DATABASE `{into}`"))


def test_a_database_with_timers_is_not_loaded_into(full_url: str, tmp_path: Path) -> None:
    file = tmp_path / "dump"
    run(full_url, "backup", file)
    refused = run(full_url, "restore", file)
    assert (refused.exit_code, "--into" in refused.output) == (1, True)
    assert names(full_url) == ["nightly"]


def test_a_dump_that_is_cut_off_is_refused_before_anything_is_made(full_url: str, tmp_path: Path) -> None:
    file, into = tmp_path / "dump", beside(full_url, tmp_path)
    run(full_url, "backup", file)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    refused = run(full_url, "restore", file, "--into", into)
    assert (refused.exit_code, "Traceback" in refused.output) == (1, False), refused.output
    again = run(full_url, "backup", file)
    assert (again.exit_code, "there already" in again.output) == (1, True)
    assert run(full_url, "restore", tmp_path / "none", "--into", into).exit_code == 1
    if not full_url.startswith("sqlite"):
        with closing(Database(full_url, 1)) as database:
            found = database.read(lambda sql: sql.exec_driver_sql("SHOW DATABASES").scalars().all())
        assert into not in found


def test_processes_that_run_are_named_and_nothing_is_loaded(
    full_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("celery.app.control.Inspect.ping", lambda _: {"callback@a": {"ok": "pong"}})
    assert_refused(full_url, tmp_path, "callback@a still run")


def test_web_and_stream_are_seen_although_no_broker_knows_them(
    sqlite_url: str, tmp_path: Path, redis_url: str
) -> None:
    keys = Keys("wt")
    ended = Event()

    def mark() -> None:
        with closing(RedisConnection(redis_url)) as store:
            while not ended.wait(0.05):
                tell_web(store, keys)

    with closing(Redis.from_url(redis_url)) as client, ThreadPoolExecutor(1) as web:
        with closing(client.pubsub()) as listening:
            listening.subscribe(keys.consumers_came)
            assert_refused(sqlite_url, tmp_path, "stream still run")
        marking = web.submit(mark)
        try:
            wait_for(lambda: bool(client.exists(keys.web)), 5)
            assert_refused(sqlite_url, tmp_path, "web still run")
        finally:
            ended.set()
        marking.result()


def test_the_mark_of_a_web_process_that_has_ended_is_waited_for(redis_url: str) -> None:
    with closing(RedisConnection(redis_url)) as store:
        assert not web_runs(store, Keys("wt"))
        store.command(lambda client: client.set(Keys("wt").web, 1, px=300))
        assert not web_runs(store, Keys("wt"))


def test_a_broker_that_is_away_is_one_line(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr("celery.app.control.Inspect.ping", away)
    assert_refused(sqlite_url, tmp_path, "broker: Connection refused")


def test_a_store_that_is_away_is_one_line(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANGTIMER_STORE_URL", f"redis://127.0.0.1:{free_port()}/0")
    assert_refused(sqlite_url, tmp_path, "Redis is away")


def assert_refused(url: str, tmp_path: Path, reason: str) -> None:
    for command in (("restore", tmp_path / "dump", "--into", "x"), ("store", "clear", "--yes")):
        refused = run(url, *command)
        assert (refused.exit_code, refused.output.count("\n"), reason in refused.output) == (1, 1, True), (
            refused
        )


def test_a_server_that_refuses_is_one_line_without_a_password(mariadb_url: str, tmp_path: Path) -> None:
    url = make_url(mariadb_url).set(username="nobody", password="sesame")
    refused = run(url.render_as_string(hide_password=False), "backup", tmp_path / "dump")
    assert (refused.exit_code, refused.output.count("\n"), "sesame" in refused.output) == (1, 1, False)
    assert "Access denied" in refused.output
    assert list(tmp_path.glob("dump*")) == []


def test_a_data_directory_is_copied_while_it_runs_and_restored_once_it_has_stopped(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "copy.db"
    with held_directory(data) as held:
        url = held.directory.database_url
        with closing(Database(url, 1)) as database:
            database.create_tables()
            plain_timers(database).create(new(name="nightly"), NOW)
        held.directory.valkey.mkdir()
        assert run("sqlite://", "backup", file, "--data-dir", data).exit_code == 0
        with closing(sqlite3.connect(data / "wangtimer.db")) as later:
            later.execute("UPDATE timer SET name = 'later'")
            later.commit()
        refused = run("sqlite://", "restore", file, "--data-dir", data)
        assert (refused.exit_code, "is in use" in refused.output) == (1, True)
    restored = run("sqlite://", "restore", file, "--data-dir", data)
    assert restored.exit_code == 0, restored.output
    assert "what was there is" in restored.output
    assert names(url) == ["nightly"]
    assert names(f"sqlite:///{data / 'wangtimer-before.db'}") == ["later"]
    assert not (data / "valkey").exists()
    assert (data / "wangtimer.db").stat().st_mode & 0o777 == 0o600
    again = run("sqlite://", "restore", file, "--data-dir", data)
    assert (again.exit_code, "move it away" in again.output) == (1, True)
    assert names(f"sqlite:///{data / 'wangtimer-before.db'}") == ["later"], "what was first there is kept"
    fresh = run("sqlite://", "restore", file, "--data-dir", tmp_path / "fresh")
    assert (fresh.exit_code, fresh.output) == (0, "restored\n"), "nothing was there"
