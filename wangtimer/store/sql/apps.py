"""Apps and their API keys in SQL: the keys' fingerprints, never the keys themselves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import orjson
import structlog
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.apps.described_limits import COUNTED_LIMITS
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.apps.stored_key import StoredKey
from wangtimer.core.egress.way_out import STRICTEST, AppEgress
from wangtimer.core.errors import Conflict, Subject
from wangtimer.core.retry import RetryPolicy, changed_policy, readable_policies
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.statements import by_index, readable_page
from wangtimer.store.sql.tables import api_keys, app_totals, apps
from wangtimer.store.sql.while_unchanged import while_unchanged

log = structlog.get_logger()

# Names read to find the one that was meant.
MOST_NAMES = 5_000
# No queue has this name.
AS_IT_WAS = ""
# No app keeps its dead letters for so long.
DAYS_AS_BEFORE = -1
# A policy of which nothing is asked.
AS_BEFORE: Mapping[str, Any] = MappingProxyType({})


class AppStore(SqlStore):
    """The business services that an operator made, by name."""

    def create(
        self, name: str, limits: Mapping[str, float], now: int, queue: str | None = None
    ) -> RegisteredApp:
        """Make an app; raises `Conflict` where there is one of this name."""
        if not self.create_missing(name, limits, now, queue):
            raise Conflict(
                "name",
                f"there is an app {name!r}",
                "take another name, or PATCH that app",
                about=Subject.APP,
            )
        return RegisteredApp(name, now, now, None, dict(limits), queue=queue)

    def create_missing(
        self, name: str, limits: Mapping[str, float], now: int, queue: str | None = None
    ) -> bool:
        """Make an app unless there is one of this name; tell whether it was made."""
        row = {"name": name, "created_at": now, "updated_at": now, "limits": _text_of(limits), "queue": queue}

        def work(sql: Connection) -> None:
            sql.execute(insert(apps).values(row))
            note_changes(sql, now, [_noted(Action.CREATE, name)])

        try:
            self._database.write(work)
        except IntegrityError:
            return False
        return True

    def find(self, name: str) -> RegisteredApp | None:
        """Return the app of this name; None where there is none."""
        # MariaDB ignores trailing spaces when it compares.
        query = select(apps).where(apps.c.name == name, func.char_length(apps.c.name) == len(name))
        row = self._database.read_current(lambda sql: sql.execute(query).mappings().one_or_none())
        return None if row is None else _app_of(row)

    def page(self, limit: int, after: str = "") -> list[RegisteredApp]:
        """Return up to `limit` apps by name, from behind a name."""
        key = [apps.c.name]
        return readable_page(
            self._database, select(apps), key, [after], limit, lambda row: _app_of(row._mapping)
        )

    @while_unchanged
    def disabled(self) -> dict[str, int]:
        """Return by name when each disabled app was disabled (ms UTC)."""
        query = select(apps.c.name, apps.c.disabled_at).where(apps.c.disabled_at.is_not(None))
        return self._database.read_current(
            lambda sql: {row.name: row.disabled_at for row in sql.execute(query)}
        )

    @while_unchanged
    def queues(self) -> dict[str, str]:
        """Return by name the queue of each app that has one of its own."""
        query = select(apps.c.name, apps.c.queue).where(apps.c.queue.is_not(None))
        return self._database.read_current(lambda sql: {row.name: row.queue for row in sql.execute(query)})

    @while_unchanged
    def retries(self) -> dict[str, RetryPolicy]:
        """Return by name the retry policy of each app that has one; raises `StoreAway`."""
        query = select(apps.c.name, apps.c.retry).where(apps.c.retry.is_not(None))
        return readable_policies(
            self._database.read_current(lambda sql: {row.name: row.retry for row in sql.execute(query)})
        )

    def names(self) -> list[str]:
        """Return the names of the first apps, at most `MOST_NAMES`."""
        query = select(apps.c.name).order_by(apps.c.name).limit(MOST_NAMES)
        return self._database.read(lambda sql: list(sql.execute(query).scalars()))

    def change(
        self,
        name: str,
        now: int,
        limits: Mapping[str, float | None],
        is_disabled: bool | None = None,
        egress: Mapping[str, Any] | None = None,
        queue: str | None = AS_IT_WAS,
        retry: Mapping[str, Any] | None = AS_BEFORE,
        dead_letter_days: int | None = DAYS_AS_BEFORE,
    ) -> RegisteredApp | None:
        """Change an app and return it; None where there is none. Raises `InvalidInput`.

        `limits`, `egress` and `retry` have what is to be set, by its name; None takes it out. `is_disabled` None: as it
        was. `queue` None takes its own out, `retry` None the whole policy, `dead_letter_days` None the app's own.
        """

        def work(sql: Connection) -> RegisteredApp | None:
            row = sql.execute(select(apps).where(apps.c.name == name).with_for_update()).mappings()
            if (found := row.one_or_none()) is None:
                return None
            app = _app_of(found)
            merged = {key: value for key, value in {**app.limits, **limits}.items() if value is not None}
            disabled_at = app.disabled_at
            if is_disabled is not None:
                disabled_at = (disabled_at or now) if is_disabled else None
            way_out = app.egress.changed(egress) if egress else app.egress
            own = app.queue if queue == AS_IT_WAS else queue
            policy = app.retry
            if retry is not AS_BEFORE:
                policy = None if retry is None else changed_policy(app.retry, retry)
            days = app.dead_letter_days if dead_letter_days == DAYS_AS_BEFORE else dead_letter_days
            changed = RegisteredApp(
                app.name, app.created_at, now, disabled_at, merged, way_out, own, policy, days
            )
            values = {
                "updated_at": now,
                "disabled_at": disabled_at,
                "limits": _text_of(merged),
                "queue": own,
                "dead_letter_days": days,
            }
            if way_out != app.egress:
                values["egress"] = way_out.text
            if policy != app.retry:
                values["retry"] = None if policy is None else policy.text()
            sql.execute(update(apps).where(apps.c.name == name).values(values))
            if _bounded(app) != _bounded(changed):
                # Its total was not kept until now, or is kept no more.
                forget_total(sql, name)
            note_changes(sql, now, list(_differences(app, changed)))
            return changed

        return self._database.write(work)


def _differences(was: RegisteredApp, app: RegisteredApp) -> Iterator[AuditedChange]:
    names = sorted(was.limits.keys() | app.limits.keys())
    fields = tuple(f"limits.{name}" for name in names if was.limits.get(name) != app.limits.get(name))
    before, after = was.egress.fields, app.egress.fields
    fields += tuple(f"egress.{name}" for name in after if before[name] != after[name])
    pairs = (("queue", "queue"), ("retry", "retry"), ("deadLetterDays", "dead_letter_days"))
    fields += tuple(name for name, own in pairs if getattr(was, own) != getattr(app, own))
    old, new = _status(was), _status(app)
    if old != new:
        action = Action.EDIT if fields else Action.ENABLE if app.disabled_at is None else Action.DISABLE
        yield replace(_noted(action, app.name), fields=fields, old_status=old, new_status=new)
    elif fields:
        yield replace(_noted(Action.EDIT, app.name), fields=fields)


def _bounded(app: RegisteredApp) -> frozenset[str]:
    return COUNTED_LIMITS & app.limits.keys()


def _noted(action: Action, name: str) -> AuditedChange:
    return AuditedChange(action, AuditedKind.APP, name, name)


def _status(app: RegisteredApp) -> str:
    return "enabled" if app.disabled_at is None else "disabled"


def _text_of(limits: Mapping[str, float]) -> str | None:
    return orjson.dumps(dict(limits)).decode() if limits else None


def _app_of(row: RowMapping) -> RegisteredApp:
    limits = {} if row["limits"] is None else orjson.loads(row["limits"])
    return RegisteredApp(
        row["name"],
        row["created_at"],
        row["updated_at"],
        row["disabled_at"],
        limits,
        egress_of(row["name"], row["egress"]),
        row["queue"],
        readable_policies({row["name"]: row["retry"]}).get(row["name"]) if row["retry"] else None,
        row["dead_letter_days"],
    )


def egress_of(app: str, text: str | None) -> AppEgress:
    """Read what is set for an app's way out; the strictest where that cannot be read."""
    try:
        return AppEgress.from_text(text)
    except ValueError as error:
        log.error("egress_unread", app=app, error=repr(error))
        return STRICTEST


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
            note_changes(sql, key.created_at, [_noted_key(Action.CREATE, key)])

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
            is_it = and_(_is_of(app), api_keys.c.id == key_id)
            ending = update(api_keys).where(is_it, api_keys.c.revoked_at.is_(None)).values(revoked_at=now)
            is_ended = bool(sql.execute(ending).rowcount)
            row = sql.execute(select(api_keys).where(is_it)).mappings().one_or_none()
            key = None if row is None else _key_of(row)
            if is_ended and key is not None:
                note_changes(sql, now, [_noted_key(Action.REVOKE, key)])
            return key

        return self._database.write(work)

    def ending(self, first: int, before: int, limit: int) -> list[StoredKey]:
        """Return up to `limit` unrevoked keys that end from `first` to under `before` (ms UTC), soonest first."""
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


def _noted_key(action: Action, key: StoredKey) -> AuditedChange:
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


def forget_total(sql: Connection, app: str) -> None:
    """Forget an app's total: it is counted before a limit counts again."""
    sql.execute(update(apps).where(apps.c.name == app).values(counted_at=0))
    sql.execute(delete(app_totals).where(app_totals.c.app == app))
