"""Named targets in SQL."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    Connection,
    LargeBinary,
    Row,
    and_,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, OperationalError

from wangtimer.core.api_field import json_name
from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.errors import Conflict, Subject, UnknownTarget, VersionChanged
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.origin import origins_of
from wangtimer.core.timers.bad_timers import Readable, reason_of
from wangtimer.core.timers.call_options import FORM_NAMES
from wangtimer.core.timers.named_target import NamedTarget, TargetKey
from wangtimer.store.call_text import SEALED
from wangtimer.store.sealed_texts import target_from, target_text
from wangtimer.store.seals import Seals
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import Database, SqlStore, was_over_time
from wangtimer.store.sql.statements import behind, by_index, readable_page
from wangtimer.store.sql.tables import targets, timers
from wangtimer.store.sql.while_unchanged import changed_rows

# Targets of one app.
MOST_TARGETS = 1_000
# What is set of a target: the same again changes nothing.
_SAID = attrgetter("call", "timeouts", "keep_output", "retry")
# The audit's names of a target's time-outs.
_TIMEOUTS = ("timeout", "connectTimeout", "firstByteTimeout", "ackTimeout")
_FORM = tuple(map(json_name, FORM_NAMES))
# Keys that one statement asks for.
KEYS_AT_ONCE = 100
# Of a timer that names a target. As bytes: as characters it takes twice as long.
_KEEPS_SECRETS = func.instr(cast(timers.c.notify, LargeBinary), SEALED) > 0
# When a row last changed (ms UTC), its app and its name.
TargetChangeKey = tuple[int, str, str]
# Makes what a target is to be of what it is (None: there is none); may raise to refuse.
TargetRevision = Callable[[NamedTarget | None], NamedTarget]


class TargetStore(SqlStore):
    """One row a target. A change is one transaction, however many timers name the target."""

    def __init__(self, database: Database, seals: Seals) -> None:
        super().__init__(database)
        self._seals = seals

    def get(self, app: str, name: str) -> NamedTarget:
        """Return a target, its secrets sealed; raises `UnknownTarget`, `StoreAway`."""
        query = select(targets).where(_is(app, name))
        row = self._database.read(lambda sql: sql.execute(query).one_or_none())
        if row is None:
            raise UnknownTarget(app, name)
        return _target_of(row)

    def page(self, app: str, after: str, limit: int) -> list[NamedTarget]:
        """Return an app's targets by name, from behind one; unreadable ones are left out. Raises `StoreAway`."""
        query = select(targets).where(targets.c.app == app)
        return readable_page(self._database, query, [targets.c.name], [after], limit, _target_of)

    def change(
        self, app: str, name: str, change: TargetRevision, now: int, version: int | None = None
    ) -> tuple[NamedTarget, bool]:
        """Make a target, or change it; return it as it then is, and whether it was made (`now` in ms UTC).

        Nothing is written where `change` changes nothing. Raises `VersionChanged` where the target is not at `version`;
        `Conflict` where the app has `MOST_TARGETS` already, or secrets of timers would go to another host; what
        `change` raises; `StoreAway`.
        """
        made: NamedTarget | None = None

        def work(sql: Connection) -> tuple[NamedTarget, bool]:
            nonlocal made
            held = _locked(sql, app, name)
            if made is not None and held == made:
                # The first try was applied, although its answer was lost.
                return made, made.created_at == made.updated_at
            _refuse_changed(app, name, held, version)
            wanted = change(held)
            if held is not None and not origins_of(wanted.call.url) <= origins_of(held.call.url):
                _refuse_own_secrets(sql, app, name)
            if held is not None and _SAID(held) == _SAID(wanted):
                return held, False
            made = _dated(wanted, held, now)
            _write(sql, made, held)
            note_changes(sql, now, [_noted(held, made)])
            return made, held is None

        try:
            return self._database.write(work, FailPoint.SQL_CHANGE_TARGET)
        except IntegrityError:
            raise Conflict(
                "name",
                f"the target {name!r} is being made by somebody else",
                "repeat it where it is still wanted",
                about=Subject.TARGET,
            ) from None

    def remove(self, app: str, name: str, now: int, version: int | None = None) -> None:
        """Delete a target. Raises `UnknownTarget`, `VersionChanged`, `StoreAway`, `Conflict` where timers name it."""
        is_tried = False

        def work(sql: Connection) -> None:
            nonlocal is_tried
            held = _locked(sql, app, name)
            if held is None and is_tried:
                return
            if held is None:
                raise UnknownTarget(app, name)
            _refuse_changed(app, name, held, version)
            _refuse_named(sql, app, name)
            is_tried = True
            sql.execute(delete(targets).where(_is(app, name)))
            note_changes(sql, now, [AuditedChange(Action.DELETE, AuditedKind.TARGET, name, app)])

        self._database.write(work, FailPoint.SQL_REMOVE_TARGET)

    def timers_of(self, app: str, name: str) -> int:
        """Return how many living timers of the app name this target."""
        return self._database.read(lambda sql: _count_of(sql, app, name))

    def stored(self, keys: Collection[TargetKey]) -> Readable[TargetKey, NamedTarget]:
        """Return those of these targets that there are, their secrets sealed; raises `StoreAway`."""
        asked = sorted(keys)
        found: Readable[TargetKey, NamedTarget] = Readable()
        for start in range(0, len(asked), KEYS_AT_ONCE):
            of_keys = or_(*(_is(*key) for key in asked[start : start + KEYS_AT_ONCE]))
            part = _read(self._rows(select(targets).where(of_keys)), _target_of)
            found.update(part)
            found.bad |= part.bad
        return found

    def changed_behind(
        self, key: TargetChangeKey, limit: int
    ) -> tuple[Readable[TargetKey, NamedTarget], TargetChangeKey | None]:
        """Return a page of what changed after this key, oldest first, and where to go on; None at the end."""
        columns = (targets.c.updated_at, targets.c.app, targets.c.name)
        query = by_index(select(targets), "target_updated", targets)
        rows = changed_rows(self._database, query, columns, key, limit)
        last = (rows[-1].updated_at, rows[-1].app, rows[-1].name) if len(rows) == limit else None
        return _read(rows, _target_of), last

    def keys_behind(self, key: TargetKey, limit: int) -> list[TargetKey]:
        """Return a page of all targets' keys, from behind one."""
        columns = (targets.c.app, targets.c.name)
        query = select(*columns).where(behind(columns, key)).order_by(*columns).limit(limit)
        return [(row.app, row.name) for row in self._rows(query)]

    def seal_anew(self, key: TargetKey) -> NamedTarget | None:
        """Seal a target's secrets under the first key; None: nothing to do. Raises `StoreAway`, `UnopenedSecrets`."""

        def work(sql: Connection) -> NamedTarget | None:
            held = _locked(sql, *key)
            if held is None or not self._seals.needs_sealing(held.call):
                return None
            call = self._seals.seal(self._seals.opened(held).call, *key)
            sealed = replace(held, call=call)
            sql.execute(update(targets).where(_is(*key)).values(content=target_text(sealed)))
            return sealed

        return self._database.write(work)


