"""Timers, rules and outcomes, as tests of alerts have them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, event, select

from tests.store.definitions import NOTIFY
from tests.store.members import outcome_of
from tests.store.worlds import real_sql
from wangtimer.core.alerts.alert_message import Alert
from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertRule, Destination, DestinationKind, Per, noted
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.timer import NewTimer
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.sql.alert_messages import AlertMessages, TakenMessage
from wangtimer.store.sql.alert_rules import AlertRuleStore
from wangtimer.store.sql.alert_troubles import FIRST_KEY, AlertTroubles
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import alerts

NOW = 1_800_000_000_000
SECOND = 1_000
LEASE_MS = 60_000
HOST = "shop.example:443"
FAILED, PENDING, SUCCEEDED = FiringStatus.FAILED, FiringStatus.PENDING, FiringStatus.SUCCEEDED
WEBHOOK = Destination(DestinationKind.WEBHOOK, "http://127.0.0.1:9/alerts")


def rule(name: str = "ops", app: str = "shop", *events: AlertEvent, **fields: object) -> AlertRule:
    """Return a rule that tells of these events to a webhook."""
    return AlertRule(app, name, frozenset(events), **({"destination": WEBHOOK, "per": Per.TIMER} | fields))


class AlertWorld:
    """A database with timers whose firings fail; `now` is moved by the test."""

    def __init__(self, database: Database, seals: Seals = NO_KEYS) -> None:
        self.database = database
        self.sql = real_sql(database)
        self.rules, self.messages = AlertRuleStore(database, seals), AlertMessages(database)
        self.troubles = AlertTroubles(database, seals)
        self.now = NOW

    def timer(self, name: str = "bill", app: str = "shop") -> int:
        return self.sql.timers.create(NewTimer(app, name, Once(NOW + DAY_MS), NOTIFY), NOW - DAY_MS).id

    def put(self, *rules: AlertRule) -> None:
        for one in rules:
            self.rules.put(one.app, one.name, lambda _held, one=one: one, self.now)

    def fire(
        self,
        timer_id: int,
        second: int,
        *statuses: FiringStatus,
        app: str = "shop",
        since: int = 1,
        host: str = HOST,
        target: str = "",
        **fields: object,
    ) -> None:
        """Plan a firing of `NOW` and so many seconds, and settle attempts; PENDING is one that is tried again.

        They are the attempts from `since` on.
        """
        one = Firing.planned(timer_id, NOW + second * SECOND, 0)
        self.sql.insert([one])
        alerted = self.rules.alerted()
        for attempt, status in enumerate(statuses, since):
            said = {"error": "" if status is SUCCEEDED else "HTTP 503"} | fields
            outcome = outcome_of(one.member._replace(attempt=attempt), status, NOW + DAY_MS, **said)
            self.sql.firings.settle([noted(outcome, AlertPlace(app, host, target), alerted)])
        self.now = max(self.now, one.fire_at + SECOND)

    def standing(self) -> Sequence[Row[Any]]:
        """Return the rows of what is not over."""
        return self.database.read(lambda sql: sql.execute(select(alerts)).all())

    def judge(self) -> int:
        """Judge all that is noted, and look at all troubles; return how many notes there were."""
        judged, app = 0, self.troubles.next_app(None)
        while app is not None:
            judged += self.troubles.judge(app, 1_000, self.now).notes
            app = self.troubles.next_app(app)
        self.look()
        return judged

    def look(self, now: int | None = None, forgotten_before: int = 0) -> int:
        """Look at all troubles; return how many were over."""
        over, app = 0, self.troubles.next_troubled(None)
        while app is not None:
            at = self.now if now is None else now
            over += self.troubles.look(app, FIRST_KEY, 1_000, at, forgotten_before).over
            app = self.troubles.next_troubled(app)
        return over

    def take(self) -> list[TakenMessage]:
        return self.messages.take(100, self.now, self.now + LEASE_MS)

    def told(self) -> list[tuple[str, AlertEvent, int, int]]:
        """Judge, then send what is due, as far as this goes; return rule, event, timer and times of each alert."""
        self.judge()
        self.now += 20 * SECOND
        found = []
        while taken := self.take():
            for one in taken:
                self.messages.end(one, self.now)
                found += [(one.message.rule, *_shown(alert)) for alert in one.message.alerts]
        return found


def _shown(alert: Alert) -> tuple[AlertEvent, int, int]:
    return alert.event, alert.timer_id, alert.times


class Statements:
    """What a database's connections were asked while this lasts."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.seen: list[str] = []

    def __enter__(self) -> "Statements":
        for engine in self._database.engines:
            event.listen(engine, "before_cursor_execute", self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for engine in self._database.engines:
            event.remove(engine, "before_cursor_execute", self._note)

    def _note(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        self.seen.append(statement)
