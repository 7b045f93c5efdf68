"""Rules of alerts in SQL."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Connection, and_, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from wangtimer.core.alerts.alert_place import MOST_PLACES, AlertedApps
from wangtimer.core.alerts.alert_rule import MOST_RULES, AlertRule
from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.errors import Conflict, Subject, UnknownAlertRule
from wangtimer.store.sealed_texts import UnopenedDestination, rule_from, rule_text, sealed_anew
from wangtimer.store.seals import Seals
from wangtimer.store.sql.alert_messages import tell_again
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.statements import behind, by_index, readable_page
from wangtimer.store.sql.tables import alert_messages, alert_rules, alerts
from wangtimer.store.sql.while_unchanged import while_unchanged

log = structlog.get_logger()

# Makes what a rule is to be of what it is (None: there is none); may raise to refuse.
RuleRevision = Callable[[AlertRule | None], AlertRule]
# Rules that one statement reads, of all there are.
_PAGE = 1_000
# The audit's names of what changed.
_FIELDS = {
    "events": "events",
    "failuresInARow": "in_a_row",
    "lateBy": "late_ms",
    "keyPrefix": "key_prefix",
    "per": "per",
    "repeatAfter": "repeat_ms",
    "destination": "destination",
}


class AlertRuleStore(SqlStore):
    """One row a rule. Every method raises `StoreAway`."""

    def __init__(self, database: Database, seals: Seals) -> None:
        super().__init__(database)
        self._seals = seals

    def page(self, app: str, after: str, limit: int) -> list[AlertRule]:
        """Return an app's rules by name, from behind one, to be shown; one that cannot be read is left out."""
        query, key = select(alert_rules).where(alert_rules.c.app == app), [alert_rules.c.name]
        read = partial(rule_from, seals=self._seals, may_be_unopened=True)
        return readable_page(self._database, query, key, [after], limit, read)

    def get(self, app: str, name: str) -> AlertRule | None:
        """Return a rule whose messages can be sent; None where there is none, or it cannot be read here."""
        query = select(alert_rules).where(_is(app, name))
        rows = self._rows(query)
        found = read_rules(rows, self._seals)
        return found[0] if found else None

    def put(self, app: str, name: str, change: RuleRevision, now: int) -> tuple[AlertRule, bool]:
        """Make a rule, or replace it; return it, and whether it was made (`now` in ms UTC).

        Raises `Conflict` where the app has `MOST_RULES` already, and what `change` raises.
        """

        def work(sql: Connection) -> tuple[AlertRule, bool]:
            row = sql.execute(select(alert_rules).where(_is(app, name)).with_for_update()).one_or_none()
            held = None if row is None else rule_from(row, self._seals, may_be_unopened=True)
            made = replace(change(held), created_at=held.created_at if held else now, updated_at=now)
            values = {
                "content": rule_text(made, self._seals),
                "late_ms": made.late_ms,
                "updated_at": now,
                "error": "",
            }
            if held is None:
                _refuse_one_more(sql, app)
                sql.execute(insert(alert_rules).values(app=app, name=name, created_at=now, **values))
            else:
                sql.execute(update(alert_rules).where(_is(app, name)).values(values))
            if held is not None and held.destination != made.destination:
                tell_again(sql, made, now)
            note_changes(sql, now, list(_differences(held, made)))
            return replace(made, told_at=held.told_at if held else None, error=""), held is None

        try:
            return self._database.write(work)
        except IntegrityError:
            raise Conflict(
                "name",
                f"the rule {name!r} is being made by somebody else",
                "repeat it where it is still wanted",
                about=Subject.ALERT_RULE,
            ) from None

    def remove(self, app: str, name: str, now: int) -> None:
        """Delete a rule, its troubles and its messages; raises `UnknownAlertRule`. Its tests are forgotten later."""

        def work(sql: Connection) -> None:
            if not sql.execute(delete(alert_rules).where(_is(app, name))).rowcount:
                raise UnknownAlertRule(app, name)
            sql.execute(delete(alerts).where(alerts.c.app == app, alerts.c.rule == name))
            is_of_rule = (
                alert_messages.c.app == app,
                alert_messages.c.rule == name,
                alert_messages.c.is_test == 0,
            )
            sql.execute(delete(alert_messages).where(*is_of_rule))
            note_changes(sql, now, [AuditedChange(Action.DELETE, AuditedKind.ALERT_RULE, name, app)])

        self._database.write(work)

    @while_unchanged
    def alerted(self) -> AlertedApps:
        """Return the apps that have rules, and which of their hosts are in trouble."""

        def work(sql: Connection) -> AlertedApps:
            late_ms = _least_lateness(sql)
            return AlertedApps(late_ms, _troubled(sql) if late_ms else {})

        return self._database.read_current(work)

    def keys_behind(self, key: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        """Return a page of all rules' apps and names, from behind one."""
        columns = (alert_rules.c.app, alert_rules.c.name)
        query = select(*columns).where(behind(columns, key)).order_by(*columns).limit(limit)
        return [(row.app, row.name) for row in self._rows(query)]

    def seal_anew(self, key: tuple[str, str]) -> bool:
        """Seal where a rule's messages go under the first key; False where it is so. Raises `UnopenedDestination`."""

        def work(sql: Connection) -> bool:
            row = sql.execute(select(alert_rules).where(_is(*key)).with_for_update()).one_or_none()
            text = None if row is None else sealed_anew(row, self._seals)
            if text is not None:
                sql.execute(update(alert_rules).where(_is(*key)).values(content=text))
            return text is not None

        return self._database.write(work)


def rules_of(sql: Connection, apps: Collection[str], seals: Seals) -> dict[str, list[AlertRule]]:
    """Return the rules of these apps, also those whose destination cannot be opened here."""
    rows = sql.execute(select(alert_rules).where(alert_rules.c.app.in_(sorted(apps)))).all() if apps else []
    found: dict[str, list[AlertRule]] = {}
    for rule in read_rules(rows, seals, may_be_unopened=True):
        found.setdefault(rule.app, []).append(rule)
    return found


def read_rules(rows: Sequence[Any], seals: Seals, *, may_be_unopened: bool = False) -> list[AlertRule]:
    """Return the rules of rows; one that cannot be read is named in the log and left out."""
    found = []
    for row in rows:
        try:
            found.append(rule_from(row, seals, may_be_unopened=may_be_unopened))
        except UnopenedDestination as error:
            log.error("alert_destination_unopened", app=row.app, rule=row.name, error=str(error))
        except Exception as error:
            log.error("alert_rule_cannot_be_read", app=row.app, rule=row.name, error=repr(error))
    return found


def _least_lateness(sql: Connection) -> dict[str, int | None]:
    """Return by app the least lateness of which a rule of it tells; None where none does. Read a page at a time."""
    columns = (alert_rules.c.app, alert_rules.c.name)
    found: dict[str, int | None] = {}
    key = ("", "")
    while True:
        query = select(*columns, alert_rules.c.late_ms).where(behind(columns, key)).order_by(*columns)
        page = sql.execute(query.limit(_PAGE)).all()
        for row in page:
            told = [late_ms for late_ms in (found.get(row.app), row.late_ms) if late_ms is not None]
            found[row.app] = min(told, default=None)
        if len(page) < _PAGE:
            return found
        key = (page[-1].app, page[-1].name)


def _troubled(sql: Connection) -> dict[str, frozenset[str]]:
    """Return hosts and named targets in trouble by app, of very many the latest. No app takes room from others."""
    found: dict[str, frozenset[str]] = {}
    app = sql.execute(_troubled_app("")).scalar_one_or_none()
    while app is not None:
        found[app] = frozenset(sql.execute(_places_of(app)).scalars())
        app = sql.execute(_troubled_app(app)).scalar_one_or_none()
    return found


def _troubled_app(after: str) -> Any:
    """Return the query of the next app that has a host in trouble."""
    query = select(alerts.c.app).where(alerts.c.timer_id == 0, alerts.c.app > after)
    return by_index(query.order_by(alerts.c.app).limit(1), "alert_of_timer", alerts)


def _places_of(app: str) -> Any:
    is_of_hosts = (alerts.c.timer_id == 0, alerts.c.app == app, alerts.c.place != "")
    query = by_index(select(alerts.c.place).where(*is_of_hosts), "alert_of_timer", alerts)
    return query.group_by(alerts.c.place).order_by(func.max(alerts.c.last_at).desc()).limit(MOST_PLACES)


def _is(app: str, name: str) -> Any:
    return and_(alert_rules.c.app == app, alert_rules.c.name == name)


def _refuse_one_more(sql: Connection, app: str) -> None:
    query = select(func.count(alert_rules.c.name)).where(alert_rules.c.app == app)
    if (number := sql.execute(query).scalar_one()) >= MOST_RULES:
        raise Conflict(
            "name",
            f"the app has {number} rules of alerts, and may have {MOST_RULES}",
            "delete one, or let one rule tell of more",
            about=Subject.ALERT_RULE,
        )


def _differences(held: AlertRule | None, made: AlertRule) -> list[AuditedChange]:
    if held is None:
        return [AuditedChange(Action.CREATE, AuditedKind.ALERT_RULE, made.name, made.app)]
    fields = tuple(name for name, column in _FIELDS.items() if getattr(held, column) != getattr(made, column))
    if not fields:
        return []
    return [AuditedChange(Action.EDIT, AuditedKind.ALERT_RULE, made.name, made.app, fields=fields)]
