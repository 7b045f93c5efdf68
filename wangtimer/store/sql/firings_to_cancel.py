"""Firings that a newer one of their timer cancels, in SQL: of many, the last few at once, the rest a few at a time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, text

from wangtimer.core.flow.firing import Firing, FiringStatus, MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.timers.overlap import cancelled_by
from wangtimer.store.sql.accepted_firings import accepted_of
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.firings import free_and_held, settle_rows
from wangtimer.store.sql.statements import (
    KeyedStatement,
    asked_for,
    behind,
    by_index,
    delete_of_keys,
    in_parts,
    insert_ignore,
    update_status,
    with_keys,
)
from wangtimer.store.sql.tables import begun_firings, firings, firings_to_cancel
from wangtimer.store.sql.while_unchanged import while_unchanged

# So many are cancelled in one transaction. It holds up the newer firing, and those that come with it.
MOST_AT_ONCE = 500
_OPEN = (FiringStatus.PENDING, FiringStatus.ACCEPTED)
_KEY = (firings_to_cancel.c.timer_id, firings_to_cancel.c.fire_at)
_NOTED = KeyedStatement(asked_for(*_KEY, firings_to_cancel.c.cancelled_by, table=firings_to_cancel))
_WHOLE = KeyedStatement(asked_for(*firings.c))

# So many move to `firing_to_cancel` in one transaction, and as many again where a further timer has too many: what is
# judged with them waits for it.
MOST_NOTED = 10_000
Noted = Callable[[Outcome], Outcome]


@dataclass(frozen=True, slots=True)
class ToCancel:
    """A firing that is to be cancelled; `by` is the moment (ms UTC) of the newer one."""

    key: MemberKey
    by: int


class FiringsToCancel(SqlStore):
    """What is still to be cancelled, since a newer one began. Every method raises `StoreAway`."""

    @while_unchanged
    def page(self, after: MemberKey, limit: int = MOST_AT_ONCE) -> list[ToCancel]:
        """Return those behind this key (timer, moment), in order."""
        query = select(*_KEY, firings_to_cancel.c.cancelled_by).where(behind(_KEY, after))
        query = by_index(query.order_by(*_KEY).limit(limit), "PRIMARY", firings_to_cancel)
        rows = self._rows(query)
        return [ToCancel((row.timer_id, row.fire_at), row.cancelled_by) for row in rows]

    def cancel(self, page: Sequence[ToCancel], noted: Noted) -> int:
        """Write missing outcomes, forget all; return how many are gone; repeatable. Held ones stay for next time."""

        def work(sql: Connection) -> int:
            rows, held = free_and_held(sql, [noted_firing.key for noted_firing in page])
            over = [noted_firing.key for noted_firing in page if noted_firing.key not in held]
            # Only now: a replay that came first wants its firing made.
            cancel_rows(sql, rows, _noted_among(sql, over), noted)
            forget_to_cancel(sql, over)
            return len(over)

        return self._database.write(work, waits_for_locks=False) if page else 0


def cancel_older(
    sql: Connection,
    newest: Mapping[int, int],
    last: Mapping[MemberKey, int],
    cancelled: Mapping[MemberKey, int],
    rows: dict[MemberKey, Firing],
    noted: Noted,
) -> None:
    """Cancel all that is on record before the newest firing of each timer, in the caller's transaction.

    `newest` has that firing's moment by timer, `last` what `last_before` found of them, `cancelled` those that are
    cancelled now and by which moment, `rows` the rows that are locked already. The last few of those on record have
    their outcomes now. The rest are noted as to be cancelled, and so are those whose rows others hold. On record as
    begun is none of them any more.
    """
    by = {**last, **cancelled}
    free, held = free_and_held(sql, [key for key in by if key not in rows])
    cancel_rows(sql, free | rows, by, noted)
    delete_of_keys(sql, begun_firings, by)
    _note(sql, {key: by[key] for key in held})
    if len(last) == MOST_AT_ONCE:
        _note_rest(sql, newest)


def last_before(sql: Connection, newest: Mapping[int, int]) -> dict[MemberKey, int]:
    """Return the last few that are on record before the newest of each timer, and by which each is cancelled."""
    before: list[ColumnElement[bool]] = [
        and_(begun_firings.c.timer_id == timer_id, begun_firings.c.fire_at < fire_at)
        for timer_id, fire_at in newest.items()
    ]
    if not before:
        return {}
    order = begun_firings.c.timer_id.desc(), begun_firings.c.fire_at.desc()
    query = select(begun_firings.c.timer_id, begun_firings.c.fire_at).where(or_(*before))
    query = by_index(query.order_by(*order).limit(MOST_AT_ONCE), "PRIMARY", begun_firings)
    return {(row.timer_id, row.fire_at): newest[row.timer_id] for row in sql.execute(query)}


def note_oldest(sql: Connection, newest: Mapping[int, int]) -> list[int]:
    """Return the timers of which this transaction is not to move all that is on record before their newest firing.

    What the others have is few enough for one. Of the first of these the oldest are noted, as many as may be; the
    turns of the rest come as they are judged again.
    """
    room, too_many = MOST_NOTED, list[int]()
    for timer_id, fire_at in newest.items():
        older = _before(timer_id, fire_at).limit(room + 1).subquery()
        number = sql.execute(select(func.count()).select_from(older)).scalar_one()
        if number > room:
            too_many.append(timer_id)
        else:
            room -= number
    if too_many:
        first, by = too_many[0], newest[too_many[0]]
        end = sql.execute(_before(first, by).limit(1).offset(MOST_NOTED)).scalar_one_or_none()
        _note_until(sql, first, by if end is None else end, by)
    return too_many


def _before(timer_id: int, fire_at: int) -> Select[int]:
    """Return the query of what is on record of a timer before a moment, the oldest first."""
    is_before = and_(begun_firings.c.timer_id == timer_id, begun_firings.c.fire_at < fire_at)
    query = select(begun_firings.c.fire_at).where(is_before).order_by(*begun_firings.primary_key)
    return by_index(query, "PRIMARY", begun_firings)


def _note_until(sql: Connection, timer_id: int, end: int, by: int) -> None:
    """Note what is on record of a timer before a moment as to be cancelled by another one."""
    is_sqlite = sql.dialect.name == "sqlite"
    ignore, hint = ("OR IGNORE", "") if is_sqlite else ("IGNORE", " FORCE INDEX (PRIMARY)")
    named = {"timer_id": timer_id, "end": end, "by": by}
    where = "WHERE timer_id = :timer_id AND fire_at < :end"
    noting = f"INSERT {ignore} INTO firing_to_cancel (timer_id, fire_at, cancelled_by)"
    sql.execute(text(f"{noting} SELECT timer_id, fire_at, :by FROM begun_firing{hint} {where}"), named)
    # In the form for several tables: the usual one takes no hint.
    deleting = "DELETE FROM begun_firing" if is_sqlite else f"DELETE begun_firing FROM begun_firing{hint}"
    sql.execute(text(f"{deleting} {where}"), named)


def cancel_rows(
    sql: Connection, rows: dict[MemberKey, Firing], by: Mapping[MemberKey, int], noted: Noted
) -> None:
    """Write outcomes of these locked firings where they have none. What an accepted attempt measured stays."""
    going = [rows[key] for key in by if key in rows and rows[key].status in _OPEN]
    accepted = [row for row in going if row.status is FiringStatus.ACCEPTED]
    outcomes = [
        *(_skipped(row, by[row.member.key]) for row in going if row.status is FiringStatus.PENDING),
        *_of_accepted(sql, accepted, by),
    ]
    if outcomes:
        settle_rows(sql, sorted(map(noted, outcomes), key=_by_row_key))


def _noted_among(sql: Connection, keys: Iterable[MemberKey]) -> dict[MemberKey, int]:
    return {(timer_id, fire_at): by for timer_id, fire_at, by in _NOTED.run(sql, keys)}


def forget_to_cancel(sql: Connection, keys: Iterable[MemberKey]) -> None:
    """Forget that these firings are to be cancelled, in the caller's transaction."""
    delete_of_keys(sql, firings_to_cancel, keys)


