"""The limits of calls in SQL: those that operators set for apps, and for target hosts."""

from typing import Any

import orjson
import structlog
from sqlalchemy import select

from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.host_limits import HostLimitStore
from wangtimer.store.sql.tables import apps

# Stands behind the names of limits of calls to one host.
TO_ONE_HOST = "ToOneHost"

log = structlog.get_logger()


class CallLimitSource:
    """Reads them; the limits of an app that cannot be read are none, and are logged."""

    def __init__(self, database: Database, hosts: HostLimitStore) -> None:
        self._database = database
        self._hosts = hosts

    def all(self) -> CallLimits:
        """Return them; raises `StoreAway`."""
        query = select(apps.c.name, apps.c.limits).where(apps.c.limits.is_not(None))
        set_for: dict[str, Any] = {}
        for app, text in self._database.read_current(lambda sql: sql.execute(query).all()):
            try:
                limits = orjson.loads(text)
                set_for[app] = CallLimit.of_limits(limits), CallLimit.of_limits(limits, TO_ONE_HOST)
            except (AttributeError, TypeError, ValueError) as error:
                log.warning("limits_unread", app=app, error=repr(error))
        of_apps, to_one_host = (
            {app: both[place] for app, both in set_for.items() if both[place] is not None} for place in (0, 1)
        )
        return CallLimits(of_apps, self._hosts.of_calls(), to_one_host)
