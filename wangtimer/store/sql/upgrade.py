"""What a database lacks of the tables the program expects, and the statements that add it.

Nothing is dropped, except an index that gets more columns at its end.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Connection,
    Enum,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    inspect,
    text,
)
from sqlalchemy.engine.interfaces import ReflectedColumn
from sqlalchemy.engine.reflection import Inspector
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.compiler import DDLCompiler

from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.database import with_driver
from wangtimer.store.sql.tables import metadata


@dataclass(frozen=True, slots=True)
class Lack:
    """What a database lacks, in words, and the statement that adds it; None: a person must look."""

    what: str
    statement: str | None


def lacks(sql: Connection) -> list[Lack]:
    """Return what the database lacks: tables, columns, indexes, words of an enumeration, room."""
    inspector = inspect(sql)
    there = set(inspector.get_table_names())
    found: list[Lack] = []
    for table in metadata.sorted_tables:
        if table.name not in there:
            found += _of_table(sql, table)
    for table in metadata.sorted_tables:
        if table.name in there:
            found += _of_columns(sql, inspector, table)
            found += _of_indexes(sql, inspector, table)
    return found


def _of_table(sql: Connection, table: Table) -> Iterator[Lack]:
    yield Lack(f"table {table.name}", _text(CreateTable(table).compile(dialect=sql.dialect)))
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        yield Lack(f"index {table.name}.{index.name}", _index_text(sql, index))


def _of_columns(sql: Connection, inspector: Inspector, table: Table) -> Iterator[Lack]:
    there = {column["name"]: column for column in inspector.get_columns(table.name)}
    for column in table.columns:
        if column.name not in there:
            yield Lack(f"column {table.name}.{column.name}", _column_text(sql, column))
        elif missing := _missing_words(column, there[column.name]["type"]):
            what = f"words of column {table.name}.{column.name}: {', '.join(missing)}"
            yield Lack(what, _more_words_text(sql, column, there[column.name]))
        elif sql.dialect.name != "sqlite" and _is_shorter(there[column.name]["type"], column.type):
            yield Lack(f"room in column {table.name}.{column.name}: it is to be {column.type}", None)
    for name, column_there in there.items():
        is_needed = not column_there["nullable"] and column_there.get("default") is None
        if name not in table.columns and is_needed:
            yield Lack(f"a default of {table.name}.{name}, which this version does not know", None)


def _of_indexes(sql: Connection, inspector: Inspector, table: Table) -> Iterator[Lack]:
    there = {str(index["name"]): list(index["column_names"]) for index in inspector.get_indexes(table.name)}
    there |= {
        str(constraint["name"]): list(constraint["column_names"])
        for constraint in inspector.get_unique_constraints(table.name)
    }
    for index in _indexes_of(table):
        columns = [column.name for column in index.columns]
        columns_there = there.get(str(index.name))
        if columns_there is None:
            yield Lack(f"index {table.name}.{index.name}", _index_text(sql, index))
        elif columns_there != columns:
            what = f"index {table.name}.{index.name} over {', '.join(columns)}"
            is_shorter = columns_there == columns[: len(columns_there)] and not index.unique
            yield from _lengthened(sql, what, table, index) if is_shorter else [Lack(what, None)]


def _lengthened(sql: Connection, what: str, table: Table, index: Index) -> Iterator[Lack]:
    """Make an index again with the missing columns after its own: queries that use it still can.

    MariaDB and MySQL do it in one statement, at whose end the new index replaces the old: processes that name the index
    always find it. In SQLite the index is missing for a moment, but nobody names it there.
    """
    if sql.dialect.name == "sqlite":
        yield Lack(what, f"DROP INDEX {index.name}")
        yield Lack(f"index {table.name}.{index.name}", _index_text(sql, index))
        return
    columns = ", ".join(column.name for column in index.columns)
    new = f"ADD INDEX {index.name} ({columns})"
    yield Lack(what, f"ALTER TABLE {table.name} DROP INDEX {index.name}, {new}")


def _indexes_of(table: Table) -> list[Index]:
    """Return the table's indexes and its unique constraints, which are added the same way."""
    found = sorted(table.indexes, key=lambda index: str(index.name))
    copy = table.to_metadata(MetaData())
    for constraint in list(copy.constraints):
        if isinstance(constraint, UniqueConstraint):
            found.append(Index(str(constraint.name), *constraint.columns, unique=True))
    return found