def _skipped(row: Firing, by: int) -> Outcome:
    return Outcome(row.member, row.bucket, FiringStatus.SKIPPED, row.fire_at, error=cancelled_by(by))


def _of_accepted(
    sql: Connection, accepted: Sequence[Firing], by: Mapping[MemberKey, int]
) -> Iterable[Outcome]:
    keys = [row.member.key for row in accepted]
    whole = _WHOLE.run(sql, keys)
    # As the outcome of a call finds them: then they are written as one.
    update_status(sql, keys, FiringStatus.ACCEPTED, FiringStatus.PENDING)
    for row in whole:
        error = cancelled_by(by[row.timer_id, row.fire_at])
        yield accepted_of(row._mapping)._replace(status=FiringStatus.SKIPPED, due_at=row.fire_at, error=error)


def _by_row_key(outcome: Outcome) -> tuple[int, int]:
    return outcome.member.fire_at, outcome.member.timer_id


def _note(sql: Connection, by: Mapping[MemberKey, int]) -> None:
    rows = [
        {"timer_id": timer_id, "fire_at": fire_at, "cancelled_by": newer}
        for (timer_id, fire_at), newer in sorted(by.items())
    ]
    if rows:
        sql.execute(insert_ignore(firings_to_cancel), rows)


def _note_rest(sql: Connection, newest: Mapping[int, int]) -> None:
    """Note all that is still on record before the newest of each timer as to be cancelled, in two statements."""
    is_sqlite = sql.dialect.name == "sqlite"
    older = "older.timer_id = asked.timer_id AND older.fire_at < asked.fire_at"
    join, hint = ("JOIN", "") if is_sqlite else ("STRAIGHT_JOIN", " FORCE INDEX (PRIMARY)")
    found = f"FROM ({{keys}}) AS asked {join} begun_firing AS older{hint} ON {older}"
    noting = (
        f"INSERT {'OR ' if is_sqlite else ''}IGNORE INTO firing_to_cancel (timer_id, fire_at, cancelled_by)"
        f" SELECT older.timer_id, older.fire_at, asked.fire_at {found}"
    )
    forgetting = f"DELETE older {found}"
    if is_sqlite:
        keyed = f"SELECT older.timer_id, older.fire_at {found}"
        forgetting = f"DELETE FROM begun_firing WHERE (timer_id, fire_at) IN ({keyed})"
    for part in in_parts(newest.items()):
        for statement in (noting, forgetting):
            sql.exec_driver_sql(with_keys(statement, sql.dialect, part))
