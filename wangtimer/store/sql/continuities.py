"""What became of the firings before one, in SQL: of numbered timers."""

from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import Connection

from wangtimer.core.flow.continuity import MOST_LOST, Continuity
from wangtimer.core.flow.firing import WITHDRAWN, Firing, FiringKind, FiringStatus, MemberKey
from wangtimer.store.sql.database import Database

# Nearly always one of the last few has succeeded. Only where none has, so many as count are read.
FEW = 10
# Firings that one statement looks behind: so it reads a thousand rows, or ten thousand, whatever stands there.
FIRINGS_A_STATEMENT = 100
FIRINGS_A_LONG_STATEMENT = 10
_SUCCEEDED, _LOST, _OTHER = 1, 2, 0
# How long a batch may look far back: while a target is away, all calls to it ask for that. The others tell what was
# lost of the last few.
LOOKS_BACK_S = 0.5


class ContinuityStore:
    """Every method raises `StoreAway`. `monotonic` is the stop-watch, s."""

    def __init__(self, database: Database, monotonic: Callable[[], float]) -> None:
        self._database = database
        self._monotonic = monotonic

    def before(self, rows: Sequence[Firing]) -> dict[MemberKey, Continuity]:
        """Return what is to be told of each of these firings that has a number, by timer and moment.

        Only what came before a firing's own moment counts. It is read from the index of one timer's history: the last
        few firings of each, and up to `MOST_LOST` where none of those succeeded.
        """
        numbered = [row for row in rows if row.seq is not None]
        found: dict[MemberKey, Continuity] = {}
        deeper: list[Firing] = []
        for part in _parts(numbered, FIRINGS_A_STATEMENT):
            for row, (told, looked_at) in self._read(part, FEW):
                found[row.member.key] = told
                if told.last_success_at is None and looked_at == FEW:
                    deeper.append(row)
        began = self._monotonic() if deeper else 0.0
        for part in _parts(deeper, FIRINGS_A_LONG_STATEMENT):
            if self._monotonic() - began > LOOKS_BACK_S:
                # The last few had no success: at least what was lost of those is.
                found |= {row.member.key: found[row.member.key].at_least() for row in part}
            else:
                found |= {row.member.key: told for row, (told, _) in self._read(part, MOST_LOST)}
        return found

    def _read(self, part: Sequence[Firing], depth: int) -> list[tuple[Firing, tuple[Continuity, int]]]:
        """Return what the last `depth` firings before each tell, and how many there are."""

        def work(sql: Connection) -> list[list[tuple[int, int]]]:
            before: list[list[tuple[int, int]]] = [[] for _ in part]
            for place, fire_at, became in sql.exec_driver_sql(_statement(sql, part, depth)):
                before[place].append((fire_at, became))
            return before

        return [
            (row, (_told(row, sorted(before, reverse=True)), len(before)))
            for row, before in zip(part, self._database.read(work), strict=True)
        ]


def _told(row: Firing, before: Iterable[tuple[int, int]]) -> Continuity:
    """Sum up what became of the firings before one, latest first."""
    lost = 0
    for fire_at, became in before:
        if became == _SUCCEEDED:
            return Continuity(row.seq, fire_at, lost)
        lost += became == _LOST
    return Continuity(row.seq, None, lost)


def _parts(rows: Sequence[Firing], most: int) -> list[Sequence[Firing]]:
    return [rows[start : start + most] for start in range(0, len(rows), most)]


def _statement(sql: Connection, part: Sequence[Firing], depth: int) -> str:
    """Write one statement for all, of our own words, bounded by rows read: a backfill may stand before a firing."""
    hint = "" if sql.dialect.name == "sqlite" else "FORCE INDEX (firing_of_timer) "
    withdrawn = ", ".join(f"'{error}'" for error in WITHDRAWN)
    # A replay makes a firing one that somebody asked for; its number tells that it was planned.
    asked_for = f"kind <> '{FiringKind.SCHEDULED.value}' AND seq IS NULL"
    skipped = f"status = '{FiringStatus.SKIPPED.value}' AND error NOT IN ({withdrawn})"
    became = (
        f"CASE WHEN {asked_for} THEN {_OTHER}"
        f" WHEN status = '{FiringStatus.SUCCEEDED.value}' THEN {_SUCCEEDED}"
        f" WHEN status = '{FiringStatus.FAILED.value}' OR ({skipped}) THEN {_LOST} ELSE {_OTHER} END"
    )
    return " UNION ALL ".join(
        f"SELECT * FROM (SELECT {place:d} AS place, fire_at, {became} AS became FROM firing {hint}"
        f"WHERE timer_id = {row.timer_id:d} AND fire_at < {row.fire_at:d}"
        f" ORDER BY fire_at DESC LIMIT {depth:d}) AS before_{place:d}"
        for place, row in enumerate(part)
    )
