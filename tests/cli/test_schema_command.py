"""`wangtimer schema upgrade` prints what a database lacks, runs it when told, and says what a person must do."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wangtimer.base.shown_url import shown_url
from wangtimer.cli.main import commands
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.upgrade import lacks


def upgrade(url: str, *options: str) -> Result:
    runner = CliRunner(env={"WANGTIMER_DATABASE_URL": url})
    return runner.invoke(commands, ["schema", "upgrade", *options])


@pytest.fixture
def database(database_url: str) -> Database:
    """A database that lacks an index, a column and a table."""
    with closing(Database(database_url, pool_size=2)) as database:
        database.create_tables()
        database.write(lambda sql: [sql.exec_driver_sql(one) for one in spoil(database.is_sqlite)])
        yield database


def spoil(is_sqlite: bool) -> list[str]:
    return [
        f"DROP INDEX timer_updated{'' if is_sqlite else ' ON timer'}",
        "ALTER TABLE timer DROP COLUMN misfire_grace_ms",
        "DROP TABLE calendar",
    ]


def test_it_prints_what_would_be_run_and_runs_nothing(database: Database, database_url: str) -> None:
    result = upgrade(database_url)
    assert result.exit_code == 0
    statements = [one.strip() for one in result.stdout.split(";") if one.strip()]
    assert statements[0].startswith("CREATE TABLE calendar (")
    assert statements[1:] == [
        "CREATE INDEX calendar_followed ON calendar (followed_at, updated_at)",
        "ALTER TABLE timer ADD COLUMN misfire_grace_ms BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX timer_updated ON timer (updated_at)",
    ]
    assert len(database.read(lacks)) == 4
    listed = json.loads(upgrade(database_url, "--json").stdout)
    assert listed[0]["what"] == "table calendar"


def test_a_file_that_is_not_there_is_not_made(empty_sqlite_url: str, tmp_path: Path) -> None:
    statements = upgrade(empty_sqlite_url)
    assert statements.stdout.startswith("CREATE TABLE ")
    assert not list(tmp_path.glob("**/*.db"))
    assert upgrade(empty_sqlite_url, "--apply").exit_code == 0
    assert upgrade(empty_sqlite_url).stdout == "-- the database has all it needs\n"


def test_what_it_prints_can_be_run_by_hand(database: Database, database_url: str) -> None:
    for statement in upgrade(database_url).stdout.split(";"):
        if statement.strip():
            database.write(lambda sql, one=statement: sql.exec_driver_sql(one))
    assert database.read(lacks) == []


def test_it_runs_them_when_told(database: Database, database_url: str) -> None:
    result = upgrade(database_url, "--apply")
    assert result.exit_code == 0
    assert "added column timer.misfire_grace_ms" in result.stderr
    assert database.read(lacks) == []
    assert upgrade(database_url, "--apply").stdout == "-- the database has all it needs\n"


def test_what_a_person_must_do_is_exit_code_1(database: Database, database_url: str) -> None:
    database.write(lambda sql: sql.exec_driver_sql("CREATE INDEX timer_updated ON timer (created_at)"))
    result = upgrade(database_url, "--apply")
    assert result.exit_code == 1
    assert "-- by hand: the database lacks index timer.timer_updated over updated_at" in result.stdout


def test_a_database_that_is_away_is_one_line_and_exit_code_1() -> None:
    result = upgrade("mysql://root@127.0.0.1:1/none")
    assert result.exit_code == 1
    looked_at, away = result.stderr.splitlines()
    assert looked_at == "looking at mysql://***@127.0.0.1:1/none"
    assert away.startswith("wangtimer: SQL is away: ")


@pytest.mark.parametrize("options", [(), ("--apply",)])
def test_it_says_which_database_it_looks_at_without_the_password(
    mariadb_url: str, options: tuple[str, ...]
) -> None:
    result = upgrade(mariadb_url, *options)
    assert result.stderr.splitlines()[0] == f"looking at {shown_url(mariadb_url)}"


def test_without_the_setting_it_says_which_file_it_looks_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={"WANGTIMER_DATABASE_URL": None})
    result = runner.invoke(commands, ["schema", "upgrade"])
    assert result.stderr.splitlines() == [
        f"looking at SQLite at {tmp_path / 'wangtimer.db'}: WANGTIMER_DATABASE_URL is not set"
    ]
