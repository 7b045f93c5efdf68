"""What became of the firings before one, in SQL: of numbered timers."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from wangtimer.core.flow.continuity import MOST_LOST, Continuity
from wangtimer.core.flow.firing import WITHDRAWN, Firing, FiringKind, FiringStatus, MemberKey
from wangtimer.store.sql.database import Database

# Firings that one statement looks behind: SQLite joins 500 queries at most.
FIRINGS_A_STATEMENT = 100
# Nearly always one of the last few has succeeded. Only where none has, all that count are read.
FEW = 10
_SUCCEEDED, _LOST, _OTHER = 1, 2, 0


class ContinuityStore:
    """Every method raises `StoreAway`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def before(self, rows: Sequence[Firing]) -> dict[MemberKey, Continuity]:
        """Return what is to be told of each of these firings, by timer and moment.

        Only what came before a firing's own moment counts. It is read from the index of one timer's history: the last
        few firings of each, and up to `MOST_LOST` where none of those succeeded.
        """

        def work(sql: Connection) -> dict[MemberKey, Continuity]:
            found = _read(sql, rows, FEW)
            deeper = [one for one in rows if one.member.key not in found]
            return found | _read(sql, deeper, MOST_LOST)

        return self._database.read(work) if rows else {}


def _read(sql: Connection, rows: Sequence[Firing], depth: int) -> dict[MemberKey, Continuity]:
    """Return what the last `depth` firings before each tell.

    Absent are those of which none succeeded, and there may be more, unless that is as deep as anybody looks.
    """
    found: dict[MemberKey, Continuity] = {}
    for start in range(0, len(rows), FIRINGS_A_STATEMENT):
        part = rows[start : start + FIRINGS_A_STATEMENT]
        before: list[list[tuple[int, int]]] = [[] for _ in part]
        for place, fire_at, became in sql.exec_driver_sql(_statement(sql, part, depth)):
            before[place].append((fire_at, became))
        for one, behind in zip(part, before, strict=True):
            told = _told(one, sorted(behind, reverse=True))
            if told.last_success_at is not None or len(behind) < depth or depth == MOST_LOST:
                found[one.member.key] = told
    return found


def _told(row: Firing, before: Iterable[tuple[int, int]]) -> Continuity:
    """Sum up what became of the firings before one, latest first."""
    lost = 0
    for fire_at, became in before:
        if became == _SUCCEEDED:
            return Continuity(row.seq, fire_at, lost)
        lost += became == _LOST
    return Continuity(row.seq, None, lost)


def _statement(sql: Connection, rows: Sequence[Firing], depth: int) -> str:
    """Write one statement for all; its text holds only numbers and words of this program."""
    hint = "" if sql.dialect.name == "sqlite" else "FORCE INDEX (firing_of_timer) "
    withdrawn = ", ".join(f"'{error}'" for error in WITHDRAWN)
    skipped = f"status = '{FiringStatus.SKIPPED.value}' AND error NOT IN ({withdrawn})"
    became = (
        f"CASE WHEN status = '{FiringStatus.SUCCEEDED.value}' THEN {_SUCCEEDED}"
        f" WHEN status = '{FiringStatus.FAILED.value}' OR ({skipped}) THEN {_LOST} ELSE {_OTHER} END"
    )
    # A replay makes a firing one that somebody asked for; its number tells that it was planned.
    planned = f"(kind = '{FiringKind.SCHEDULED.value}' OR seq IS NOT NULL)"
    return " UNION ALL ".join(
        f"SELECT * FROM (SELECT {place:d} AS place, fire_at, {became} AS became FROM firing {hint}"
        f"WHERE timer_id = {one.timer_id:d} AND fire_at < {one.fire_at:d} AND {planned}"
        f" ORDER BY fire_at DESC LIMIT {depth:d}) AS before_{place:d}"
        for place, one in enumerate(rows)
    )
