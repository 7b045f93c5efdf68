"""The ways out of apps in SQL: what operators set, and the certificates that apps' callbacks show; and their mark."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson
from sqlalchemy import Connection, delete, select, update
from sqlalchemy.sql.dml import Update

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.egress.way_out import WAYS_OUT, WAYS_OUT_MARK, WayOut, WaysOut
from wangtimer.core.time.clock import Clock
from wangtimer.store.replica import Replica, ReplicaTexts
from wangtimer.store.seals import Seals
from wangtimer.store.sql.apps import egress_of
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.statements import by_index, insert_ignore
from wangtimer.store.sql.tables import apps, client_certificates
from wangtimer.store.sql.while_unchanged import while_unchanged


@dataclass(frozen=True, slots=True)
class EndingCertificate:
    """An app's certificate, and when it expires (ms UTC)."""

    app: str
    expires_at: int


class ClientCertificates:
    """One row an app that has one. The private key is sealed, bound to its app; no method returns it."""

    def __init__(self, database: Database, seals: Seals) -> None:
        self._database = database
        self._seals = seals

    def chain_of(self, app: str) -> str | None:
        """Return an app's certificate (PEM); None where it has none. Raises `StoreAway`."""
        query = select(client_certificates.c.chain).where(client_certificates.c.app == app)
        return self._database.read(lambda sql: sql.execute(query).scalar_one_or_none())

    def put(self, app: str, chain: str, key: str, expires_at: int, now: int) -> None:
        """Give an app this certificate and key in place of its own; sealing needs a key. Raises `StoreAway`."""
        values = {"chain": chain, "sealed_key": seal_key(self._seals, key, app), "expires_at": expires_at}

        def work(sql: Connection) -> None:
            version = self._version(sql, app)
            if version is not None:
                sql.execute(self._updating(app).values(version=max(version + 1, now), **values))
            elif not sql.execute(
                insert_ignore(client_certificates).values(app=app, version=now, **values)
            ).rowcount:
                # Somebody put one in between.
                work(sql)
                return
            note_changes(sql, now, [_noted(Action.CREATE if version is None else Action.EDIT, app)])

        self._database.write(work)

    def remove(self, app: str, now: int) -> None:
        """Take an app's certificate away, if it has one; raises `StoreAway`."""

        def work(sql: Connection) -> None:
            if sql.execute(delete(client_certificates).where(client_certificates.c.app == app)).rowcount:
                note_changes(sql, now, [_noted(Action.DELETE, app)])

        self._database.write(work)

    def ending(self, before: int, limit: int) -> list[EndingCertificate]:
        """Return the certificates that expire before this (ms UTC), soonest first; raises `StoreAway`."""
        columns = client_certificates.c
        query = select(columns.app, columns.expires_at).where(columns.expires_at < before)
        found = by_index(query, "client_certificate_expires", client_certificates)
        query = found.order_by(columns.expires_at, columns.app).limit(limit)
        return self._database.read(lambda sql: [EndingCertificate(*row) for row in sql.execute(query)])

    def seal_anew(self, app: str) -> bool:
        """Seal an app's key under the first key; tell whether it was not. Raises `StoreAway`, ValueError (no key)."""

        def work(sql: Connection) -> bool:
            query = select(client_certificates.c.sealed_key, client_certificates.c.version)
            row = sql.execute(query.where(client_certificates.c.app == app).with_for_update()).one_or_none()
            if row is None or self._seals.is_newest(row.sealed_key):
                return False
            sealed = seal_key(self._seals, open_key(self._seals, row.sealed_key, app), app)
            sql.execute(self._updating(app).values(sealed_key=sealed, version=row.version + 1))
            return True

        return self._database.write(work)

    def apps_behind(self, app: str, limit: int) -> Sequence[str]:
        """Return a page of the apps that have a certificate, by name, from behind one."""
        query = select(client_certificates.c.app).where(client_certificates.c.app > app)
        query = query.order_by(client_certificates.c.app).limit(limit)
        return self._database.read(lambda sql: sql.execute(query).scalars().all())

    def _version(self, sql: Connection, app: str) -> int | None:
        query = select(client_certificates.c.version).where(client_certificates.c.app == app)
        return sql.execute(query.with_for_update()).scalar_one_or_none()

    def _updating(self, app: str) -> Update:
        return update(client_certificates).where(client_certificates.c.app == app)


def seal_key(seals: Seals, key: str, app: str) -> str:
    """Return the sealed text of a private key (PEM)."""
    return seals.seal_bytes(key.encode(), _bound_to(app))


def open_key(seals: Seals, sealed: str, app: str) -> str:
    """Return the private key of a sealed text; raises ValueError, which tells nothing of the key."""
    return seals.open_bytes(sealed, _bound_to(app)).decode()


def _bound_to(app: str) -> bytes:
    return f"client certificate\n{app}".encode()


def _noted(action: Action, app: str) -> AuditedChange:
    return AuditedChange(action, AuditedKind.CERTIFICATE, app, app)


_SET = select(apps.c.name, apps.c.egress).where(apps.c.egress.is_not(None)).order_by(apps.c.name)
_VERSIONS = select(client_certificates.c.app, client_certificates.c.version).order_by(
    client_certificates.c.app
)
_CERTIFICATES = select(
    client_certificates.c.app, client_certificates.c.chain, client_certificates.c.sealed_key
).order_by(client_certificates.c.app)


class WaysOutInSql(SqlStore):
    """Reads them; every method raises `StoreAway`."""

    @while_unchanged
    def mark(self) -> str:
        """Return what changes with each of them; certificates are not read for it."""
        state = self._database.read_current(
            lambda sql: [[list(row) for row in sql.execute(query)] for query in (_SET, _VERSIONS)]
        )
        return hashlib.sha256(orjson.dumps(state)).hexdigest()

    def read(self) -> WaysOut:
        """Return all of them with the mark that they had before."""
        return WaysOut(self.mark(), self.all())

    def all(self) -> dict[str, WayOut]:
        """Return that of each app that has one."""
        set_, certificates = self._database.read_current(
            lambda sql: (sql.execute(_SET).all(), sql.execute(_CERTIFICATES).all())
        )
        ways = {row.name: WayOut(egress_of(row.name, row.egress)) for row in set_}
        for row in certificates:
            ways[row.app] = WayOut(ways.get(row.app, WayOut()).egress, row.chain, row.sealed_key)
        return ways


class WaysOutMark(Replica[str]):
    """The mark of all ways out of apps, which changes with each: it is read often, they are read where it has changed.

    Is told with the ways out, which have a text of their own: with certificates in it, it is long.

    Who reads them sets `on_mark`, which is called with each mark that Redis has.
    """

    on_mark: Callable[[str], None] | None = None

    def __init__(self, ways_out_in_sql: WaysOutInSql, replica_texts: ReplicaTexts, clock: Clock) -> None:
        super().__init__(WAYS_OUT_MARK, ways_out_in_sql.mark, replica_texts, clock)
        self.of_apps = Replica(WAYS_OUT, ways_out_in_sql.read, replica_texts, clock)

    def write(self, value: str) -> None:
        """Write the mark behind the ways out: who finds a new one finds what it is of. Raises `StoreAway`."""
        self.of_apps.write(self.of_apps.in_sql())
        super().write(value)

    def learn(self, text: str | None, asked_at: float) -> None:
        """Tell of a mark; while Redis has none, SQL is not asked for one."""
        if text is not None:
            super().learn(text, asked_at)
            if self.on_mark is not None:
                self.on_mark(self.known)
