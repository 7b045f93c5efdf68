"""The limits of calls in SQL: those that operators set for apps, and for target hosts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import structlog
from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.errors import Conflict
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.statements import readable_page
from wangtimer.store.sql.tables import SUBJECT_CHARACTERS, apps, host_limits
from wangtimer.store.sql.while_unchanged import while_unchanged

log = structlog.get_logger()


# Each callback process reads all of them every few seconds.
MOST_HOSTS = 10_000


@dataclass(frozen=True, slots=True)
class HostLimit:
    """What an operator set for a host and port, or for every other host (`ANY_HOST`); a figure None: no such limit."""

    host: str
    calls_per_second: int | None
    calls_at_once: int | None

    @property
    def of_calls(self) -> CallLimit:
        """The limit as callback processes know it."""
        per_second = None if self.calls_per_second is None else float(self.calls_per_second)
        return CallLimit(per_second, self.calls_at_once)


class HostLimitStore(SqlStore):
    """One row for each host that has a limit of its own."""

    def put(self, limit: HostLimit, now: int) -> None:
        """Set the limit of a host, in place of a former one; raises `Conflict` where there are too many."""

        def work(sql: Connection) -> None:
            was = _one(sql, limit.host)
            values = {
                "calls_per_second": limit.calls_per_second,
                "calls_at_once": limit.calls_at_once,
                "updated_at": now,
            }
            if was is None:
                if sql.execute(select(func.count()).select_from(host_limits)).scalar_one() >= MOST_HOSTS:
                    raise Conflict("host", f"{MOST_HOSTS} hosts are the most", "take out limits of some")
                sql.execute(insert(host_limits).values(host=limit.host, **values))
            else:
                sql.execute(update(host_limits).where(host_limits.c.host == limit.host).values(values))
            note_changes(sql, now, list(_differences(was, limit)))

        for is_last in (False, True):
            try:
                self._database.write(work)
            except IntegrityError:
                # Somebody else set one for this host meanwhile: the second time that one is replaced.
                if is_last:
                    raise
            else:
                return

    def remove(self, host: str, now: int) -> bool:
        """Take out the limit of a host; False where there is none."""

        def work(sql: Connection) -> bool:
            # Locked: a server that was demoted refuses that.
            was = _one(sql, host, locks=True)
            if was is None:
                return False
            sql.execute(delete(host_limits).where(host_limits.c.host == host))
            note_changes(sql, now, [_noted(Action.DELETE, host)])
            return True

        return self._database.write(work)

    def page(self, limit: int, after: str = "", may_be_stale: bool = True) -> list[HostLimit]:
        """Return up to `limit` limits by host, from behind a host."""
        return readable_page(
            self._database,
            select(host_limits),
            [host_limits.c.host],
            [after],
            limit,
            lambda row: _limit_of(row._mapping),
            may_be_stale=may_be_stale,
        )

    def of_calls(self) -> dict[str, CallLimit]:
        """Return all limits by host; raises `StoreAway`."""
        return {limit.host: limit.of_calls for limit in self.page(MOST_HOSTS, may_be_stale=False)}


def _one(sql: Connection, host: str, locks: bool = False) -> HostLimit | None:
    query = select(host_limits).where(host_limits.c.host == host)
    row = sql.execute(query.with_for_update() if locks else query).mappings().one_or_none()
    return None if row is None or row["host"] != host else _limit_of(row)


def _limit_of(row: RowMapping) -> HostLimit:
    return HostLimit(row["host"], row["calls_per_second"], row["calls_at_once"])


def _differences(was: HostLimit | None, limit: HostLimit) -> Iterator[AuditedChange]:
    fields = {"callsPerSecond": "calls_per_second", "callsAtOnce": "calls_at_once"}
    changed = tuple(
        name for name, field in fields.items() if getattr(was, field, None) != getattr(limit, field)
    )
    if changed:
        yield _noted(Action.CREATE if was is None else Action.EDIT, limit.host, changed)


def _noted(action: Action, host: str, fields: tuple[str, ...] = ()) -> AuditedChange:
    return AuditedChange(action, AuditedKind.HOST, host[:SUBJECT_CHARACTERS], None, fields=fields)


# Stands behind the names of limits of calls to one host.
TO_ONE_HOST = "ToOneHost"


class CallLimitSource:
    """Reads them; the limits of an app that cannot be read are none, and are logged."""

    def __init__(self, database: Database, host_limits: HostLimitStore) -> None:
        self._database = database
        self._hosts = host_limits

    @while_unchanged
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
