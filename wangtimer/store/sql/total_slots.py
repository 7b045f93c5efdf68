"""An app's total, divided over slots, so that transactions which change it do not wait for each other.

A transaction changes the slot of its connection, and no slot grows beyond its share of the limit: so the slots together
never do. A slot that has used up its share gets a new one when all slots are locked and divided anew. The fewer timers
are left to the limit, the more often that is.
"""

from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, insert, select, update

from wangtimer.store.app_total import UNBOUNDED, Total, together
from wangtimer.store.sql.keyset import by_index, update_by_index
from wangtimer.store.sql.tables import app_totals, apps

# As many connections change timers of one app without a wait, if each has a slot of its own.
SLOTS = 16
# No limit: slots that are divided by it are divided anew by the next that grows.
NOT_DIVIDED = Total(-1, -1, -1)

# The columns of what is counted, each with that of its limit.
_LIMIT_OF = {"timers": "most_timers", "firings_a_day": "most_firings", "bytes": "most_bytes"}
_OF_APP = app_totals.c.app == bindparam("of_app")
_MOVED = {name: app_totals.c[name] + bindparam(f"more_{name}") for name in _LIMIT_OF}
_MOVE = update(app_totals).where(_OF_APP, app_totals.c.slot == bindparam("of_slot")).values(_MOVED)
_MOVE_WITHIN = _MOVE.where(
    # A share of another limit says nothing about this one.
    *(app_totals.c[limit] == bindparam(f"limit_{name}") for name, limit in _LIMIT_OF.items()),
    *(moved <= bindparam(f"share_{name}") for name, moved in _MOVED.items()),
)
_OF_ALL = select(*(app_totals.c[name] for name in _LIMIT_OF)).where(_OF_APP)
_LOCK = by_index(_OF_ALL, "PRIMARY", app_totals).order_by(app_totals.c.slot).with_for_update()


def _divided(name: str) -> Any:
    is_larger = app_totals.c.slot < bindparam(f"larger_{name}")
    return bindparam(f"each_{name}") + case((is_larger, 1), else_=0)


_DIVIDE = update_by_index(
    update(app_totals)
    .where(_OF_APP)
    .values(
        {name: _divided(name) for name in _LIMIT_OF}
        | {limit: bindparam(f"limit_{name}") for name, limit in _LIMIT_OF.items()}
    ),
    "PRIMARY",
)


def move(sql: Connection, app: str, by: Total) -> None:
    """Change an app's total, whatever it may be; without effect where it is not counted."""
    sql.execute(_MOVE, _moved(sql, app, by))


def move_within(sql: Connection, app: str, by: Total, most: Total) -> bool:
    """Change an app's total, if its connection's slot has room for it; tell whether it had."""
    moved = _moved(sql, app, by)
    slot = moved["of_slot"]
    shares = {
        f"share_{name}": _share(getattr(most, name), slot) if getattr(by, name) > 0 else UNBOUNDED
        for name in _LIMIT_OF
    }
    return bool(sql.execute(_MOVE_WITHIN, moved | _named("limit", most) | shares).rowcount)


def locked(sql: Connection, app: str) -> Total | None:
    """Return an app's total, all of its slots locked until the transaction ends; None: it is not counted."""
    rows = sql.execute(_LOCK, {"of_app": app}).all()
    return together(Total(*row) for row in rows) if len(rows) == SLOTS else None


def divide(sql: Connection, app: str, total: Total, most: Total) -> None:
    """Divide a total evenly over an app's slots, which are locked. If it is within the limit `most`, each slot is."""
    values = _named("limit", most)
    for name in _LIMIT_OF:
        values[f"each_{name}"], values[f"larger_{name}"] = divmod(getattr(total, name), SLOTS)
    sql.execute(_DIVIDE, {"of_app": app} | values)


def add_slots(sql: Connection, app: str) -> None:
    """Give an app the slots it lacks; its row must be locked."""
    there = set(sql.execute(select(app_totals.c.slot).where(app_totals.c.app == app)).scalars())
    missing = [{"app": app, "slot": slot} for slot in range(SLOTS) if slot not in there]
    if missing:
        sql.execute(insert(app_totals), missing)


def forget_total(sql: Connection, app: str) -> None:
    """Forget an app's total: it is counted before a limit counts again."""
    sql.execute(update(apps).where(apps.c.name == app).values(counted_at=0))
    sql.execute(delete(app_totals).where(app_totals.c.app == app))


def _moved(sql: Connection, app: str, by: Total) -> dict[str, Any]:
    return {"of_app": app, "of_slot": _slot_of(sql)} | _named("more", by)


def _named(prefix: str, total: Total) -> dict[str, Any]:
    return {f"{prefix}_{name}": getattr(total, name) for name in _LIMIT_OF}


def _slot_of(sql: Connection) -> int:
    """Return the slot of a connection: the server numbers them, and those of one pool mostly one after the other."""
    driver: Any = sql.connection.dbapi_connection
    # SQLite has one writer at a time.
    return driver.thread_id() % SLOTS if hasattr(driver, "thread_id") else 0


def _share(most: int, slot: int) -> int:
    """Return how much of a limit a slot has: those of all slots are together the limit."""
    each, larger = divmod(most, SLOTS)
    return each + (slot < larger)
