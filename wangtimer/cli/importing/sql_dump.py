"""Reads the rows of tables from a dump of SQL statements, of mysqldump, pg_dump or sqlite3.

A dump shows which server wrote it. In MySQL's texts a backslash escapes the next sign; in others it is a sign itself. A
text with a backslash is `Unread` where the dump does not show its server.
"""

import re
from collections.abc import Collection
from typing import Any, NamedTuple

Row = dict[str, Any]

NO_SERVER = (
    "has a backslash, and the dump does not show which server wrote it: dump it with its head (without --compact), "
    "or give the URL of the database"
)
NO_VALUE = "is {}, which only its server works out: give the URL of the database"


class BadDump(ValueError):
    """A dump cannot be read; the message says where."""


class Unread(NamedTuple):
    """A value that is not known here; `reason` goes on after the column's name."""

    reason: str


class _Dialect:
    """How a server writes: `text` is one of its texts; `other` is what else may hold a semicolon, comma or bracket."""

    def __init__(self, text: str, other: str = r"--[^\n]*", has_escapes: bool | None = False) -> None:
        token = rf"{text}|{other}|`[^`]*+`|\"[^\"]*+\"|/\*.*?\*/|[A-Za-z_][\w$]*+|[#-]|/(?!\*)|\$(?!\w*\$)"
        self.statement = re.compile(rf"(?:[^'\"`$/#A-Za-z_;-]++|{token})*+(?P<end>;|\Z)?", re.DOTALL)
        self.part = re.compile(rf"(?:[^'\"`$/#A-Za-z_;(),-]++|{token})*+(?P<end>[(),])?", re.DOTALL)
        self.value = re.compile(
            r"(?P<null>NULL)|(?P<truth>TRUE|FALSE)|(?:0x|x')(?P<hex>[0-9a-f]*)'?|b'(?P<bits>[01]{1,64})'"
            rf"|(?:_\w+\s+|N)?(?P<text>{text})(?:::[\w ]+)?|(?P<number>[-+]?[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?)",
            re.IGNORECASE | re.DOTALL,
        )
        # None: not known.
        self.has_escapes = has_escapes


_PLAIN, _ESCAPING = r"'(?:[^']++|'')*+'", r"'(?:[^'\\]++|\\.|'')*+'"
_MYSQL = _Dialect(_ESCAPING, r'"(?:[^"\\]++|\\.|"")*+"|--(?!\S)[^\n]*|#[^\n]*', has_escapes=True)
_POSTGRES = _Dialect(_PLAIN, rf"[eE]{_ESCAPING}|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|--[^\n]*")
_SQLITE = _Dialect(_PLAIN)
# After a backslash a quotation mark may be the end, or may not.
_UNKNOWN = _Dialect(r"'(?:[^'\\]++|''|\\++(?!'))*+'", has_escapes=None)
# A dialect by what stands before the first row; the first that is found counts.
_SHOWN_BY = {
    r"^SET standard_conforming_strings = off": _UNKNOWN,
    r"^-- PostgreSQL database dump|^SET standard_conforming_strings|^COPY\s": _POSTGRES,
    r"^PRAGMA foreign_keys": _SQLITE,
    r"^-- (?:MySQL|MariaDB) dump|^/\*M?!|`|\bENGINE\s*=|\bAUTO_INCREMENT\b": _MYSQL,
}
_FIRST_ROW = re.compile(r"^[ \t]*+(?:INSERT|REPLACE|COPY)\s[^'(]*+", re.IGNORECASE | re.MULTILINE)

_SPACE = re.compile(r"(?:\s++|--[^\n]*|#[^\n]*|/\*.*?\*/)*+", re.DOTALL)
_ID = r"(?:[\w$]+|`[^`]*`|\"[^\"]+\"|\[[^\]]+\])"
_NAME = rf"\s+(?P<name>{_ID}(?:\s*\.\s*{_ID})*+)\s*"
_LIST = rf"(?:\(\s*(?P<columns>{_ID}(?:\s*,\s*{_ID})*+)\s*\)\s*)?"
_CREATE = re.compile(rf"CREATE(?:\s+\w+)?\s+TABLE(?:\s+IF\s+NOT\s+EXISTS)?{_NAME}\(", re.IGNORECASE)
_INSERT = re.compile(
    rf"(?:INSERT|REPLACE)(?:\s+(?:OR\s+\w+|IGNORE|DELAYED|LOW_PRIORITY|HIGH_PRIORITY))*+(?:\s+INTO)?{_NAME}{_LIST}"
    r"(?P<rows>(?:OVERRIDING\s+\w+\s+VALUE\s+)?VALUES?\s*(?=\())?",
    re.IGNORECASE,
)
_COPY = re.compile(rf"COPY{_NAME}{_LIST}(?P<rows>FROM\s+stdin\s*;[^\n]*\n)?", re.IGNORECASE)
_CHANGE = re.compile(rf"(?:UPDATE|DELETE\s+FROM|TRUNCATE(?:\s+TABLE)?){_NAME}", re.IGNORECASE)
# What tells whose the names are that have no qualifier; the second one is a command of psql, which is a line.
_USE = re.compile(
    rf"(?:USE\s+|SET\s+(?:SESSION\s+)?search_path\s*(?:=|TO\b)\s*)(?P<name>{_ID}|'[^']*')", re.IGNORECASE
)
_PSQL = re.compile(r"\\(?:(?:c|connect)[ \t]+(?P<database>[^\n]*)|[^\n]*)")
_NEXT_ROW = re.compile(r"\s*,\s*(?=\()")
_AFTER_ROWS = re.compile(r"\s*(?:(?:AS\s+\w+\s+)?ON\s|RETURNING\s|;|\Z)", re.IGNORECASE)
_END_OF_COPY = re.compile(r"^\\\.\r?$", re.MULTILINE)
# The statements of a routine are not the dump's own. It ends at `DELIMITER ;` or at `END;`.
_DELIMITED = re.compile(
    r"DELIMITER[ \t](?:.*?^DELIMITER[ \t]+;|.*)", re.IGNORECASE | re.DOTALL | re.MULTILINE
)
_ROUTINE = re.compile(
    r"CREATE\s(?>[^'\"(]*?\b(?:TRIGGER|PROCEDURE|FUNCTION)\b)[^$]*?\bBEGIN\b", re.IGNORECASE | re.DOTALL
)
_END_OF_ROUTINE = re.compile(r"END\s*;", re.IGNORECASE)

