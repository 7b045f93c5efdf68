"""What answers make of their timers, in SQL: written with the outcome, and gone once it is done."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, delete, or_, select

from wangtimer.core.fail_points import Step
from wangtimer.core.flow.firing import MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.keyset import behind
from wangtimer.store.sql.many_rows import insert_ignore
from wangtimer.store.sql.tables import reply_controls


def keep_controls(sql: Connection, outcomes: Sequence[Outcome]) -> None:
    """Keep what these answers make of their timers, in the transaction that writes the outcomes; repeatable."""
    rows = [
        {"timer_id": one.member.timer_id, "fire_at": one.member.fire_at, "control": one.control}
        for one in outcomes
        if one.control
    ]
    if rows:
        sql.execute(insert_ignore(reply_controls), rows)


# All keys lie behind it.
FIRST_KEY: MemberKey = (0, 0)


class ReplyControlStore:
    """Raises `StoreAway`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def behind(self, after: MemberKey, limit: int) -> dict[MemberKey, str]:
        """Return up to `limit` controls by (timer_id, fire_at), in this order, from behind one."""
        key = (reply_controls.c.timer_id, reply_controls.c.fire_at)
        query = select(*key, reply_controls.c.control).where(behind(key, after)).order_by(*key).limit(limit)
        rows = self._database.read(lambda sql: sql.execute(query).all())
        return {(timer_id, fire_at): control for timer_id, fire_at, control in rows}

    def forget(self, keys: Sequence[MemberKey]) -> None:
        """Forget the controls of these firings, each (timer_id, fire_at)."""
        each = (and_(reply_controls.c.timer_id == one, reply_controls.c.fire_at == at) for one, at in keys)
        if keys:
            forgetting = delete(reply_controls).where(or_(*each))
            self._database.write(lambda sql: sql.execute(forgetting), Step.SQL_FORGET_CONTROLS)
