"""The audit in SQL: who changed what, written in the transaction of the change itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, and_, insert, select
from sqlalchemy.engine import Dialect, RowMapping

from wangtimer.core.apps.audited_change import AuditedChange, AuditedKind, AuditEntry
from wangtimer.core.apps.caller import Caller, who_calls
from wangtimer.core.fail_points import Step
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.keyset import by_index, readable_page
from wangtimer.store.sql.many_rows import ManyRows, Texts, number, rows_to_come
from wangtimer.store.sql.tables import ADDRESS_CHARACTERS, audit

_ORDER = (audit.c.at, audit.c.id)
# The kinds of which one app may have as many entries as all others together.
_MANY = (AuditedKind.TIMER, AuditedKind.FIRING)
_INSERTED = tuple(column.name for column in audit.c if column is not audit.c.id)


class _Noted(NamedTuple):
    """A change to be written: whose, when (ms UTC), and what."""

    caller: Caller
    at: int
    change: AuditedChange


def note_changes(sql: Connection, at: int, changes: Sequence[AuditedChange]) -> None:
    """Put changes of `at` (ms UTC) on record as those of who calls; call it in the transaction that makes them.

    What a stage of the service changes by itself has no caller, and is not on record. One statement for up to 2,000.
    """
    caller = who_calls()
    if caller is not None and changes:
        noted = [_Noted(caller, at, change) for change in changes]
        _inserting(sql.dialect).run(sql, noted, _written)


def is_noted() -> bool:
    """Tell whether changes of this thread go on record, so that each takes a second statement."""
    return who_calls() is not None


@cache
def _inserting(dialect: Dialect) -> ManyRows:
    return ManyRows(insert(audit).from_select(_INSERTED, rows_to_come(), include_defaults=False), dialect)


def _written(noted: _Noted, texts: Texts) -> str:
    """Write a row, in the order of the insert's columns. The words of the two enumerations are written out."""
    caller, change = noted.caller, noted.change
    fields = orjson.dumps(change.fields).decode() if change.fields else None
    who = [caller.key_id, caller.name, caller.app, caller.address[:ADDRESS_CHARACTERS]]
    what = [change.subject, change.app, change.name, fields, change.old_status, change.new_status]
    values = ["NULL" if value is None else texts.write(value) for value in who + what]
    words = [f"'{change.action}'", f"'{change.kind}'"]
    of_who, of_what = values[: len(who)], values[len(who) :]
    return f"({number(noted.at)},{','.join(of_who + words + of_what)},{number(change.fire_at)})"


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries: each that is given must hold; `since` and `until` in ms UTC, both included.

    `app` is whose the changed thing is. `subject` of a timer finds the changes of its firings too, unless `kind` or
    `fire_at` says otherwise.
    """

    app: str | None = None
    key_id: str | None = None
    kind: AuditedKind | None = None
    subject: str | None = None
    fire_at: int | None = None
    since: int | None = None
    until: int | None = None


class AuditLog:
    """Reads what is on record, latest first, and forgets what is past its retention."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, wanted: AuditFilter, limit: int, last: tuple[int, int] | None = None) -> list[AuditEntry]:
        """Return up to `limit` entries, latest first; next page: those behind the `last` one's moment and id."""
        query = by_index(select(audit).where(and_(*_matching(wanted))), _index(wanted), audit)
        return readable_page(
            self._database, query, _ORDER, last, limit, lambda row: _entry(row._mapping), descending=True
        )

    def purge(self, before: int, limit: int) -> int:
        """Forget entries of before `before` (ms UTC), the oldest `limit` at most; return how many."""
        oldest = f"WHERE at < {before:d} ORDER BY at LIMIT {limit:d}"
        if self._database.is_sqlite:
            # SQLite has no DELETE with LIMIT.
            oldest = f"WHERE id IN (SELECT id FROM audit {oldest})"
        forget = f"DELETE FROM audit {oldest}"
        return self._database.write(
            lambda sql: int(sql.exec_driver_sql(forget).rowcount), Step.SQL_PURGE_AUDIT
        )


def _matching(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    given = (
        (wanted.app, audit.c.app.__eq__),
        (wanted.key_id, audit.c.key_id.__eq__),
        (wanted.kind, audit.c.kind.__eq__),
        (wanted.subject, audit.c.subject.__eq__),
        (wanted.fire_at, audit.c.fire_at.__eq__),
        # Without a bound MariaDB calls it a reading of the whole index.
        (wanted.since or 0, audit.c.at.__ge__),
        (wanted.until, audit.c.at.__le__),
    )
    return [compare(value) for value, compare in given if value is not None]


def _index(wanted: AuditFilter) -> str:
    """Return the index that leaves the fewest entries to look at."""
    if wanted.subject is not None:
        return "audit_of_subject"
    if wanted.key_id is not None:
        return "audit_of_key"
    if wanted.kind is not None and (wanted.app is None or wanted.kind not in _MANY):
        return "audit_of_kind"
    return "audit_at" if wanted.app is None else "audit_of_app"


def _entry(row: RowMapping) -> AuditEntry:
    values: dict[str, Any] = dict(row)
    return AuditEntry(**values | {"fields": tuple(orjson.loads(row["fields"] or "[]"))})
