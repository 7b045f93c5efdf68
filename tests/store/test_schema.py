"""`schema.sql`, which a DBA loads, makes the tables the program expects, and nothing MySQL 8 would refuse."""

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Column, Connection, Enum, text
from sqlalchemy.dialects.mysql.reserved_words import RESERVED_WORDS_MYSQL
from sqlalchemy.engine import make_url
from sqlalchemy.schema import CreateTable

from tests.servers.mariadb import MariaDBServer
from tests.store.members import outcome_of, row_at
from tests.store.test_timers import NOW, new
from tests.store.worlds import real_sql
from wangtimer.core.alerts import alert_rule
from wangtimer.core.apps import key_text, stored_key
from wangtimer.core.cron import cron_fields
from wangtimer.core.flow import disabled_hosts, pauses, queues, reply_control, slicing
from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.core.schedules import calendars
from wangtimer.core.timers import fields, named_target, timer
from wangtimer.core.timers.call_options import KeepOutput
from wangtimer.core.timers.misfire import MisfirePolicy
from wangtimer.core.timers.overlap import Overlap
from wangtimer.store.sql import tables
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import metadata

Named = TypeVar("Named")
SCHEMA = Path(__file__).parents[2] / "schema.sql"
# What MySQL 8 reads; anything else is a word to look up there first.
TYPES = {"BIGINT", "SMALLINT", "VARCHAR", "MEDIUMTEXT", "ENUM"}
COLUMN_WORDS = {"NOT", "NULL", "DEFAULT", "AUTO_INCREMENT"}
TABLE_OPTIONS = "ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin"
# What the program lets into columns of these names: so many characters, or these words. First, a column of a table.
CHARACTERS = {
    "app": timer.APP_CHARACTERS,
    "app.name": timer.APP_CHARACTERS,
    "pause.name": slicing.LANE_CHARACTERS,
    "api_key.name": stored_key.KEY_NAME_CHARACTERS,
    "calendar.name": calendars.NAME_CHARACTERS,
    "target.name": named_target.TARGET_CHARACTERS,
    "alert_rule.name": alert_rule.RULE_NAME_CHARACTERS,
    "name": timer.NAME_CHARACTERS,
    "timer_name": timer.NAME_CHARACTERS,
    "queue": queues.QUEUE_CHARACTERS,
    "pause.reason": pauses.REASON_CHARACTERS,
    "origin": disabled_hosts.ORIGIN_CHARACTERS,
    "control": reply_control.CONTROL_CHARACTERS,
    "host": slicing.LANE_CHARACTERS,
    "lane": slicing.LANE_CHARACTERS,
    "place": slicing.LANE_CHARACTERS,
    "api_key.id": key_text.ID_CHARACTERS,
    "key_id": key_text.ID_CHARACTERS,
    "key_name": stored_key.KEY_NAME_CHARACTERS,
    "key_app": timer.APP_CHARACTERS,
    "cron": cron_fields.MAX_LENGTH,
    "calendar": calendars.NAME_CHARACTERS,
    "target": named_target.TARGET_CHARACTERS,
    "tag": fields.TAG_CHARACTERS,
    "rule": alert_rule.RULE_NAME_CHARACTERS,
}
WORDS = {
    "timer.status": timer.TimerStatus,
    "misfire": MisfirePolicy,
    "keep_output": KeepOutput,
    "overlap": Overlap,
    "kind": FiringKind,
    "status": FiringStatus,
}
# InnoDB's longest key, with 4 bytes a character.
KEY_BYTES = 3_072


def statements() -> list[str]:
    """Return the file's statements without comments."""
    code = re.sub(r"--.*", "", SCHEMA.read_text())
    return [statement.strip() for statement in code.split(";") if statement.strip()]


def load(database: Database) -> None:
    def work(sql: Connection) -> None:
        for statement in statements():
            sql.execute(text(statement))

    database.write(work)


@pytest.fixture
def loaded(empty_mariadb_url: str) -> Database:
    """A MariaDB into which schema.sql was loaded."""
    with closing(Database(empty_mariadb_url, pool_size=2)) as database:
        load(database)
        yield database


def table_in(database: Database, name: str) -> list[str]:
    """Return how the server itself describes the table; the order of its indexes does not count."""
    described = database.read(lambda sql: sql.execute(text(f"SHOW CREATE TABLE {name}")).one())[1]
    lines = [line.strip().rstrip(",") for line in described.splitlines()]
    columns = [line for line in lines if line.startswith("`")]
    return [*columns, *sorted(line for line in lines if not line.startswith("`"))]


@pytest.mark.parametrize("name", metadata.tables)
def test_schema_sql_makes_the_very_tables_the_program_makes(
    loaded: Database, mariadb_server: MariaDBServer, name: str
) -> None:
    url = mariadb_server.create_database("made_by_the_program")
    try:
        with closing(Database(url, pool_size=2)) as made:
            made.create_tables()
            assert table_in(loaded, name) == table_in(made, name)
    finally:
        mariadb_server.drop_database("made_by_the_program")


