"""The planning marks of many timers, moved together."""

from collections.abc import Sequence

from sqlalchemy import Connection

from wangtimer.core.flow.planning import Plan
from wangtimer.store.sql.many_rows import number

# Timers one UPDATE moves: each row looks its own marks up among all of them.
TIMERS_A_STATEMENT = 200


def move_marks(sql: Connection, plans: Sequence[Plan], and_set: str = "") -> None:
    """Give the plans' timers their marks, whether alike or not, and what `and_set` assigns to every one of them.

    A statement a timer would cost one-shots, none of which has another's marks, 0.2 ms each.
    """
    for start in range(0, len(plans), TIMERS_A_STATEMENT):
        _move(sql, plans[start : start + TIMERS_A_STATEMENT], and_set)


def _move(sql: Connection, plans: Sequence[Plan], and_set: str) -> None:
    """There is nothing in the statement but numbers and what this program wrote."""
    hint = "" if sql.dialect.name == "sqlite" else "FORCE INDEX (PRIMARY) "
    ids = ",".join(f"{a_plan.timer.id:d}" for a_plan in plans)
    until = " ".join(f"WHEN {a_plan.timer.id:d} THEN {a_plan.planned_until:d}" for a_plan in plans)
    plan_by = " ".join(f"WHEN {a_plan.timer.id:d} THEN {number(a_plan.plan_by)}" for a_plan in plans)
    following = " ".join(f"WHEN {a_plan.timer.id:d} THEN {number(a_plan.next_fire_at)}" for a_plan in plans)
    sql.exec_driver_sql(
        f"UPDATE timer {hint}SET {and_set}planned_until = CASE id {until} END, "
        f"next_fire_at = CASE id {following} END, plan_by = CASE id {plan_by} END WHERE id IN ({ids})"
    )
