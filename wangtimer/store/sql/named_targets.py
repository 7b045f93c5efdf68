"""The targets that timers name, as a transaction sees them that makes or edits timers."""

from collections.abc import Iterable

from sqlalchemy import Connection, and_, select

from wangtimer.core.errors import InvalidInput
from wangtimer.core.timers.timer import Notify
from wangtimer.store.sql.tables import targets


def hold_target(sql: Connection, app: str, call: Notify) -> None:
    """Raise `InvalidInput` if the app has no target of the name that the call goes through.

    The row is locked until the transaction ends: a later deletion waits for it, and then finds the timer.
    """
    if call.target and unknown_targets(sql, app, [call.target]):
        raise unknown_target(call.target)


def unknown_targets(sql: Connection, app: str, names: Iterable[str]) -> set[str]:
    """Return those of the names that no target of the app has; the rows of the others are locked as above."""
    asked = sorted(set(names))
    if not asked:
        return set()
    query = select(targets.c.name).where(and_(targets.c.app == app, targets.c.name.in_(asked)))
    found = sql.execute(query.order_by(targets.c.name).with_for_update(read=True)).scalars()
    return set(asked) - set(found)


def unknown_target(name: str) -> InvalidInput:
    """Return the error that a timer names a target which the app does not have."""
    return InvalidInput(
        "target.name",
        f"the app has no target {name!r}",
        "make it first, with PUT /v1/targets/..., or name another one; GET /v1/targets lists them",
    )
