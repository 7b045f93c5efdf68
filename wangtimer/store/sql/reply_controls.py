"""What answers make of their timers, in SQL: written with the outcome, and gone once it is done."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, and_, delete, or_, select, update

from wangtimer.core.fail_points import Step
from wangtimer.core.flow.firing import MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.reply_control import CONTROL, ControlKind
from wangtimer.store.sql.asked import KeyedStatement, asked_for
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.keyset import behind
from wangtimer.store.sql.many_rows import insert_ignore
from wangtimer.store.sql.tables import ERROR_CHARACTERS, firings, reply_controls


def keep_controls(sql: Connection, outcomes: Sequence[Outcome]) -> None:
    """Keep what these answers make of their timers, in the transaction that wrote the outcomes; repeatable.

    An outcome that changed nothing leaves nothing.
    """
    controls = {one.member.key: one for one in outcomes if one.note(CONTROL)}
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


class ReplyControlStore:
    """Raises `StoreAway`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def behind(self, after: MemberKey, limit: int, *, are_gone: bool = False) -> dict[MemberKey, str]:
        """Return up to `limit` controls by (timer_id, fire_at), in this order, from behind one.

        Those of timers whose targets are gone, or the others. Sweeps empty the table: it has no index of them.
        """
        key = (reply_controls.c.timer_id, reply_controls.c.fire_at)
        gone = reply_controls.c.control.like(f"% {ControlKind.GONE.value} %")
        query = select(*key, reply_controls.c.control).where(behind(key, after), gone if are_gone else ~gone)
        query = query.order_by(*key).limit(limit)
        rows = self._database.read(lambda sql: sql.execute(query).all())
        return {(timer_id, fire_at): control for timer_id, fire_at, control in rows}

    def forget(self, keys: Sequence[MemberKey], faults: Mapping[MemberKey, str]) -> None:
        """Forget the controls of these firings, each (timer_id, fire_at); say on records why some changed nothing."""
        if keys:
            self._database.write(
                lambda sql: _forget(sql, keys, faults), Step.SQL_FORGET_CONTROLS, waits_for_locks=False
            )


def _forget(sql: Connection, keys: Sequence[MemberKey], faults: Mapping[MemberKey, str]) -> None:
    for (timer_id, fire_at), error in faults.items():
        is_it = and_(firings.c.timer_id == timer_id, firings.c.fire_at == fire_at)
        sql.execute(update(firings).where(is_it).values(error=error[:ERROR_CHARACTERS]))
    each = (and_(reply_controls.c.timer_id == one, reply_controls.c.fire_at == at) for one, at in keys)
    sql.execute(delete(reply_controls).where(or_(*each)))
