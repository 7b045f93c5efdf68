"""What a transaction that makes or edits timers must know: its first try, and the targets that timers name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, select

from wangtimer.core.errors import InvalidInput
from wangtimer.core.flow.firing import Firing
from wangtimer.core.messages.message_place import SCHEME
from wangtimer.core.timers.named_target import WhyNoTask, refuse_misfit
from wangtimer.core.timers.timer import Definition, Timer, TimerStatus
from wangtimer.store.sealed_texts import target_from
from wangtimer.store.sql.firings import insert_missing
from wangtimer.store.sql.statements import by_index
from wangtimer.store.sql.tables import targets, timers
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
        """Return, locked and by id, timers that stand as the first try was to leave them: nothing is repeated."""
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


def hold_target(sql: Connection, own: Definition, why_no_task: WhyNoTask) -> None:
    """Raise `InvalidInput` if the app has no target of the name that the timer gives, or the two do not fit.

    The row is locked until the transaction ends: a later deletion waits for it, and then finds the timer.
    """
    if own.notify.target and (why := misfits(sql, own.app, {"": own}, why_no_task)):
        raise why[""]


def misfits(
    sql: Connection, app: str, owns: Mapping[str, Definition], why_no_task: WhyNoTask
) -> dict[str, InvalidInput]:
    """Return by name why calls of an app's timers cannot go through their targets; locks targets as above."""
    asked = sorted({own.notify.target for own in owns.values() if own.notify.target})
    if not asked:
        return {}
    query = select(targets.c.name, targets.c.content).where(
        and_(targets.c.app == app, targets.c.name.in_(asked))
    )
    rows = sql.execute(query.order_by(targets.c.name).with_for_update(read=True)).all()
    found = {row.name: row.content for row in rows}
    whys = {
        name: _misfit(own, found.get(own.notify.target), why_no_task)
        for name, own in owns.items()
        if own.notify.target
    }
    return {name: why for name, why in whys.items() if why is not None}


def _misfit(own: Definition, content: str | None, why_no_task: WhyNoTask) -> InvalidInput | None:
    name = own.notify.target
    if content is None:
        return unknown_target(name)
    # Most targets are called over HTTP: their texts need not be read.
    if SCHEME not in content:
        return None
    try:
        refuse_misfit(target_from(own.app, name, 0, content), own, why_no_task)
    except InvalidInput as why:
        return why
    return None


def unknown_target(name: str) -> InvalidInput:
    """Return the error that a timer names a target which the app does not have."""
    return InvalidInput(
        "target.name",
        f"the app has no target {name!r}",
        "make it first, with PUT /v1/targets/..., or name another one; GET /v1/targets lists them",
    )