def test_schema_sql_makes_no_other_table(loaded: Database) -> None:
    names = loaded.read(lambda sql: set(sql.scalars(text("SHOW TABLES"))))
    assert names == set(metadata.tables)


def test_the_program_runs_on_what_schema_sql_made(loaded: Database) -> None:
    loaded.create_tables()
    loaded.ping()
    world = real_sql(loaded)
    timer = world.timers.create(new(), NOW)
    row = row_at(NOW, timer.id)
    world.insert([row])
    world.firings.settle([outcome_of(row.member)])
    assert len(world.firings.records(timer.id, 9)) == 1


def of_column(column: Column[object], named: Mapping[str, Named]) -> Named | None:
    """Return what is named for a column; None: nothing is."""
    return named.get(str(column), named.get(column.name))


def test_what_the_program_lets_in_is_as_wide_as_its_column_and_one_of_its_words() -> None:
    columns = [column for table in metadata.tables.values() for column in table.columns]
    words = {str(one): one.type.enums for one in columns if isinstance(one.type, Enum)}
    assert words == {
        str(one): [word.value for word in of_column(one, WORDS) or ()] for one in columns if str(one) in words
    }
    widths = {str(one): one.type.length for one in columns if str(one) not in words and is_text(one)}
    wanted = {str(one): of_column(one, CHARACTERS) for one in columns if str(one) in widths}
    assert {name: widths[name] for name, most in wanted.items() if most is not None} == {
        name: most for name, most in wanted.items() if most is not None
    }
    assert max(map(len, alert_rule.AlertEvent)) <= widths["alert.event"]


def is_text(column: Column[object]) -> bool:
    return getattr(column.type, "length", None) is not None


def body_of(statement: str) -> list[str]:
    """Return the definitions between the outer brackets of a CREATE TABLE, one a line."""
    inner = statement[statement.index("(") + 1 : statement.rindex(")")]
    return [line.strip().rstrip(",") for line in inner.splitlines() if line.strip()]


def is_column(line: str) -> bool:
    return line.split()[0] not in {"PRIMARY", "CONSTRAINT", "INDEX", "UNIQUE", "KEY"}


def test_every_statement_makes_a_table_with_options_of_mysql_8() -> None:
    for statement in statements():
        assert re.match(r"CREATE TABLE [a-z_]+ \(", statement)
        assert statement[statement.rindex(")") + 1 :].strip() == TABLE_OPTIONS


def test_every_column_has_a_type_and_words_of_mysql_8() -> None:
    for statement in statements():
        for line in filter(is_column, body_of(statement)):
            _, kind, *rest = re.sub(r"\([^)]*\)|'[^']*'", "", line).split()
            assert kind in TYPES, line
            assert {word for word in rest if not word.lstrip("-").isdecimal()} <= COLUMN_WORDS, line


def test_no_default_of_the_program_is_an_expression_to_mysql_8() -> None:
    """There `DEFAULT (-(1))` is another column than `schema.sql`'s `DEFAULT -1`."""
    mysql = make_url("mysql://").get_dialect()()
    mysql.server_version_info = (8, 4, 0)
    for table in metadata.sorted_tables:
        assert "DEFAULT (" not in str(CreateTable(table).compile(dialect=mysql))


def test_no_name_is_a_reserved_word_of_mysql_8() -> None:
    code = " ".join(statements())
    names = set(re.findall(r"\b[a-z_]+\b", re.sub(r"'[^']*'", "", code)))
    assert {"timer", "firing", "due_at", "firing_due"} <= names
    assert not names & RESERVED_WORDS_MYSQL


def test_no_key_is_too_long_for_mysql_8_and_no_text_has_a_default() -> None:
    for table in metadata.tables.values():
        keys = [list(table.primary_key.columns), *(list(index.columns) for index in table.indexes)]
        keys += [list(one.columns) for one in table.constraints if hasattr(one, "columns")]
        for columns in keys:
            assert sum(map(bytes_of, columns)) <= KEY_BYTES
    assert not re.search(r"TEXT[^,]*DEFAULT", SCHEMA.read_text())


def bytes_of(column: Column[object]) -> int:
    """A number takes 8 bytes at most, an enumeration 2, a character 4."""
    if isinstance(column.type, Enum):
        return 2
    return 4 * (getattr(column.type, "length", None) or 2)


def test_a_table_or_column_of_a_feature_may_stand_in_schema_sql_too() -> None:
    before = {name: list(table.c.keys()) for name, table in metadata.tables.items()}
    tables._make_all((tables._HERE / "schema.sql").read_text())
    tables._add_to_timer("overlap ENUM('allow', 'skip')")
    assert {name: list(table.c.keys()) for name, table in metadata.tables.items()} == before