def _target_of(row: Row[Any]) -> NamedTarget:
    return target_from(row.app, row.name, row.version, row.content, row.created_at, row.updated_at)


def _read(
    rows: Iterable[Row[Any]], read: Callable[[Row[Any]], NamedTarget]
) -> Readable[TargetKey, NamedTarget]:
    found: Readable[TargetKey, NamedTarget] = Readable()
    for row in rows:
        try:
            found[row.app, row.name] = read(row)
        except Exception as error:
            found.bad[row.app, row.name] = reason_of("it cannot be read", error)
    return found


def _is(app: str, name: str) -> Any:
    return and_(targets.c.app == app, targets.c.name == name)


def _locked(sql: Connection, app: str, name: str) -> NamedTarget | None:
    row = sql.execute(select(targets).where(_is(app, name)).with_for_update()).one_or_none()
    return None if row is None else _target_of(row)


def _refuse_changed(app: str, name: str, held: NamedTarget | None, version: int | None) -> None:
    if version is None:
        return
    if held is None:
        reason = f"app {app!r} has no target {name!r}"
        raise VersionChanged("version", reason, "leave the condition on its version out")
    if held.version != version:
        raise VersionChanged(
            "version",
            f"this target is at version {held.version}, not {version}: somebody changed it",
            "read it again, and repeat the change where it still makes sense",
        )


