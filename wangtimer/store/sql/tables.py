"""The tables, as `schema.sql` describes them: in the repository a link to the file that a DBA loads."""

import re
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Enum,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.mysql import ENUM, MEDIUMTEXT
from sqlalchemy.engine import Dialect

from wangtimer.core.features import added

metadata = MetaData()

_MYSQL: dict[str, Any] = {
    f"{server}_{option}": value
    for server in ("mysql", "mariadb")
    for option, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}
_TABLE = re.compile(r"CREATE TABLE (\w+) \(\n(.*?)\n\) ENGINE", re.DOTALL)
_COLUMN = re.compile(r"(\w+) ([A-Z]+)(?:\((.*?)\))?((?: NOT)? NULL)?(?: DEFAULT (\S+))?( AUTO_INCREMENT)?")
_KEY = re.compile(r"(?:PRIMARY KEY|(?:KEY|INDEX) (\w+)|CONSTRAINT (\w+) UNIQUE) \((.*)\)")


class _Words(Enum):
    """Words, read without a check: a word of another version must not keep the rows around it from being read."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Return no processor: the reader of the row gets the word as it is."""


class _MySQLWords(_Words, ENUM):
    """The same, as one byte."""


def _type_of(kind: str, size: str) -> Any:
    match kind:
        case "BIGINT":
            return BigInteger()
        case "SMALLINT":
            return SmallInteger()
        case "VARCHAR":
            return String(int(size))
        case "MEDIUMTEXT":
            return Text().with_variant(MEDIUMTEXT, "mysql", "mariadb")
        case "ENUM":
            words = re.findall(r"'(\w+)'", size)
            return _Words(*words).with_variant(_MySQLWords(*words), "mysql", "mariadb")
    raise ValueError(f"a column of the type {kind}")


def _column(line: str) -> Column[Any]:
    found = _COLUMN.fullmatch(line)
    if found is None:
        raise ValueError(f"no column can be read in {line!r}")
    name, kind, size, null, default, is_counted = found.groups()
    # SQLite increments by itself only in a column whose type is exactly INTEGER.
    column_type = BigInteger().with_variant(Integer, "sqlite") if is_counted else _type_of(kind, size)
    # A number below 0 is quoted as a text is: without quotes it would be an expression to MySQL 8.
    value = text(default) if (default or "").isdecimal() else default and default.strip("'")
    is_nullable = null != " NOT NULL"
    return Column(
        name, column_type, nullable=is_nullable, autoincrement=bool(is_counted), server_default=value
    )


def _make(name: str, body: str) -> None:
    lines = [line.strip().rstrip(",") for line in body.splitlines()]
    lines = [line for line in lines if not line.startswith("--")]
    keys = {line: found for line in lines if (found := _KEY.fullmatch(line))}
    columns = [_column(line) for line in lines if line not in keys]
    counts = any(column.autoincrement is True for column in columns)
    options = _MYSQL | ({"sqlite_autoincrement": True} if counts else {})
    table = Table(name, metadata, *columns, **options)
    for index, unique, named in (found.groups() for found in keys.values()):
        parts = [table.c[part] for part in named.split(", ")]
        if index:
            Index(index, *parts)
        else:
            table.append_constraint(
                UniqueConstraint(*parts, name=unique) if unique else PrimaryKeyConstraint(*parts)
            )


def _make_all(schema: str) -> None:
    for name, body in _TABLE.findall(schema):
        if name not in metadata.tables:
            _make(name, body)


def _add_to_timer(line: str) -> None:
    column = _column(line)
    if column.name not in metadata.tables["timer"].c:
        metadata.tables["timer"].append_column(column)


_HERE = Path(__file__).parent
_make_all((_HERE / "schema.sql").read_text())
if "timer" not in metadata.tables:
    raise RuntimeError(
        f"schema.sql in {_HERE} has no tables: it is to be that of the repository, or a link to it"
    )
# A DBA's schema.sql has the tables and columns of features too.
for _schema in added("tables", "SCHEMA"):
    _make_all(_schema)
for _columns in added("tables", "OF_TIMER"):
    for _line in _columns:
        _add_to_timer(_line)

apps = metadata.tables["app"]
app_totals = metadata.tables["app_total"]
pauses = metadata.tables["pause"]
disabled_hosts = metadata.tables["disabled_host"]
reply_controls = metadata.tables["reply_control"]
schedule_rules = metadata.tables["schedule_rules"]
begun_firings = metadata.tables["begun_firing"]
firings_to_cancel = metadata.tables["firing_to_cancel"]
host_limits = metadata.tables["host_limit"]
api_keys = metadata.tables["api_key"]
audit = metadata.tables["audit"]
timers = metadata.tables["timer"]
calendars = metadata.tables["calendar"]
targets = metadata.tables["target"]
signing = metadata.tables["signing"]
client_certificates = metadata.tables["client_certificate"]
idempotency = metadata.tables["idempotency"]
timer_tags = metadata.tables["timer_tag"]
firings = metadata.tables["firing"]
attempts = metadata.tables["attempt"]
dead_letters = metadata.tables["dead_letter"]
alert_rules = metadata.tables["alert_rule"]
alert_notes = metadata.tables["alert_note"]
alerts = metadata.tables["alert"]
alert_messages = metadata.tables["alert_message"]


def _length(column: Column[Any]) -> int:
    assert isinstance(column.type, String)
    assert column.type.length is not None
    return column.type.length


OUTPUT_CHARACTERS, ERROR_CHARACTERS = _length(firings.c.output), _length(firings.c.error)
KEY_CHARACTERS = _length(idempotency.c.idempotency_key)
ADDRESS_CHARACTERS, SUBJECT_CHARACTERS = _length(audit.c.address), _length(audit.c.subject)
