"""The planning marks of many timers, moved together."""

from collections.abc import Sequence

from sqlalchemy import Connection

from wangtimer.core.flow.planning import Plan
from wangtimer.store.sql.many_rows import number

# Timers one UPDATE moves: each row searches its own marks among those of all.
TIMERS_A_STATEMENT = 200


def move_marks(sql: Connection, plans: Sequence[Plan], and_set: str = "") -> None:
    """Write the plans' marks into their timers' rows, equal or not; `and_set` holds assignments for all of them.

    One-shots all have different marks: one statement a timer would cost 0.2 ms each.
    """
    for start in range(0, len(plans), TIMERS_A_STATEMENT):
        _move(sql, plans[start : start + TIMERS_A_STATEMENT], and_set)


def _move(sql: Connection, plans: Sequence[Plan], and_set: str) -> None:
    """Move one statement's marks; its text holds only numbers and words of this program."""
    hint = "" if sql.dialect.name == "sqlite" else "FORCE INDEX (PRIMARY) "
    ids = ",".join(f"{a_plan.timer.id:d}" for a_plan in plans)
    until = " ".join(f"WHEN {a_plan.timer.id:d} THEN {a_plan.planned_until:d}" for a_plan in plans)
    plan_by = " ".join(f"WHEN {a_plan.timer.id:d} THEN {number(a_plan.plan_by)}" for a_plan in plans)
    following = " ".join(f"WHEN {a_plan.timer.id:d} THEN {number(a_plan.next_fire_at)}" for a_plan in plans)
    sql.exec_driver_sql(
        f"UPDATE timer {hint}SET {and_set}planned_until = CASE id {until} END, "
        f"next_fire_at = CASE id {following} END, plan_by = CASE id {plan_by} END WHERE id IN ({ids})"
    )