def _refuse_named(sql: Connection, app: str, name: str) -> None:
    if number := _count_of(sql, app, name):
        named = "1 timer names it" if number == 1 else f"{number} timers name it"
        raise Conflict("name", named, "give them another target, or delete them, first", about=Subject.TARGET)


def _refuse_own_secrets(sql: Connection, app: str, name: str) -> None:
    """Raise `Conflict` where a timer of the target keeps secrets, or too many are to be looked through in time."""
    wanted = and_(timers.c.app == app, timers.c.target == name, timers.c.tombstone == 0, _KEEPS_SECRETS)
    query = by_index(select(timers.c.name).where(wanted), "timer_of_target", timers)
    try:
        own = sql.execute(query.order_by(timers.c.id).limit(1)).scalar_one_or_none()
    except OperationalError as error:
        if not was_over_time(error):
            raise
        reason = "the timers that name it are too many to look through for secrets of their own"
    else:
        if own is None:
            return
        reason = (
            f"timer {own!r} names it and keeps secrets of its own, which were given for another scheme, host "
            "or port"
        )
    mend = "make another target, and let such timers name that, with their secrets given anew"
    raise Conflict("url", reason, mend, about=Subject.TARGET)


def _count_of(sql: Connection, app: str, name: str) -> int:
    wanted = and_(timers.c.app == app, timers.c.target == name, timers.c.tombstone == 0)
    query = by_index(select(func.count(timers.c.id)).where(wanted), "timer_of_target", timers)
    number: int = sql.execute(query).scalar_one()
    return number


def _dated(wanted: NamedTarget, held: NamedTarget | None, now: int) -> NamedTarget:
    """Return the target with its version: the time of the change, so that one after SQL lost commits is newer too."""
    if held is None:
        return replace(wanted, version=now, created_at=now, updated_at=now)
    version = max(now, held.version + 1)
    return replace(wanted, version=version, created_at=held.created_at, updated_at=now)


def _write(sql: Connection, target: NamedTarget, held: NamedTarget | None) -> None:
    columns = {"content": target_text(target), "version": target.version, "updated_at": target.updated_at}
    if held is not None:
        sql.execute(update(targets).where(_is(*target.key)).values(columns))
        return
    _refuse_one_more(sql, target.app)
    sql.execute(
        insert(targets).values(app=target.app, name=target.name, created_at=target.created_at, **columns)
    )


def _refuse_one_more(sql: Connection, app: str) -> None:
    number = sql.execute(select(func.count(targets.c.name)).where(targets.c.app == app)).scalar_one()
    if number >= MOST_TARGETS:
        raise Conflict(
            "name",
            f"the app has {number} targets, and may have {MOST_TARGETS}",
            "delete one that no timer names",
            about=Subject.TARGET,
        )


def _noted(held: NamedTarget | None, made: NamedTarget) -> AuditedChange:
    if held is None:
        return AuditedChange(Action.CREATE, AuditedKind.TARGET, made.name, made.app)
    pairs = [
        *zip(held.call._fields, held.call, made.call, strict=True),
        *zip(_TIMEOUTS, held.timeouts, made.timeouts, strict=True),
        *zip(_FORM, held.form, made.form, strict=True),
        ("keepOutput", held.keep_output, made.keep_output),
        ("retry", held.retry, made.retry),
    ]
    fields = tuple(name for name, before, after in pairs if before != after)
    return AuditedChange(Action.EDIT, AuditedKind.TARGET, made.name, made.app, fields=fields)
