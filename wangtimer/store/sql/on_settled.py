"""What is written with the outcomes of firings, in the transaction that settles them.

Notes for the judge of alerts, and what answers make of their timers: that is gone once it is done.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, and_, delete, func, or_, select, update
from sqlalchemy.engine import Dialect

from wangtimer.core.alerts.alert_place import NotedAt
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.reply_control import CONTROL, ControlKind
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.dead_letters import keep_dead_letters
from wangtimer.store.sql.statements import (
    KeyedStatement,
    ManyRows,
    NewValues,
    Texts,
    asked_for,
    behind,
    insert_ignore,
    number,
    upsert,
)
from wangtimer.store.sql.tables import ERROR_CHARACTERS, alert_notes, firings, reply_controls
from wangtimer.store.sql.while_unchanged import while_unchanged

_NAMES = tuple(column.name for column in alert_notes.c)
_KEY = tuple(column.name for column in alert_notes.primary_key)
_SAID = tuple(name for name in _NAMES if name not in _KEY)


def note_outcomes(sql: Connection, outcomes: Sequence[Outcome]) -> None:
    """Note those of these outcomes that the judge is to see; no statement where there is none.

    Call it in the transaction that wrote them. A later note of an attempt takes the place of an earlier one: what was
    accepted late may have failed before anybody judged it. It stays late. Repeating it is harmless: the judge looks at
    the firing's row too.
    """
    marked = [(outcome, at) for outcome in outcomes if (at := NotedAt.of(outcome)) is not None]
    if marked:
        _inserting(sql.dialect).run(sql, marked, _written)


@cache
def _inserting(dialect: Dialect) -> ManyRows:
    return upsert(alert_notes, _NAMES, dialect, _changes)


def _changes(new: NewValues) -> dict[str, Any]:
    lateness_ms = func.coalesce(new["lateness_ms"], alert_notes.c.lateness_ms)
    return {name: new[name] for name in _SAID} | {"lateness_ms": lateness_ms}


def _written(marked: tuple[Outcome, NotedAt], texts: Texts) -> str:
    outcome, (app, host, target, known_at, well_at) = marked
    timer_id, fire_at, attempt = outcome.member
    return (
        f"({texts.write(app)},{number(fire_at)},{number(timer_id)},{number(attempt)},'{outcome.status.value}',"
        f"{number(outcome.lateness_ms)},{number(outcome.http_status)},{texts.write(outcome.error[:ERROR_CHARACTERS])},"
        f"{texts.write(host[:LANE_CHARACTERS])},{texts.write(target)},{number(known_at)},{number(well_at)})"
    )


def keep_controls(sql: Connection, outcomes: Sequence[Outcome]) -> None:
    """Keep what answers make of their timers, in the outcomes' transaction; repeatable, and only of written ones."""
    controls = {outcome.member.key: outcome for outcome in outcomes if outcome.note(CONTROL)}
    rows = [
        {"timer_id": timer_id, "fire_at": fire_at, "control": outcome.note(CONTROL)}
        for timer_id, fire_at, status, attempt in _STANDING.run(sql, controls)
        if (outcome := controls[timer_id, fire_at]).has_taken_effect(status, attempt)
    ]
    if rows:
        sql.execute(insert_ignore(reply_controls), rows)


_STANDING = KeyedStatement(
    asked_for(firings.c.timer_id, firings.c.fire_at, firings.c.status, firings.c.attempt)
)
# All keys lie behind it.
FIRST_KEY: MemberKey = (0, 0)


class ReplyControlStore(SqlStore):
    """Raises `StoreAway`."""

    @while_unchanged
    def behind(self, after: MemberKey, limit: int, *, are_gone: bool = False) -> dict[MemberKey, str]:
        """Return up to `limit` controls by (timer_id, fire_at), in this order, from behind one.

        Those of timers whose targets are gone, or the others. Sweeps empty the table: it has no index of them.
        """
        key = (reply_controls.c.timer_id, reply_controls.c.fire_at)
        gone = reply_controls.c.control.like(f"% {ControlKind.GONE.value} %")
        query = select(*key, reply_controls.c.control).where(behind(key, after), gone if are_gone else ~gone)
        query = query.order_by(*key).limit(limit)
        rows = self._rows(query)
        return {(timer_id, fire_at): control for timer_id, fire_at, control in rows}

    def forget(self, keys: Sequence[MemberKey], faults: Mapping[MemberKey, str]) -> None:
        """Forget the controls of these firings, each (timer_id, fire_at); say on records why some changed nothing."""
        if keys:
            self._database.write(
                lambda sql: _forget(sql, keys, faults), FailPoint.SQL_FORGET_CONTROLS, waits_for_locks=False
            )


def _forget(sql: Connection, keys: Sequence[MemberKey], faults: Mapping[MemberKey, str]) -> None:
    for (timer_id, fire_at), error in faults.items():
        is_it = and_(firings.c.timer_id == timer_id, firings.c.fire_at == fire_at)
        sql.execute(update(firings).where(is_it).values(error=error[:ERROR_CHARACTERS]))
    each = (
        and_(reply_controls.c.timer_id == timer_id, reply_controls.c.fire_at == at) for timer_id, at in keys
    )
    sql.execute(delete(reply_controls).where(or_(*each)))


# Each is given outcomes that were just written, at most one of a firing where attempts follow some of them. It is
# repeatable, and has no statement for outcomes that are not its own.
ON_SETTLED: tuple[Callable[[Connection, Sequence[Outcome]], None], ...] = (
    keep_dead_letters,
    note_outcomes,
    keep_controls,
)
