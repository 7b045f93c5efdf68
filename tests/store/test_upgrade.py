"""A database that lacks much gets it, and keeps all it has."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from tests.servers.mariadb import MariaDBServer
from tests.store.members import row_at
from tests.store.test_schema import table_in
from tests.store.test_timers import NOW, new
from tests.store.worlds import real_sql
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import metadata
from wangtimer.store.sql.upgrade import add_missing, lacks, patient_connection

OLD_SCHEMA = Path(__file__).with_name("schema-of-2026-11-20.sql")
OLD_FIRING = (
    "INSERT INTO firing (fire_at, timer_id, bucket, kind, status, due_at, attempt, first_sent_at, lateness_ms, cost_ms,"
    " http_status) VALUES (60000, 1, 0, 'scheduled', 'succeeded', 60000, 1, 60003, 3, 12, 200)"
)
OLD_TIMER = (
    "INSERT INTO timer (app, name, status, cron, timezone, notify, version, edited_at, planned_until, next_fire_at,"
    " created_at, updated_at) VALUES ('shop', '{name}', 'disabled', '0 9 * * *', 'UTC',"
    ' \'{{"url": "http://a.example/", "method": "POST", "headers": [], "body": ""}}\', 1, 0, 0, NULL, 1, 1)'
)


def old_statements(is_sqlite: bool) -> list[str]:
    """Return a schema that lacks much; SQLite gets it in its own words."""
    code = re.sub(r"--.*", "", OLD_SCHEMA.read_text())
    if is_sqlite:
        code = re.sub(r"\).ENGINE[^;]*;", ");", code)
        code = re.sub(r"ENUM\([^)]*\)", "VARCHAR(9)", code).replace("MEDIUMTEXT", "TEXT")
        code = code.replace("id BIGINT NOT NULL AUTO_INCREMENT", "id INTEGER NOT NULL")
        indexes = re.findall(r"INDEX (\w+) (\([^)]*\))", code)
        code = re.sub(r",\s*INDEX \w+ \([^)]*\)", "", code)
        tables = {"timer_to_plan": "timer", "timer_updated": "timer"}
        code += ";".join(
            f"CREATE INDEX {name} ON {tables.get(name, 'firing')} {columns}" for name, columns in indexes
        )
    return [statement for statement in code.split(";") if statement.strip()]


@pytest.fixture
def old(empty_database_url: str) -> Iterator[Database]:
    """A database that lacks much, with a timer."""
    with closing(Database(empty_database_url, pool_size=2)) as database:

        def fill(sql: Connection) -> None:
            for statement in old_statements(database.is_sqlite):
                sql.exec_driver_sql(statement)
            sql.exec_driver_sql(OLD_TIMER.format(name="old"))

        database.write(fill)
        yield database


def upgrade(url: str) -> list[str]:
    with patient_connection(url) as sql:
        return [lack.what for lack in add_missing(sql)]


def test_an_old_database_lacks_what_was_added_since(old: Database) -> None:
    missing = [lack.what for lack in old.read(lacks)]
    assert "table calendar" in missing
    assert "table timer_tag" in missing
    assert "column timer.misfire" in missing
    assert "index timer.timer_follows" in missing
    assert not [what for what in missing if what.startswith(("table timer ", "table firing "))]


def test_upgraded_it_lacks_nothing_and_a_second_time_does_nothing(
    old: Database, empty_database_url: str
) -> None:
    assert upgrade(empty_database_url)
    assert old.read(lacks) == []
    assert upgrade(empty_database_url) == []


def test_the_program_runs_on_it_and_finds_the_timers_there_were(
    old: Database, empty_database_url: str
) -> None:
    upgrade(empty_database_url)
    old.ping()
    world = real_sql(old)
    timer = world.timers.get("shop", 1)
    assert (timer.name, timer.definition.misfire.grace_ms) == ("old", 0)
    assert timer.definition.misfire.policy.value == "fire_all"
    made = world.timers.create(new(), NOW)
    assert world.insert([row_at(NOW, made.id)])


def test_a_firing_that_had_its_outcome_keeps_it(old: Database, empty_database_url: str) -> None:
    old.write(lambda sql: sql.exec_driver_sql(OLD_FIRING))
    upgrade(empty_database_url)
    (record,) = real_sql(old).firings.records(1, 9)
    assert (record.first_sent_at, record.lateness_ms) == (60_003, 3)
    assert (record.cost_ms, record.http_status) == (12, 200)


def test_a_process_of_the_older_version_can_still_insert(old: Database, empty_database_url: str) -> None:
    upgrade(empty_database_url)
    old.write(lambda sql: sql.exec_driver_sql(OLD_TIMER.format(name="later")))
    assert real_sql(old).timers.get("shop", 2).definition.misfire.grace_ms == 0


def test_an_upgrade_that_was_cut_off_goes_on(old: Database, empty_database_url: str) -> None:
    with patient_connection(empty_database_url) as sql:
        steps = add_missing(sql)
        done = [next(steps).what for _ in range(4)]
        steps.close()
    rest = upgrade(empty_database_url)
    assert not set(done) & set(rest)
    assert old.read(lacks) == []


def test_nothing_is_dropped_or_changed(old: Database) -> None:
    for lack in old.read(lacks):
        assert lack.statement is not None
        assert re.match(
            r"CREATE (UNIQUE )?(TABLE|INDEX) |ALTER TABLE \w+ ADD COLUMN "
            # Save for an index that is there again at once, and longer.
            r"|ALTER TABLE firing DROP INDEX firing_due, ADD INDEX firing_due \(status, due_at, "
            r"|DROP INDEX firing_due$"
            # Save for words behind those that a column has.
            r"|ALTER TABLE firing MODIFY COLUMN status ENUM\('pending',[a-z',]*,'accepted'\) NOT NULL$",
            lack.statement,
        )


def test_on_mariadb_it_becomes_what_schema_sql_makes_save_for_defaults_and_order(
    mariadb_server: MariaDBServer, empty_mariadb_url: str
) -> None:
    with closing(Database(empty_mariadb_url, pool_size=2)) as old:
        old.write(lambda sql: [sql.execute(text(one)) for one in old_statements(is_sqlite=False)])
        upgrade(empty_mariadb_url)
        url = mariadb_server.create_database("made_anew")
        with closing(Database(url, pool_size=2)) as made:
            made.create_tables()
            for name in metadata.tables:
                assert plain(table_in(old, name)) == plain(table_in(made, name))
        mariadb_server.drop_database("made_anew")


def plain(lines: list[str]) -> list[str]:
    return sorted(re.sub(r" DEFAULT \S+$", "", line) for line in lines)


def test_a_new_database_gets_every_table(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    with closing(Database(empty_database_url, pool_size=2)) as database:
        database.ping()
        assert database.read(lacks) == []


def test_what_is_there_but_another_is_left_to_a_person(database: Database, database_url: str) -> None:
    def spoil(sql: Connection) -> None:
        for statement in (
            f"DROP INDEX timer_updated{'' if database.is_sqlite else ' ON timer'}",
            "CREATE INDEX timer_updated ON timer (created_at)",
            "ALTER TABLE timer ADD COLUMN owner VARCHAR(9)",
        ):
            sql.exec_driver_sql(statement)

    database.write(spoil)
    (lack,) = database.read(lacks)
    assert (lack.what, lack.statement) == ("index timer.timer_updated over updated_at", None)
    assert upgrade(database_url) == []


def test_words_are_added_behind_those_of_an_enumeration(mariadb: Database) -> None:
    """Without a write of any row; what else a column says stays."""
    mariadb.write(
        lambda sql: sql.exec_driver_sql(
            "ALTER TABLE firing MODIFY kind ENUM('scheduled') NOT NULL DEFAULT 'scheduled'"
        )
    )
    (lack,) = mariadb.read(lacks)
    assert lack.what == "words of column firing.kind: manual, backfill"
    mariadb.write(lambda sql: sql.exec_driver_sql(f"{lack.statement}, ALGORITHM = INSTANT"))
    assert mariadb.read(lacks) == []
    made = mariadb.read(lambda sql: sql.exec_driver_sql("SHOW CREATE TABLE firing").one()[1])
    assert "`kind` enum('scheduled','manual','backfill') NOT NULL DEFAULT 'scheduled'" in made


def test_words_of_an_enumeration_that_stand_in_another_order_are_left_to_a_person(mariadb: Database) -> None:
    mariadb.write(lambda sql: sql.exec_driver_sql("ALTER TABLE firing MODIFY kind ENUM('backfill') NOT NULL"))
    (lack,) = mariadb.read(lacks)
    assert (lack.what, lack.statement) == ("words of column firing.kind: scheduled, manual", None)


def test_a_column_that_is_too_short_is_told(mariadb: Database) -> None:
    mariadb.write(lambda sql: sql.exec_driver_sql("ALTER TABLE firing MODIFY output VARCHAR(256) NOT NULL"))
    (lack,) = mariadb.read(lacks)
    assert (lack.what, lack.statement) == ("room in column firing.output: it is to be VARCHAR(1024)", None)


def test_an_unknown_column_that_every_row_needs_is_told(mariadb: Database) -> None:
    mariadb.write(lambda sql: sql.exec_driver_sql("ALTER TABLE timer ADD COLUMN owner BIGINT NOT NULL"))
    (lack,) = mariadb.read(lacks)
    assert lack.what == "a default of timer.owner, which this version does not know"


def test_a_missing_unique_index_is_added(mariadb: Database) -> None:
    mariadb.write(lambda sql: sql.exec_driver_sql("DROP INDEX timer_app_name ON timer"))
    (lack,) = mariadb.read(lacks)
    assert lack.statement == "CREATE UNIQUE INDEX timer_app_name ON timer (app, name, tombstone)"


def test_an_index_that_lacks_its_last_columns_is_made_again(old: Database, empty_database_url: str) -> None:
    """And until then the program reads by what there is of it."""
    old.write(lambda sql: sql.exec_driver_sql(OLD_FIRING.replace("succeeded", "pending")))
    others = [what for what in upgrade(empty_database_url) if what.startswith("index firing.firing_due")]
    assert others[0] == "index firing.firing_due over status, due_at, fire_at, timer_id, lane"
    old.write(lambda sql: [sql.exec_driver_sql(one) for one in shortened(old.is_sqlite)])
    assert len(real_sql(old).firings.pending_between(0, 60_000, 9, in_lanes=False)) == 1
    assert upgrade(empty_database_url) == others
    assert old.read(lacks) == []
    assert len(real_sql(old).firings.pending_between(0, 60_000, 9, in_lanes=False)) == 1


def shortened(is_sqlite: bool) -> list[str]:
    gone = f"DROP INDEX firing_due{'' if is_sqlite else ' ON firing'}"
    return [gone, "CREATE INDEX firing_due ON firing (status, due_at)"]


def test_an_index_is_made_again_while_others_read_and_write(mariadb: Database) -> None:
    mariadb.write(lambda sql: [sql.exec_driver_sql(one) for one in shortened(is_sqlite=False)])
    (lack,) = mariadb.read(lacks)
    # Refused, where the server would have to keep them out.
    mariadb.write(lambda sql: sql.exec_driver_sql(f"{lack.statement}, ALGORITHM = INPLACE, LOCK = NONE"))
    assert mariadb.read(lacks) == []


def test_a_unique_index_over_fewer_columns_is_left_to_a_person(mariadb: Database) -> None:
    mariadb.write(
        lambda sql: sql.exec_driver_sql(
            "ALTER TABLE timer DROP INDEX timer_app_name, ADD UNIQUE INDEX timer_app_name (app, name)"
        )
    )
    (lack,) = mariadb.read(lacks)
    assert lack.statement is None
