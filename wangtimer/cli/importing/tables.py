"""Tables of another scheduler: over SQLAlchemy, from a dump of SQL, or from CSV files."""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.entries import NotTaken
from wangtimer.cli.importing.sql_dump import BadDump, Row, Unread, read_dump
from wangtimer.cli.terminal.asking import show_trouble
from wangtimer.cli.terminal.parameter_types import BadText, decoded

# The longest text column of a scheduler; csv's own limit is too short for a long parameter.
MOST_OF_A_FIELD = 16 * 1_048_576
# As tools write NULL into a CSV file.
NULLS = ("NULL", r"\N")
# As mysqldump tells its encoding. What it lacks was lost as the dump was written.
_LOSSY = re.compile(r"^/\*!\d+ SET NAMES (?!utf8|binary)(\w+)", re.MULTILINE)
NO_ZONE = "write --timezone UTC if Django has USE_TZ = True, else the zone of its TIME_ZONE"
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}(?:\.0{0,9})?")


class BadSource(Exception):
    """A source cannot be read; the message says which and why."""


def read_tables(source: str, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, list[Row]]:
    """Return the rows of the wanted tables that a source has, by table name; all names in lower case.

    `wanted` are the tables, each with its primary key. `source` is an SQLAlchemy URL, a dump of SQL statements, a
    folder with `TABLE.csv` files, or one CSV file with the first wanted table. Tables of a dump that are not wanted are
    told. Raises `BadSource`.
    """
    keys = {name.lower(): key for name, key in wanted.items()}
    found = _read(source, list(keys))
    for name, rows in found.items():
        _refuse_twins(source, name, rows, keys[name])
    return found


def _read(source: str, names: list[str]) -> dict[str, list[Row]]:
    if "://" in source:
        return _over_sql(source, names)
    path = Path(source)
    try:
        if path.is_dir():
            files = {file.stem.lower(): file for file in sorted(path.glob("*.csv"))}
            return {name: _csv(files[name]) for name in names if name in files}
        if path.suffix.lower() == ".csv":
            return {names[0]: _csv(path)}
        # Blobs of MySQL are bytes among the text.
        text = decoded(path.read_bytes(), "surrogateescape")
        if text.lstrip().startswith("<"):
            raise BadText("it is XML: dump it as SQL, without --xml")  # noqa: TRY301
        found, passed_over = read_dump(text, names)
    except (OSError, BadText, csv.Error) as error:
        raise BadSource(f"{source}: {error}") from None
    except BadDump as error:
        raise BadSource(f"{source}, {error}") from None
    if lossy := _LOSSY.search(text):
        show_trouble(
            f"{source}: its text is in {lossy[1]}, with a ? for each sign that {lossy[1]} lacks: "
            "dump it with --default-character-set=utf8mb4"
        )
    if passed_over:
        show_trouble(f"{source}: rows of other tables are not read: {', '.join(passed_over)}")
    return found


def _refuse_twins(source: str, table: str, rows: Iterable[Row], key: tuple[str, ...]) -> None:
    """Refuse a second row with the same primary key: which one counts, only the database knows."""
    seen = set()
    for row in rows:
        values = tuple("" if row.get(name) is None else str(row[name]).strip() for name in key)
        if any(values) and values in seen:
            raise BadSource(
                f"{shown_source(source)}: two rows of {table} have the same {', '.join(key)} ({', '.join(values)}): "
                "give a source that has each row once, as the database does"
            )
        seen.add(values)


def table_of(tables: Mapping[str, list[Row]], name: str, source: str, *columns: str) -> list[Row]:
    """Return the rows of a table that must be there, with these columns; raises `BadSource`."""
    rows = tables.get(name.lower())
    if rows is None:
        raise BadSource(f"{shown_source(source)} has no table {name}")
    if rows and (missing := [column for column in columns if column not in rows[0]]):
        raise BadSource(f"{shown_source(source)}: the table {name} has no column {', '.join(missing)}")
    return rows


