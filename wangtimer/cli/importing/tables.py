"""Tables of another scheduler: over SQLAlchemy, from a dump of SQL, or from CSV files."""

import csv
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wangtimer.cli.importing.sql_dump import BadDump, Row, read_dump

# The longest text column of a scheduler; csv's own limit is too short for a long parameter.
MOST_OF_A_FIELD = 16 * 1_048_576


class BadSource(Exception):
    """A source cannot be read; the message says which and why."""


def read_tables(source: str, wanted: Iterable[str]) -> dict[str, list[Row]]:
    """Return the rows of the wanted tables that a source has, by table name; all names in lower case.

    `source` is an SQLAlchemy URL, a dump of SQL statements, a folder with `TABLE.csv` files, or one CSV file with the
    first wanted table. Raises `BadSource`.
    """
    names = [name.lower() for name in wanted]
    if "://" in source:
        return _over_sql(source, names)
    path = Path(source)
    try:
        if path.is_dir():
            files = {one.stem.lower(): one for one in sorted(path.glob("*.csv"))}
            return {name: _csv(files[name]) for name in names if name in files}
        if path.suffix.lower() == ".csv":
            return {names[0]: _csv(path)}
        found = read_dump(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadSource(f"{source}: {error}") from None
    except BadDump as error:
        raise BadSource(f"{source}, {error}") from None
    return {name: found[name] for name in names if name in found}


def table_of(tables: Mapping[str, list[Row]], name: str, source: str) -> list[Row]:
    """Return the rows of a table that must be there; raises `BadSource`."""
    if name.lower() not in tables:
        raise BadSource(f"{shown_source(source)} has no table {name}")
    return tables[name.lower()]


def shown_source(source: str) -> str:
    """Return a source in a form that may be shown: a URL without its password."""
    scheme, there, rest = source.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if there else source


def text_of(row: Row, name: str) -> str:
    """Return a column as stripped text; "" where it is missing or NULL."""
    value = row.get(name)
    if isinstance(value, bytes):
        return value.decode(errors="replace").strip()
    return "" if value is None else str(value).strip()


def number_of(row: Row, name: str) -> int | None:
    """Return a column as a whole number; None where it is missing, empty or NULL."""
    text = text_of(row, name)
    return int(float(text)) if text and text.lower() != "null" else None


def flag_of(row: Row, name: str) -> bool:
    """Return whether a column is true, in any database's spelling."""
    return text_of(row, name).lower() in ("1", "true", "t", "y", "yes")


def moment_of(row: Row, name: str) -> datetime | None:
    """Return a column with a moment, in UTC where it has no offset; None where it is empty."""
    value = row.get(name)
    if not isinstance(value, datetime):
        text = text_of(row, name)
        if not text or text.lower() == "null":
            return None
        value = datetime.fromisoformat(text)
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def _csv(path: Path) -> list[Row]:
    csv.field_size_limit(MOST_OF_A_FIELD)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [_lowered(row) for row in csv.DictReader(file)]


def _over_sql(url: str, names: list[str]) -> dict[str, list[Row]]:
    from sqlalchemy import create_engine, inspect, literal_column, select, table
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    try:
        engine = create_engine(url)
        with engine.connect() as connection:
            there = {name.lower(): name for name in inspect(connection).get_table_names()}
            return {
                name: [
                    _lowered(row)
                    for row in connection.execute(
                        select(literal_column("*")).select_from(table(there[name]))
                    ).mappings()
                ]
                for name in names
                if name in there
            }
    except (SQLAlchemyError, ArgumentError, ImportError) as error:
        raise BadSource(f"{shown_source(url)}: {str(error).splitlines()[0]}") from None


def _lowered(row: Mapping[Any, Any]) -> Row:
    return {str(name).lower(): value for name, value in row.items()}
