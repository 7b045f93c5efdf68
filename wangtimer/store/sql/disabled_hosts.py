"""The hosts that are disabled for apps, in SQL."""

from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.flow.disabled_hosts import MOST_DISABLED, MOST_OF_AN_APP, DisabledHost, HostKey
from wangtimer.core.messages.message_place import shown_host
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.tables import SUBJECT_CHARACTERS, disabled_hosts
from wangtimer.store.sql.while_unchanged import while_unchanged

# Some process may still remember the outage that an answer to another one ended.
REMEMBERED_MS = 30 * DAY_MS
_ENABLED = "enabled"
_DISABLED = "disabled"


class DisabledHostStore(SqlStore):
    """One row for each app and host; an enabled one stays for a while: its days count anew. Raises `StoreAway`."""

    def all(self, app: str | None = None) -> list[DisabledHost]:
        """Return the hosts that are disabled, of one app or of all, those first that fail for longest."""
        query = select(disabled_hosts).where(disabled_hosts.c.enabled_at.is_(None))
        if app is not None:
            query = query.where(disabled_hosts.c.app == app)
        ordered = query.order_by(disabled_hosts.c.since, disabled_hosts.c.app, disabled_hosts.c.origin)
        return self._database.read_current(
            lambda sql: [_host_of(row) for row in sql.execute(ordered).mappings()]
        )

    def count(self) -> int:
        """Return how many are disabled, counted for each app."""
        number = select(func.count()).select_from(disabled_hosts).where(disabled_hosts.c.enabled_at.is_(None))
        return self._database.read(lambda sql: int(sql.execute(number).scalar_one()))

    @while_unchanged
    def keys(self) -> frozenset[HostKey]:
        """Return what is disabled."""
        return frozenset(host.key for host in self.all())

    def disable(self, hosts: Sequence[DisabledHost], days_ms: int) -> list[DisabledHost]:
        """Disable hosts, and return those that were not disabled before.

        Left alone is one that has not failed for `days_ms` since it was enabled, and what would be more than
        `MOST_DISABLED`, or than `MOST_OF_AN_APP` of one app. What was enabled long ago is forgotten.
        """

        def work(sql: Connection) -> list[DisabledHost]:
            known = {(row["app"], row["origin"]): row for row in _rows(sql, [host.key for host in hosts])}
            before = hosts[0].disabled_at - days_ms - REMEMBERED_MS
            sql.execute(delete(disabled_hosts).where(disabled_hosts.c.enabled_at <= before))
            new = _within_room(sql, [host for host in hosts if _is_due(host, known.get(host.key), days_ms)])
            for host in new:
                sql.execute(delete(disabled_hosts).where(_is(host.key)))
                sql.execute(
                    insert(disabled_hosts).values(
                        app=host.app,
                        origin=host.origin,
                        since=host.since,
                        failed_at=host.failed_at,
                        disabled_at=host.disabled_at,
                        error=host.error,
                    )
                )
            if new:
                noted = [_noted(Action.DISABLE, host.key) for host in new]
                note_changes(sql, new[0].disabled_at, noted)
            return new

        try:
            return self._database.write(work, waits_for_locks=False) if hosts else []
        except IntegrityError:
            return []  # somebody else disabled one of them meanwhile

    def enable(self, app: str, origin: str, now: int) -> bool:
        """Enable a host by hand, so that its days count anew from `now` (ms UTC); False where it is not disabled."""

        def work(sql: Connection) -> bool:
            changed = sql.execute(
                update(disabled_hosts)
                .where(_is((app, origin)), disabled_hosts.c.enabled_at.is_(None))
                .values(enabled_at=now)
            ).rowcount
            if changed:
                note_changes(sql, now, [_noted(Action.ENABLE, (app, origin))])
            return bool(changed)

        return self._database.write(work)

    def answered(self, keys: Sequence[HostKey], now: int) -> int:
        """Enable hosts that answered a call; return how many of them were disabled."""

        def work(sql: Connection) -> int:
            found = [(row["app"], row["origin"]) for row in _rows(sql, keys) if row["enabled_at"] is None]
            if found:
                sql.execute(update(disabled_hosts).where(_among(found)).values(enabled_at=now))
                note_changes(sql, now, [_noted(Action.ENABLE, key) for key in found])
            return len(found)

        return self._database.write(work) if keys else 0


def _is(key: HostKey) -> ColumnElement[bool]:
    app, origin = key
    return and_(disabled_hosts.c.app == app, disabled_hosts.c.origin == origin)


def _among(keys: Iterable[HostKey]) -> ColumnElement[bool]:
    return or_(*map(_is, keys))


def _rows(sql: Connection, keys: Sequence[HostKey]) -> Sequence[RowMapping]:
    """Return the rows of these, which nobody else changes until the transaction ends."""
    return sql.execute(select(disabled_hosts).where(_among(keys)).with_for_update()).mappings().all()


def _within_room(sql: Connection, hosts: Iterable[DisabledHost]) -> list[DisabledHost]:
    """Return those for which there is room, in all and of their app, those first that fail for longest."""
    query = select(disabled_hosts.c.app, func.count()).where(disabled_hosts.c.enabled_at.is_(None))
    numbers: Counter[str] = Counter()
    for app, number in sql.execute(query.group_by(disabled_hosts.c.app)):
        numbers[app] = number
    taken = []
    for host in hosts:
        if numbers.total() < MOST_DISABLED and numbers[host.app] < MOST_OF_AN_APP:
            numbers[host.app] += 1
            taken.append(host)
    return taken


def _is_due(host: DisabledHost, row: RowMapping | None, days_ms: int) -> bool:
    if row is None:
        return True
    enabled_at = row["enabled_at"]
    return enabled_at is not None and host.failed_at - enabled_at >= days_ms


def _host_of(row: RowMapping) -> DisabledHost:
    return DisabledHost(
        row["app"], row["origin"], row["since"], row["failed_at"], row["disabled_at"], row["error"]
    )


def _noted(action: Action, key: HostKey) -> AuditedChange:
    app, origin = key
    was, is_now = (_ENABLED, _DISABLED) if action is Action.DISABLE else (_DISABLED, _ENABLED)
    host = shown_host(origin)[:SUBJECT_CHARACTERS]
    return AuditedChange(action, AuditedKind.HOST, host, app, old_status=was, new_status=is_now)
