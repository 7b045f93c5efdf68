"""Notes for the judge of alerts, written with the outcomes that they are of."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, func
from sqlalchemy.engine import Dialect

from wangtimer.core.alerts.noted_at import NotedAt
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.store.sql.many_rows import ManyRows, NewValues, Texts, number, upsert
from wangtimer.store.sql.tables import ERROR_CHARACTERS, alert_notes

_NAMES = tuple(column.name for column in alert_notes.c)
_KEY = tuple(column.name for column in alert_notes.primary_key)
_SAID = tuple(name for name in _NAMES if name not in _KEY)


def note_outcomes(sql: Connection, outcomes: Sequence[Outcome]) -> None:
    """Note those of these outcomes that the judge is to see; no statement where there is none.

    Call it in the transaction that wrote them. A later note of an attempt takes the place of an earlier one: what was
    accepted late may have failed before anybody judged it. It stays late. Repeating it is harmless: the judge looks at
    the firing's row too.
    """
    marked = [(outcome, at) for outcome in outcomes if (at := NotedAt.of(outcome)) is not None]
    if marked:
        _inserting(sql.dialect).run(sql, marked, _written)


@cache
def _inserting(dialect: Dialect) -> ManyRows:
    return upsert(alert_notes, _NAMES, dialect, _changes)


def _changes(new: NewValues) -> dict[str, Any]:
    lateness_ms = func.coalesce(new["lateness_ms"], alert_notes.c.lateness_ms)
    return {name: new[name] for name in _SAID} | {"lateness_ms": lateness_ms}


def _written(marked: tuple[Outcome, NotedAt], texts: Texts) -> str:
    one, (app, host, target, known_at, well_at) = marked
    timer_id, fire_at, attempt = one.member
    return (
        f"({texts.write(app)},{number(fire_at)},{number(timer_id)},{number(attempt)},'{one.status.value}',"
        f"{number(one.lateness_ms)},{number(one.http_status)},{texts.write(one.error[:ERROR_CHARACTERS])},"
        f"{texts.write(host[:LANE_CHARACTERS])},{texts.write(target)},{number(known_at)},{number(well_at)})"
    )
