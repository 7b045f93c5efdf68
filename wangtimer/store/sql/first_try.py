"""What the repeat of a transaction must know of its first try, which may have been applied with its answer lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from wangtimer.core.flow.firing import Firing
from wangtimer.core.timers.timer import Timer, TimerStatus
from wangtimer.store.sql.firings import insert_missing
from wangtimer.store.sql.keyset import by_index
from wangtimer.store.sql.tables import timers
from wangtimer.store.sql.timer_rows import timer_of


@dataclass(slots=True)
class FirstTry:
    """The timers as a transaction was to leave them, and the firings it was to insert; empty before the first try."""

    timers: Sequence[Timer] = ()
    firings: Sequence[Firing] = ()

    def keep(self, made: Sequence[Timer], firings: Sequence[Firing] = ()) -> None:
        """Remember what this try makes, in case it has to be repeated; `firings` sorted by key."""
        self.timers, self.firings = made, firings

    def applied(self, sql: Connection) -> list[Timer]:
        """Return, by id, the timers that stand as the first try was to leave them: for these nothing is repeated.

        They are locked until the transaction ends.
        """
        if not self.timers:
            return []
        made = {timer.id: timer for timer in self.timers}
        query = by_index(select(timers).where(timers.c.id.in_(sorted(made))), "PRIMARY", timers)
        query = query.order_by(timers.c.id).with_for_update()
        standing = [timer_of(row) for row in sql.execute(query).mappings()]
        return [timer for timer in standing if _is_same(timer, made[timer.id])]

    def waiting(self, sql: Connection, applied: Sequence[Timer]) -> list[Firing]:
        """Return the first try's firings of these timers that wait to be fired."""
        ids = {timer.id for timer in applied}
        return insert_missing(sql, [firing for firing in self.firings if firing.timer_id in ids])


def _is_same(timer: Timer, made: Timer) -> bool:
    now, then = timer.definition, made.definition
    if (now.version, now.status) != (then.version, then.status):
        return False
    # A deleted row's terms were emptied, and nothing changes it any more.
    return now.status is TimerStatus.DELETED or timer.terms == made.terms
