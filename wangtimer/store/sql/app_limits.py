"""The limits of all apps in SQL, as far as they are of calls."""

import orjson
import structlog
from sqlalchemy import select

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import apps

# Stands behind the names of limits of calls to one host.
TO_ONE_HOST = "ToOneHost"

log = structlog.get_logger()


class AppLimits:
    """Reads what operators set; a row that cannot be read has no limit, and is logged."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_calls(self) -> dict[str, CallLimit]:
        """Return the limit of each app that has one; raises `StoreAway`."""
        return self._limits("")

    def of_calls_to_one_host(self) -> dict[str, CallLimit]:
        """Return the limit of each app's calls to one host; raises `StoreAway`."""
        return self._limits(TO_ONE_HOST)

    def _limits(self, of: str) -> dict[str, CallLimit]:
        query = select(apps.c.name, apps.c.limits).where(apps.c.limits.is_not(None))
        rows = self._database.read(lambda sql: sql.execute(query).all())
        limits = {}
        for app, text in rows:
            try:
                limit = CallLimit.of_limits(orjson.loads(text), of)
            except (AttributeError, TypeError, ValueError) as error:
                log.warning("limits_unread", app=app, error=repr(error))
                continue
            if limit is not None:
                limits[app] = limit
        return limits
