"""Reads the rows of tables from a dump of SQL statements, of mysqldump, pg_dump --inserts or sqlite3."""

import re
from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]

_STATEMENT = re.compile(
    r"^\s*(?:(?P<create>CREATE\s+TABLE(?:\s+IF\s+NOT\s+EXISTS)?)|INSERT\s+(?:IGNORE\s+)?INTO|REPLACE\s+INTO)\s+"
    r"(?P<name>[\w.`\"]+)",
    re.IGNORECASE | re.MULTILINE,
)
_COLUMN = re.compile(r"\s*(?:[`\"](?P<quoted>\w+)[`\"]|(?P<plain>\w+))(?:\s|\Z)")
_COMMENT = re.compile(r"--[^\n]*")
# A text that does not end reaches to the end, so that no character of it is looked at twice.
_TEXT = r"'(?P<text>(?:[^'\\]++|\\.?|'')*+)(?:'|\Z)"
# The tokens of a list of columns; a text or comment is one token.
_SIGN = re.compile(rf"{_TEXT}|--[^\n]*|[(),]", re.DOTALL)
_NO_COLUMNS = frozenset({"PRIMARY", "KEY", "UNIQUE", "INDEX", "CONSTRAINT", "FOREIGN", "FULLTEXT", "CHECK"})
_COLUMNS = re.compile(r"\s*\(([\w\s,`\"]+)\)\s*(?=VALUES)", re.IGNORECASE)
_VALUES = re.compile(r"\s*VALUES\s*", re.IGNORECASE)
_VALUE = re.compile(
    r"\s*(?:(?P<null>NULL)|(?P<truth>TRUE|FALSE)"
    r"|(?:0x|[xX]'|'\\\\?x)(?P<hex>[0-9A-Fa-f]*)'?(?=\s*[,)])"
    rf"|(?:_\w+\s+)?[EN]?{_TEXT}(?:::\w+)?"
    r"|(?P<number>[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?))\s*",
    re.IGNORECASE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "Z": "\x1a", "b": "\b"}
_ESCAPED = re.compile(r"\\(.)|''", re.DOTALL)


class BadDump(ValueError):
    """A dump cannot be read; the message says where."""


def read_dump(text: str) -> dict[str, list[Row]]:
    """Return the rows of each table by its name; names of tables and columns in lower case.

    Values are text, numbers, bytes and None. Raises `BadDump`.
    """
    has_escapes = "INSERT INTO `" in text
    columns: dict[str, list[str]] = {}
    rows: dict[str, list[Row]] = {}
    at = 0
    while found := _STATEMENT.search(text, at):
        table, at = _bare(found["name"]), found.end()
        if found["create"]:
            columns[table] = _columns_of(text, at)
            rows.setdefault(table, [])
            continue
        names = columns.get(table)
        if own := _COLUMNS.match(text, at):
            names, at = [_bare(one) for one in own[1].split(",")], own.end()
        if names is None:
            raise BadDump(f"line {_line(text, at)}: no CREATE TABLE gives the columns of {table}")
        for values, at in _rows(text, at, has_escapes):  # noqa: B020 - each row ends where the next begins
            if len(values) != len(names):
                raise BadDump(
                    f"line {_line(text, at)}: {len(values)} values for {len(names)} columns of {table}"
                )
            rows.setdefault(table, []).append(dict(zip(names, values, strict=True)))
    return rows


def _rows(text: str, at: int, has_escapes: bool) -> Iterator[tuple[list[Any], int]]:
    head = _VALUES.match(text, at)
    if head is None:
        return
    at = head.end()
    while text[at : at + 1] == "(":
        values, at = _row(text, at + 1, has_escapes)
        yield values, at
        following = re.compile(r"\s*,\s*(?=\()").match(text, at)
        if following is None:
            return
        at = following.end()


def _row(text: str, at: int, has_escapes: bool) -> tuple[list[Any], int]:
    values: list[Any] = []
    while found := _VALUE.match(text, at):
        values.append(_value(found, has_escapes))
        at = found.end()
        sign = text[at : at + 1]
        at += 1
        if sign == ")":
            return values, at
        if sign != ",":
            break
    raise BadDump(f"line {_line(text, at)}: {text[at : at + 30]!r} is not a value")


def _value(found: re.Match[str], has_escapes: bool) -> Any:
    if found["null"]:
        return None
    if found["truth"]:
        return int(found["truth"].upper() == "TRUE")
    if found["hex"] is not None:
        return bytes.fromhex(found["hex"])
    if found["number"]:
        number = found["number"]
        return int(number) if number.lstrip("+-").isdecimal() else float(number)
    return _unescaped(found["text"], has_escapes)


def _unescaped(text: str, has_escapes: bool) -> str:
    if not has_escapes:
        return text.replace("''", "'")
    return _ESCAPED.sub(lambda one: "'" if one[1] is None else _ESCAPES.get(one[1], one[1]), text)


def _columns_of(text: str, at: int) -> list[str]:
    """Return the columns of a CREATE TABLE whose column list begins after `at`."""
    parts = (_COMMENT.sub("", part) for part in _parts(text, text.find("(", at) + 1))
    found = [_COLUMN.match(part) for part in parts]
    columns = [one for one in found if one is not None and (one["plain"] or "").upper() not in _NO_COLUMNS]
    return [(one["quoted"] or one["plain"]).lower() for one in columns]


def _parts(text: str, at: int) -> Iterator[str]:
    """Yield the parts of a bracketed list that begins at `at`. Commas within brackets and texts do not divide it."""
    begin, depth = at, 1
    for sign in _SIGN.finditer(text, at):
        if sign[0] == "(":
            depth += 1
        elif sign[0] == ")":
            depth -= 1
        if depth == 0 or (sign[0] == "," and depth == 1):
            yield text[begin : sign.start()]
            begin = sign.end()
        if depth == 0:
            return


def _bare(name: str) -> str:
    return name.strip().rpartition(".")[2].strip('`"').lower()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
