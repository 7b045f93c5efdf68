"""What planning writes into many timers at once: how far each is planned, and the last number of its firings."""

from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, select

from wangtimer.core.flow.firing import TO_BE_NUMBERED, Firing
from wangtimer.core.flow.planning import Plan
from wangtimer.store.sql.statements import RowKey, by_index, number
from wangtimer.store.sql.tables import timers

# Timers one UPDATE changes: each row searches its own values among those of all.
TIMERS_A_STATEMENT = 200


def move_marks(sql: Connection, plans: Sequence[Plan], and_set: str = "") -> None:
    """Write the plans' marks, one statement for all (0.2 ms each otherwise); `and_set` has assignments for all."""
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


def number_missing(sql: Connection, planned: Sequence[Firing], held: Collection[RowKey]) -> list[Firing]:
    """Return the planned firings, sorted by key, that have no row in `held`, with the next numbers of their timers.

    Those that need no number are all returned, as they are. The timers' rows are locked until the transaction ends,
    so no other one gives these numbers; if this one is undone, they were not given.
    """
    missing = [
        firing
        for firing in planned
        if firing.seq != TO_BE_NUMBERED or (firing.fire_at, firing.timer_id) not in held
    ]
    numbers = Counter(firing.timer_id for firing in missing if firing.seq == TO_BE_NUMBERED)
    following = _count_on(sql, numbers)
    numbered = []
    for firing in missing:
        if firing.seq == TO_BE_NUMBERED:
            following[firing.timer_id] += 1
            firing = firing._replace(seq=following[firing.timer_id])  # noqa: PLW2901
        numbered.append(firing)
    return numbered


def _count_on(sql: Connection, numbers: Counter[int]) -> dict[int, int]:
    """Take so many numbers of each timer; return the last one of each before these."""
    before: dict[int, int] = {}
    ids = sorted(numbers)
    for start in range(0, len(ids), TIMERS_A_STATEMENT):
        part = ids[start : start + TIMERS_A_STATEMENT]
        hint = "" if sql.dialect.name == "sqlite" else "FORCE INDEX (PRIMARY) "
        cases = " ".join(f"WHEN {timer_id:d} THEN {numbers[timer_id]:d}" for timer_id in part)
        sql.exec_driver_sql(
            f"UPDATE timer {hint}SET planned_seq = planned_seq + CASE id {cases} END"
            f" WHERE id IN ({','.join(f'{timer_id:d}' for timer_id in part)})"
        )
        counted = select(timers.c.id, timers.c.planned_seq).where(timers.c.id.in_(part))
        rows = sql.execute(by_index(counted, "PRIMARY", timers))
        before |= {row.id: row.planned_seq - numbers[row.id] for row in rows}
    return before
