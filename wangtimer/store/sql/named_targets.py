"""The targets that timers name, as a transaction sees them that makes or edits timers."""

from collections.abc import Mapping

from sqlalchemy import Connection, and_, select

from wangtimer.core.errors import InvalidInput
from wangtimer.core.messages.message_place import SCHEME
from wangtimer.core.timers.named_target import WhyNoTask, refuse_misfit
from wangtimer.core.timers.timer import Definition
from wangtimer.store.sealed_texts import target_from
from wangtimer.store.sql.tables import targets


def hold_target(sql: Connection, own: Definition, why_no_task: WhyNoTask) -> None:
    """Raise `InvalidInput` if the app has no target of the name that the timer gives, or the two do not fit.

    The row is locked until the transaction ends: a later deletion waits for it, and then finds the timer.
    """
    if own.notify.target and (why := misfits(sql, own.app, {"": own}, why_no_task)):
        raise why[""]


def misfits(
    sql: Connection, app: str, owns: Mapping[str, Definition], why_no_task: WhyNoTask
) -> dict[str, InvalidInput]:
    """Return why calls of an app's timers, by names of their own, cannot go through the targets that they name.

    Rows of targets are locked as above.
    """
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
