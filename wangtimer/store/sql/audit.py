"""The audit in SQL: who changed what, written in the transaction of the change itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, Row, func, insert, select
from sqlalchemy.engine import Dialect

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind, AuditEntry
from wangtimer.core.apps.caller import Caller, who_calls
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import Firing
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import Timer, TimerStatus, changed_fields
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.parts import PartRule, end_of_patience, parts_of
from wangtimer.store.sql.statements import ManyRows, Texts, by_index, delete_oldest, number, readable_page
from wangtimer.store.sql.tables import ADDRESS_CHARACTERS, audit

_ORDER = (audit.c.at, audit.c.id)
# The kinds of which one app may have as many entries as all others together.
_MANY = (AuditedKind.TIMER, AuditedKind.FIRING)
# The index of what is looked for.
_INDEXES = {
    "subject": "audit_of_subject",
    "key_id": "audit_of_key",
    "kind": "audit_of_kind",
    "app": "audit_of_app",
    "": "audit_at",
}
# An app may make some hundred entries a second.
_PARTS = PartRule(shortest_ms=60_000, growth=8)
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
    return ManyRows(insert(audit), _INSERTED, dialect)


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

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def page(self, wanted: AuditFilter, limit: int, last: tuple[int, int] | None = None) -> list[AuditEntry]:
        """Return up to `limit` entries, latest first, behind `last` (moment, id).

        Raises `InvalidInput` if they are not found within 8 s, and `TooManyAtOnce`.
        """
        query = by_index(select(audit).where(*_matching(wanted)), _INDEXES[_seek(wanted)], audit)
        parts = self._parts(wanted, last)
        return readable_page(self._database, query, _ORDER, last, limit, _entry, descending=True, parts=parts)

    def _parts(
        self, wanted: AuditFilter, last: tuple[int, int] | None
    ) -> Iterator[ColumnElement[bool] | None]:
        """Yield conditions of each part of the time, the latest first: one, where the index has only what is wanted."""
        seek = _seek(wanted)
        alone = AuditFilter(
            since=wanted.since, until=wanted.until, **{seek: getattr(wanted, seek)} if seek else {}
        )
        if wanted == alone:
            yield None
            return
        ends = select(func.min(audit.c.at), func.max(audit.c.at)).where(*_matching(alone))
        query = by_index(ends, _INDEXES[seek], audit)
        first, latest = self._database.read(lambda sql: sql.execute(query).one())
        if first is None:
            return
        latest = latest if last is None else min(latest, last[0])
        ends_at = end_of_patience(self._clock)
        parts = parts_of(
            first, latest, _PARTS, self._clock, ends_at, wanted.app, latest_first=True, rows="entries"
        )
        for part in parts:
            yield audit.c.at.between(*part)

    def purge(self, before: int, limit: int) -> int:
        """Forget entries of before `before` (ms UTC), the oldest `limit` at most; return how many."""
        return self._database.write(
            lambda sql: delete_oldest(sql, audit, "at", before, limit),
            FailPoint.SQL_PURGE_AUDIT,
            waits_for_locks=False,
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


def _seek(wanted: AuditFilter) -> str:
    """Return what leaves the fewest entries to look at, if an index is read by it; "": the time alone."""
    if wanted.subject is not None:
        return "subject"
    if wanted.key_id is not None:
        return "key_id"
    if wanted.kind is not None and (wanted.app is None or wanted.kind not in _MANY):
        return "kind"
    return "" if wanted.app is None else "app"


def _entry(row: Row[Any]) -> AuditEntry:
    values = dict(row._mapping)
    return AuditEntry(**values | {"fields": tuple(orjson.loads(row.fields or "[]"))})


_SWITCHED = {
    TimerStatus.ENABLED: Action.ENABLE,
    TimerStatus.DISABLED: Action.DISABLE,
    TimerStatus.DELETED: Action.DELETE,
}


def creation_of(timer: Timer) -> AuditedChange:
    """Return the creation of a timer."""
    return _of_timer(Action.CREATE, timer, (), None)


def switch_of(was: TimerStatus, timer: Timer) -> AuditedChange:
    """Return the change of a timer's status alone, as it now stands."""
    return _of_timer(_SWITCHED[timer.definition.status], timer, (), was)


def disabling_of(timer_id: int, app: str, name: str) -> AuditedChange:
    """Return the disabling of an enabled timer of which no more is known: its row cannot be read."""
    enabled, disabled = TimerStatus.ENABLED.value, TimerStatus.DISABLED.value
    subject = str(timer_id)
    return AuditedChange(
        Action.DISABLE, AuditedKind.TIMER, subject, app, name, old_status=enabled, new_status=disabled
    )


def edit_of(was: Timer, timer: Timer) -> AuditedChange:
    """Return the edit of a timer; if none of its fields changed, the change of its status."""
    fields = changed_fields(was, timer)
    status = was.definition.status
    return _of_timer(Action.EDIT, timer, fields, status) if fields else switch_of(status, timer)


def acts_on(
    action: Action,
    app: str,
    firings: Sequence[Firing],
    old_status: Sequence[str | None],
    name: str | None = None,
) -> list[AuditedChange]:
    """Return what was done to firings; `old_status` has each one's before (None: it was new), `name` its timer's."""
    return [
        AuditedChange(
            action,
            AuditedKind.FIRING,
            str(firing.timer_id),
            app,
            name,
            old_status=was,
            new_status=firing.status.value,
            fire_at=firing.fire_at,
        )
        for firing, was in zip(firings, old_status, strict=True)
    ]


def _of_timer(
    action: Action, timer: Timer, fields: tuple[str, ...], was: TimerStatus | None
) -> AuditedChange:
    definition = timer.definition
    has_moved = was is not definition.status
    return AuditedChange(
        action,
        AuditedKind.TIMER,
        str(definition.timer_id),
        definition.app,
        timer.name,
        fields,
        was.value if has_moved and was is not None else None,
        definition.status.value if has_moved else None,
    )
