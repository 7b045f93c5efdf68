"""API keys in SQL: their fingerprints, never the keys themselves."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, func, insert, or_, select, update

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.apps.stored_key import StoredKey
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.statements import by_index, readable_page
from wangtimer.store.sql.tables import api_keys, apps

# ms; the last use of a key is written this often at most.
NOTED_EVERY_MS = 60_000


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key, and whether its app is disabled."""

    key: StoredKey
    is_of_disabled_app: bool


class ApiKeyStore(SqlStore):
    """The keys of apps and of operators."""

    def add(self, key: StoredKey) -> None:
        """Store a new key."""
        row = {
            "id": key.id,
            "app": key.app,
            "name": key.name,
            "fingerprint": key.fingerprint,
            "scopes": " ".join(sorted(key.scopes)),
            "created_at": key.created_at,
            "expires_at": key.expires_at,
        }

        def work(sql: Connection) -> None:
            sql.execute(insert(api_keys).values(row))
            note_changes(sql, key.created_at, [_noted(Action.CREATE, key)])

        self._database.write(work)

    def find(self, key_id: str) -> FoundKey | None:
        """Return the key of this id; None where there is none."""
        query = (
            select(api_keys, apps.c.disabled_at)
            .select_from(api_keys.outerjoin(apps, apps.c.name == api_keys.c.app))
            .where(api_keys.c.id == key_id)
        )
        row = self._database.read_current(lambda sql: sql.execute(query).mappings().one_or_none())
        return None if row is None else FoundKey(_key_of(row), row["disabled_at"] is not None)

    def page(self, app: str | None, limit: int, after_id: str = "") -> list[StoredKey]:
        """Return up to `limit` keys of an app by id, from behind an id; `app` None: the operators' keys."""
        query, key = select(api_keys).where(_is_of(app)), [api_keys.c.id]
        return readable_page(self._database, query, key, [after_id], limit, lambda row: _key_of(row._mapping))

    def revoke(self, app: str | None, key_id: str, now: int) -> StoredKey | None:
        """End a key for good and return it; None where the app has none of this id. Twice has the effect of once."""

        def work(sql: Connection) -> StoredKey | None:
            its = and_(_is_of(app), api_keys.c.id == key_id)
            ending = update(api_keys).where(its, api_keys.c.revoked_at.is_(None)).values(revoked_at=now)
            is_ended = bool(sql.execute(ending).rowcount)
            row = sql.execute(select(api_keys).where(its)).mappings().one_or_none()
            key = None if row is None else _key_of(row)
            if is_ended and key is not None:
                note_changes(sql, now, [_noted(Action.REVOKE, key)])
            return key

        return self._database.write(work)

    def ending(self, first: int, before: int, limit: int) -> list[StoredKey]:
        """Return up to `limit` keys that end from `first` to under `before` (ms UTC), soonest first.

        Revoked ones are absent.
        """
        expires_at = api_keys.c.expires_at
        query = select(api_keys).where(
            expires_at >= first, expires_at < before, api_keys.c.revoked_at.is_(None)
        )
        query = by_index(query, "api_key_expires", api_keys).order_by(expires_at).limit(limit)
        rows = self._mappings(query)
        return [_key_of(row) for row in rows]

    def has_any(self) -> bool:
        """Tell whether there is a key at all."""
        query = select(api_keys.c.id).limit(1)
        return self._database.read(lambda sql: sql.execute(query).first() is not None)

    def note_uses(self, used_at: Mapping[str, int]) -> None:
        """Note by key id when keys were used, unless that was noted within the last minute."""
        last = api_keys.c.last_used_at

        def work(sql: Connection) -> None:
            for key_id, at in sorted(used_at.items()):
                is_old = or_(last.is_(None), last <= at - NOTED_EVERY_MS)
                sql.execute(update(api_keys).where(api_keys.c.id == key_id, is_old).values(last_used_at=at))

        self._database.write(work)


def _noted(action: Action, key: StoredKey) -> AuditedChange:
    return AuditedChange(action, AuditedKind.KEY, key.id, key.app, key.name)


def _is_of(app: str | None) -> ColumnElement[bool]:
    if app is None:
        return api_keys.c.app.is_(None)
    # MariaDB ignores trailing spaces when it compares.
    return and_(api_keys.c.app == app, func.char_length(api_keys.c.app) == len(app))


def _key_of(row: RowMapping) -> StoredKey:
    """Return the key of a row. A scope of a newer version is left out: this version has no operation for it."""
    known = {scope.value for scope in Scope}
    return StoredKey(
        row["id"],
        row["app"],
        row["name"],
        row["fingerprint"],
        frozenset(Scope(word) for word in row["scopes"].split() if word in known),
        row["created_at"],
        row["expires_at"],
        row["revoked_at"],
        row["last_used_at"],
    )