def _missing_words(column: Column[object], there: object) -> list[str]:
    if not isinstance(column.type, Enum) or not isinstance(there, Enum):
        return []
    return [word for word in column.type.enums if word not in there.enums]


def _more_words_text(sql: Connection, column: Column[object], there: ReflectedColumn) -> str | None:
    """Return the statement that adds words behind those there are, without writing rows; None if others are there."""
    assert isinstance(column.type, Enum)
    assert isinstance(there["type"], Enum)
    words = there["type"].enums
    if column.type.enums[: len(words)] != words:
        return None
    text = _specification(sql, column)
    if column.server_default is None and there.get("default") is not None:
        text += f" DEFAULT {there['default']}"
    return f"ALTER TABLE {column.table.name} MODIFY COLUMN {text}"


def _is_shorter(there: object, wanted: object) -> bool:
    if isinstance(wanted, Enum) or not isinstance(wanted, String) or not isinstance(there, String):
        return False
    return there.length is not None and wanted.length is not None and there.length < wanted.length


def _column_text(sql: Connection, column: Column[object]) -> str:
    # In a column that may be NULL, older rows get NULL, whatever default a new database has.
    words = _specification(
        sql, Column(column.name, column.type, nullable=True) if column.nullable else column
    )
    if not column.nullable and column.server_default is None:
        words += _default(sql, column)
    return f"ALTER TABLE {column.table.name} ADD COLUMN {words}"


def _specification(sql: Connection, column: Column[object]) -> str:
    compiler = sql.dialect.ddl_compiler(sql.dialect, None)  # type: ignore[arg-type]
    assert isinstance(compiler, DDLCompiler)
    return str(compiler.get_column_specification(column))


def _default(sql: Connection, column: Column[object]) -> str:
    """Return a default for existing rows, and for processes of the version before that still insert.

    MySQL allows no default for a long text, and gives existing rows an empty one.
    """
    if isinstance(column.type, Text) and sql.dialect.name != "sqlite":
        return ""
    if isinstance(column.type, Enum):
        return f" DEFAULT '{column.type.enums[0]}'"
    return " DEFAULT 0" if isinstance(column.type, Integer) else " DEFAULT ''"


def _index_text(sql: Connection, index: Index) -> str:
    return _text(CreateIndex(index).compile(dialect=sql.dialect))


def _text(compiled: object) -> str:
    return "\n".join(line.rstrip() for line in str(compiled).strip().splitlines())


# While ALTER TABLE waits for transactions on its table, every new one waits behind it: so it gives up after this.
LOCK_WAIT_S = 5
CONNECT_S = 3


@contextmanager
def patient_connection(url: str) -> Iterator[Connection]:
    """Yield a connection whose statements may take as long as they need, each committed by itself.

    The service's own connections give up after 5 s; an index on a large table takes minutes. Raises `StoreAway`.
    """
    parsed = with_driver(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    arguments = {} if is_sqlite else {"connect_timeout": CONNECT_S, "charset": "utf8mb4"}
    engine = create_engine(parsed, isolation_level="AUTOCOMMIT", connect_args=arguments, hide_parameters=True)
    try:
        with engine.connect() as sql:
            if not is_sqlite:
                sql.execute(
                    text(f"SET SESSION lock_wait_timeout = {LOCK_WAIT_S} /*M! , max_statement_time = 0 */")
                )
            yield sql
    except DBAPIError as error:
        raise StoreAway("SQL", str(error.orig)) from error
    finally:
        engine.dispose()


def add_missing(sql: Connection) -> Iterator[Lack]:
    """Add what the database lacks, each by itself, so that an upgrade can be started again; yield each."""
    for lack in lacks(sql):
        if lack.statement is not None:
            sql.exec_driver_sql(lack.statement)
            yield lack
