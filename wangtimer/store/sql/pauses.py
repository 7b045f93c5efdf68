"""What operators paused, in SQL."""

from sqlalchemy import Connection, RowMapping, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.errors import Conflict
from wangtimer.core.flow.pauses import EVERYTHING, MOST_PAUSES, Pause, Pauses
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.tables import SUBJECT_CHARACTERS, pauses
from wangtimer.store.sql.while_unchanged import while_unchanged


class PauseStore(SqlStore):
    """One row for each thing that is paused, by its name."""

    def add(self, pause: Pause) -> Pause:
        """Pause something; return its pause, or the first one. Raises `Conflict` where too many are paused."""
        row = {"name": pause.name, "app": pause.app, "since": pause.since, "reason": pause.reason}

        def work(sql: Connection) -> Pause:
            if (found := _one(sql, pause.name, locks=True)) is not None:
                return found
            if sql.execute(select(func.count()).select_from(pauses)).scalar_one() >= MOST_PAUSES:
                raise Conflict("pause", f"{MOST_PAUSES} pauses are the most", "end some of them")
            sql.execute(insert(pauses).values(row))
            note_changes(sql, pause.since, [_noted(Action.PAUSE, pause)])
            return pause

        try:
            return self._database.write(work)
        except IntegrityError:  # somebody else paused it meanwhile
            return self.find(pause.name) or pause

    def remove(self, name: str, now: int) -> Pause | None:
        """Let something go on and return its former pause; None where it is not paused."""

        def work(sql: Connection) -> Pause | None:
            found = _one(sql, name, locks=True)
            if found is not None:
                sql.execute(delete(pauses).where(pauses.c.name == name))
                note_changes(sql, now, [_noted(Action.RESUME, found)])
            return found

        return self._database.write(work)

    def find(self, name: str) -> Pause | None:
        """Return the pause of this name; None where there is none."""
        return self._database.read_current(lambda sql: _one(sql, name))

    def all(self) -> list[Pause]:
        """Return all pauses by name."""
        query = select(pauses).order_by(pauses.c.name)
        return self._database.read_current(
            lambda sql: [_pause_of(row) for row in sql.execute(query).mappings()]
        )

    def count(self) -> int:
        """Return how many there are."""
        query = select(func.count()).select_from(pauses)
        return self._database.read(lambda sql: int(sql.execute(query).scalar_one()))

    @while_unchanged
    def of_calls(self) -> Pauses:
        """Return what calls need to know of them; raises `StoreAway`."""
        return Pauses(frozenset(pause.name for pause in self.all()))


def _one(sql: Connection, name: str, locks: bool = False) -> Pause | None:
    """Return the pause of this name; one that is locked is of no server that was demoted, as that refuses the lock."""
    query = select(pauses).where(pauses.c.name == name)
    row = sql.execute(query.with_for_update() if locks else query).mappings().one_or_none()
    return None if row is None or row["name"] != name else _pause_of(row)


def _pause_of(row: RowMapping) -> Pause:
    return Pause(row["name"], row["since"], row["app"], row["reason"])


def _noted(action: Action, pause: Pause) -> AuditedChange:
    kind, _, subject = pause.name.partition(":")
    return AuditedChange(action, AuditedKind(kind), (subject or EVERYTHING)[:SUBJECT_CHARACTERS], pause.app)
