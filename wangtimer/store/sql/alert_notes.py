"""Notes for the judge of alerts, written with the outcomes that they are of."""

from collections.abc import Sequence
from functools import cache

from sqlalchemy import Connection
from sqlalchemy.engine import Dialect

from wangtimer.core.flow.outcome import Outcome
from wangtimer.store.sql.many_rows import ManyRows, Texts, insert_ignore, number, rows_to_come
from wangtimer.store.sql.tables import ERROR_CHARACTERS, alert_notes

_NAMES = tuple(column.name for column in alert_notes.c)


def note_outcomes(sql: Connection, outcomes: Sequence[Outcome]) -> None:
    """Note those of these outcomes that the judge is to see; no statement where there is none.

    Call it in the transaction that wrote them. Repeating it is harmless: the judge looks at the firing's row too.
    """
    marked = [outcome for outcome in outcomes if outcome.is_noted]
    if marked:
        _inserting(sql.dialect).run(sql, marked, _written)


@cache
def _inserting(dialect: Dialect) -> ManyRows:
    inserting = insert_ignore(alert_notes)
    return ManyRows(inserting.from_select(_NAMES, rows_to_come(), include_defaults=False), dialect)


def _written(one: Outcome, texts: Texts) -> str:
    timer_id, fire_at, attempt = one.member
    return (
        f"({number(fire_at)},{number(timer_id)},{number(attempt)},'{one.status.value}',{number(one.lateness_ms)},"
        f"{number(one.http_status)},{texts.write(one.error[:ERROR_CHARACTERS])})"
    )