_COLUMN = re.compile(rf"(?P<name>{_ID})(?!\S)")
_NO_COLUMNS = frozenset(
    {"primary", "key", "unique", "index", "constraint", "foreign", "fulltext", "spatial", "check"}
)
_ESCAPED = re.compile(r"\\(.)|''", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "Z": "\x1a", "b": "\b", "%": r"\%", "_": r"\_"}
_COPY_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}


def read_dump(text: str, wanted: Collection[str]) -> tuple[dict[str, list[Row]], list[str]]:
    """Return rows of the wanted tables, all names in lower case, and other tables with rows. Raises `BadDump`.

    A value is text, bytes, None or `Unread`.
    """
    reading = _Reading(text, frozenset(wanted))
    reading.read()
    return reading.rows, sorted(reading.passed_over)


def _dialect_of(text: str) -> _Dialect:
    first = _FIRST_ROW.search(text)
    head = text if first is None else text[: first.end()]
    shown = (of for sign, of in _SHOWN_BY.items() if re.search(sign, head, re.IGNORECASE | re.MULTILINE))
    return next(shown, _UNKNOWN)


class _Reading:
    def __init__(self, text: str, wanted: frozenset[str]) -> None:
        self._text, self._wanted, self._dialect = text, wanted, _dialect_of(text)
        self._columns: dict[str, list[str]] = {}
        self.rows: dict[str, list[Row]] = {}
        self.passed_over: set[str] = set()
        # The database of psql and the default schema, as far as told; and whose the rows are that were read.
        self._database = self._schema = ""
        self._owner: tuple[str, str] | None = None

    def read(self) -> None:
        at, is_in_routine = 0, False
        while (at := _end_of(_SPACE, self._text, at)) < len(self._text):
            if is_in_routine:
                is_in_routine = not _END_OF_ROUTINE.match(self._text, at)
                at = self._end_of_statement(at)
            elif delimited := _DELIMITED.match(self._text, at):
                at = delimited.end()
            elif found := _COPY.match(self._text, at):
                at = self._copy(found)
            elif found := _PSQL.match(self._text, at):
                if found["database"]:
                    self._database, self._schema = found["database"].strip(), ""
                at = found.end()
            else:
                end = self._end_of_statement(at)
                is_in_routine = _ROUTINE.match(self._text, at, end) is not None
                self._statement(at, end)
                at = end
        if is_in_routine:
            raise self._bad(at, "a trigger or routine before it does not end: dump the tables only")

    def _end_of_statement(self, at: int) -> int:
        found = self._dialect.statement.match(self._text, at)
        assert found is not None
        if found["end"] is None:
            raise self._unended(found.end())
        return found.end()

    def _statement(self, at: int, end: int) -> None:
        if found := _CREATE.match(self._text, at, end):
            self._create(found)
        elif found := _INSERT.match(self._text, at, end):
            if self._is_wanted(found):
                self._insert(found)
        elif found := _USE.match(self._text, at, end):
            self._schema = _bare(found["name"].strip("'"))
        elif (found := _CHANGE.match(self._text, at, end)) and self.rows.get(_bare(found["name"])):
            raise self._bad(
                at, f"{self._text[at : at + 40]!r} changes rows, and only those inserted are read"
            )

    def _is_wanted(self, found: re.Match[str]) -> bool:
        table = _bare(found["name"])
        if not table:
            # So MySQL Workbench exports the rows of a query.
            raise self._bad(found.start(), "its INSERT names no table: write the table's name there")
        if table not in self._wanted:
            self.passed_over.add(table)
            return False
        owner = self._database, ".".join(map(_bare, found["name"].split(".")[:-1])) or self._schema
        if self._owner not in (None, owner):
            raise self._bad(
                found.start(),
                f"{table} of a second database or schema, {'.'.join(owner).strip('.')}: dump one only",
            )
        self._owner = owner
        return True

    def _create(self, found: re.Match[str]) -> None:
        table = _bare(found["name"])
        if table not in self._wanted:
            return
        if table in self._columns:
            raise self._bad(found.start(), f"a second table {table}: dump one database only")
        parts, _ = self._parts(found.end())
        names = (_COLUMN.match(part, _end_of(_SPACE, part, 0)) for part in parts)
        self._columns[table] = [
            _bare(column["name"])
            for column in names
            if column is not None and column["name"].lower() not in _NO_COLUMNS
        ]
        self.rows.setdefault(table, [])

    def _insert(self, found: re.Match[str]) -> None:
        if found["rows"] is None:
            raise self._unread_rows(found)
        at = found.end()
        while True:
            begin = at
            parts, at = self._parts(at + 1)
            self._add(found, begin, [self._value(part.strip()) for part in parts])
            following = _NEXT_ROW.match(self._text, at)
            if following is None:
                break
            at = following.end()
        if not _AFTER_ROWS.match(self._text, at):
            raise self._bad(at, f"{self._text[at : at + 30]!r} after a row")

    def _copy(self, found: re.Match[str]) -> int:
        """Read the lines of a COPY, and return where they end."""
        is_wanted = self._is_wanted(found)
        if found["rows"] is None:
            if is_wanted:
                raise self._unread_rows(found)
            return self._end_of_statement(found.start())
        end = _END_OF_COPY.search(self._text, found.end())
        if end is None:
            raise self._bad(found.start(), "the rows of COPY have no end")
        at = found.end()
        for line in self._text[at : end.start()].split("\n")[:-1] if is_wanted else ():
            self._add(found, at, [_copied(value) for value in line.removesuffix("\r").split("\t")])
            at += len(line) + 1
        return end.end()

    def _add(self, found: re.Match[str], at: int, values: list[Any]) -> None:
        table = _bare(found["name"])
        own = found["columns"]
        names = [_bare(column) for column in own.split(",")] if own else self._columns.get(table)
        if names is None:
            raise self._bad(at, f"no CREATE TABLE gives the columns of {table}")
        if len(values) != len(names):
            raise self._bad(at, f"{len(values)} values for {len(names)} columns of {table}")
        self.rows.setdefault(table, []).append(dict(zip(names, values, strict=True)))

    def _parts(self, at: int) -> tuple[list[str], int]:
        """Return the parts of a bracketed list that begins at `at`, and where it ends."""
        parts, begin, depth = [], at, 1
        while depth:
            found = self._dialect.part.match(self._text, at)
            assert found is not None
            at, sign = found.end(), found["end"]
            if sign is None:
                raise self._unended(at)
            depth += {"(": 1, ")": -1, ",": 0}[sign]
            if depth == 0 or (sign == "," and depth == 1):
                parts.append(self._text[begin : at - 1])
                begin = at
        return parts, at

    def _value(self, written: str) -> Any:
        found = self._dialect.value.fullmatch(written)
        if found is None or (found["hex"] is not None and written[0] in "xX" and len(found["hex"]) % 2):
            return Unread(NO_VALUE.format(repr(written[:40])))
        if found["null"]:
            return None
        if found["truth"]:
            return str(int(found["truth"].upper() == "TRUE"))
        if (digits := found["hex"]) is not None:
            return bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}")
        if found["bits"]:
            return str(int(found["bits"], 2))
        return found["number"] or self._unescaped(found["text"][1:-1])

    def _unescaped(self, text: str) -> str | Unread:
        if self._dialect.has_escapes:
            return _ESCAPED.sub(
                lambda escape: "'" if escape[1] is None else _ESCAPES.get(escape[1], escape[1]), text
            )
        if self._dialect.has_escapes is None and "\\" in text:
            return Unread(NO_SERVER)
        return text.replace("''", "'")

    def _unread_rows(self, found: re.Match[str]) -> BadDump:
        return self._bad(
            found.start(), f"{found[0].strip()[:60]!r} has no rows that can be read: dump them as VALUES"
        )

    def _unended(self, at: int) -> BadDump:
        sure = f"{self._text[at : at + 30]!r} does not end"
        unsure = f"{sure}, or {NO_SERVER}"
        return self._bad(at, sure if self._dialect.has_escapes is not None else unsure)

    def _bad(self, at: int, reason: str) -> BadDump:
        return BadDump(f"line {self._text.count(chr(10), 0, at) + 1}: {reason}")


def _copied(value: str) -> str | None:
    if value == r"\N":
        return None
    return re.sub(r"\\(.)", lambda escape: _COPY_ESCAPES.get(escape[1], escape[1]), value)


def _bare(name: str) -> str:
    return name.rpartition(".")[2].strip(' \t\r\n`"[]').lower()


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()