def shown_source(source: str) -> str:
    """Return a source in a form that may be shown: a URL without its password."""
    scheme, there, rest = source.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if there else source


def value_of(row: Row, name: str) -> Any:
    """Return a column as it is, None where it is missing; raises `NotTaken` where it could not be read."""
    value = row.get(name)
    if isinstance(value, Unread):
        raise NotTaken(f"its {name} {value.reason}")
    return value


def whole_text_of(row: Row, name: str) -> str:
    """Return a column as text; "" where it is missing or NULL. Raises `NotTaken` for what is not UTF-8."""
    value = value_of(row, name)
    try:
        text = value.decode() if isinstance(value, bytes) else "" if value is None else str(value)
        text.encode()
    except UnicodeError:
        raise NotTaken(f"its {name} is not text in UTF-8: dump it as utf8mb4 or UTF8") from None
    return text


def text_of(row: Row, name: str) -> str:
    """Return a column as text, without the space around it."""
    return whole_text_of(row, name).strip()


def number_of(row: Row, name: str) -> int | None:
    """Return a column as a whole number; None where it is missing, empty or NULL. Raises `NotTaken` for another."""
    text = text_of(row, name)
    if text and not _WHOLE.fullmatch(text):
        raise NotTaken(f"its {name} {text[:40]!r} is not a whole number")
    return int(text.partition(".")[0]) if text else None


def flag_of(row: Row, name: str) -> bool:
    """Return whether a column is true, in any database's spelling."""
    return text_of(row, name).lower() in ("1", "true", "t", "y", "yes")


def moment_of(row: Row, name: str, zone: ZoneInfo | None) -> datetime | None:
    """Return a column with a moment, in `zone` where it has no offset; None where it is empty. Raises `NotTaken`."""
    value = value_of(row, name)
    try:
        if not isinstance(value, datetime):
            text = text_of(row, name)
            if not text:
                return None
            value = datetime.fromisoformat(text)
        if value.tzinfo is None and zone is None:
            raise NotTaken(f"its {name} {str(value)!r} has no offset: {NO_ZONE}")
        return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise NotTaken(f"its {name} {text_of(row, name)[:40]!r} is not a moment") from None


def moment_at(ms: int) -> datetime:
    """Return a moment given in ms UTC; raises `NotTaken` for one that no calendar has."""
    try:
        return datetime.fromtimestamp(ms / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        raise NotTaken(f"{ms} is not a moment in ms since 1970") from None


def shown_moment(moment: datetime) -> str:
    """Return a moment as v1 writes it."""
    return moment.isoformat(timespec="milliseconds")


def _csv(path: Path) -> list[Row]:
    csv.field_size_limit(MOST_OF_A_FIELD)
    lines = csv.reader(io.StringIO(decoded(path.read_bytes()), newline=""), strict=True)
    names = [name.strip().lower() for name in next(lines, ())]
    if len(names) == 1 and re.search(r"[;\t|]", names[0]):
        raise csv.Error("line 1 has no comma: separate values by commas")
    rows = []
    for line in lines:
        if line and len(line) != len(names):
            raise csv.Error(f"line {lines.line_num}: {len(line)} values for {len(names)} columns")
        if line:
            rows.append(dict(zip(names, (None if value in NULLS else value for value in line), strict=True)))
    return rows


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
    except (SQLAlchemyError, ArgumentError, ImportError, ValueError) as error:
        raise BadSource(f"{shown_source(url)}: {str(error).splitlines()[0]}") from None


def _lowered(row: Mapping[Any, Any]) -> Row:
    """Return a row as a driver gives it, with names in lower case, and with blobs as bytes."""
    blobs = (bytearray, memoryview)
    return {
        str(name).lower(): bytes(value) if isinstance(value, blobs) else value for name, value in row.items()
    }
