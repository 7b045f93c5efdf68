"""The ways out of all apps in SQL: what operators set, and apps' certificates."""

import hashlib

import orjson
from sqlalchemy import select

from wangtimer.core.egress.way_out import WayOut, WaysOut
from wangtimer.store.sql.apps import egress_of
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import apps, client_certificates

_SET = select(apps.c.name, apps.c.egress).where(apps.c.egress.is_not(None)).order_by(apps.c.name)
_VERSIONS = select(client_certificates.c.app, client_certificates.c.version).order_by(
    client_certificates.c.app
)
_CERTIFICATES = select(
    client_certificates.c.app, client_certificates.c.chain, client_certificates.c.sealed_key
).order_by(client_certificates.c.app)


class WaysOutInSql:
    """Reads them; every method raises `StoreAway`."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
