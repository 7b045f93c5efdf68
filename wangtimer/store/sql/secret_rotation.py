"""Seals all secrets of timers anew under the first key, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from wangtimer.core.errors import UnopenedSecrets
from wangtimer.store.call_text import notify_of, notify_text
from wangtimer.store.seals import Seals
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.statements import by_index
from wangtimer.store.sql.tables import timers

PAGE = 500
_COLUMNS = (timers.c.id, timers.c.app, timers.c.notify)
_SEAL = update(timers).where(timers.c.id == bindparam("timer_id")).values(notify=bindparam("call"))


@dataclass(frozen=True, slots=True)
class RotatedPage:
    """The timers of a page whose rows were written anew, why others could not be, and the last id; None: the end."""

    changed: list[int]
    bad: dict[int, str]
    last_id: int | None


class SecretRotation(SqlStore):
    """Rows keep their version: no client sees a change. Repeating it changes nothing more."""

    def __init__(self, database: Database, seals: Seals) -> None:
        super().__init__(database)
        self._seals = seals

    def next_page(self, after_id: int) -> RotatedPage:
        """Seal what the next timers by id have under another key, or not sealed at all. Raises `StoreAway`."""
        query = by_index(select(*_COLUMNS).where(timers.c.id > after_id), "PRIMARY", timers)
        query = query.order_by(timers.c.id).limit(PAGE)
        rows = self._mappings(query)
        # Most rows have no secrets: only those that are to be written are locked and read again.
        stale, bad = self._stale(rows)
        changed = list[int]()
        if stale:
            changed, more = self._database.write(lambda sql: self._seal(sql, sorted(stale)))
            bad |= more
        return RotatedPage(changed, bad, rows[-1]["id"] if len(rows) == PAGE else None)

    def _seal(self, sql: Connection, ids: Sequence[int]) -> tuple[list[int], dict[int, str]]:
        query = by_index(select(*_COLUMNS).where(timers.c.id.in_(ids)), "PRIMARY", timers)
        rows = sql.execute(query.order_by(timers.c.id).with_for_update()).mappings().all()
        stale, bad = self._stale(rows)
        if stale:
            sql.execute(_SEAL, [{"timer_id": timer_id, "call": text} for timer_id, text in stale.items()])
        return list(stale), bad

    def _stale(self, rows: Sequence[Any]) -> tuple[dict[int, str], dict[int, str]]:
        """Return the new columns of the rows to be written, by id, and the reasons of those that cannot be read."""
        stale: dict[int, str] = {}
        bad: dict[int, str] = {}
        for row in rows:
            try:
                text = self._sealed_anew(row)
            except UnopenedSecrets as error:
                bad[row["id"]] = str(error)
            except Exception as error:
                bad[row["id"]] = f"the call of timer {row['id']} cannot be read: {type(error).__name__}"
            else:
                if text is not None:
                    stale[row["id"]] = text
        return stale, bad

    def _sealed_anew(self, row: Any) -> str | None:
        call = notify_of(row["notify"])
        if not self._seals.needs_sealing(call):
            return None
        whole = self._seals.open(call, row["app"], row["id"])
        return notify_text(self._seals.seal(whole, row["app"], row["id"]))
