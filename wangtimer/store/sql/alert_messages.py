"""Messages of rules in SQL: gathered, taken by a process that sends them, ended."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, delete, func, insert, or_, select, update

from wangtimer.core.alerts.alert_message import Alert, AlertMessage
from wangtimer.core.alerts.alert_rule import MOST_RULES, AlertEvent, AlertRule
from wangtimer.core.alerts.judging import ToTell, by_rule
from wangtimer.core.errors import UnknownAlertRule
from wangtimer.core.fail_points import FailPoint
from wangtimer.store.sql.database import SqlStore
from wangtimer.store.sql.statements import by_index
from wangtimer.store.sql.tables import ERROR_CHARACTERS, alert_messages, alert_rules, alerts
from wangtimer.store.sql.trouble_rows import read_troubles

log = structlog.get_logger()

# From one message of a rule to the next, ms: robots take 20 a minute.
BETWEEN_MS = 10_000
# ms; what is told of a host waits so long, so that one message has all of its timers.
GATHERS_MS = 5_000
# ms; a message that could not even be tried waits so long.
NOT_TRIED_PAUSE_MS = 15_000
# Messages among which one statement looks for old tests.
LOOKED_AT = 1_000
# So many are looked at to take some, so that each app has its turn: more than the rules of all apps that have no room.
LOOKED_AT_FOR_TURNS = 320
# Open alerts that are told again at most: a message names 20 of them.
MOST_TOLD_AGAIN = 1_000


@dataclass(frozen=True, slots=True)
class TakenMessage:
    """A message that a process is to send, as its `attempt` (from 1), before another may take it. Moments in ms UTC."""

    id: int
    message: AlertMessage
    attempt: int
    created_at: int
    is_test: bool = False
    due_at: int = 0
    taken_until: int = 0


def gather(sql: Connection, to_tell: Iterable[ToTell], now: int, grown: Iterable[ToTell] = ()) -> None:
    """Put alerts into the messages of their rules that still gather, or into new ones, in the caller's transaction.

    `grown` takes the place of what such a message tells of the same host, and makes no new one.
    """
    new, more = list(to_tell), list(grown)
    rules = {(rule.app, rule.name): rule for rule, _ in (*new, *more)}
    by_new, by_more = by_rule(new), by_rule(more)
    held = _gathering(sql, rules)
    made = []
    for key, rule in rules.items():
        if key in held:
            row, message = held[key]
            grew = message.updated(by_more.get(key, ())).with_more(by_new.get(key, ()))
            if grew != message:
                changing = update(alert_messages).where(alert_messages.c.id == row["id"])
                sql.execute(changing.values(content=replace(grew, gathered_at=now).stored()))
        elif key in by_new:
            message = AlertMessage(*key).with_more(by_new[key])
            made.append(_written(message, now, _due_at(rule, by_new[key], now)))
    if made:
        sql.execute(insert(alert_messages), made)


def _gathering(
    sql: Connection, rules: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], tuple[RowMapping, AlertMessage]]:
    """Return by rule the message that gathers, and lock it."""
    names: dict[str, list[str]] = defaultdict(list)
    for app, name in rules:
        names[app].append(name)
    found: dict[tuple[str, str], tuple[RowMapping, AlertMessage]] = {}
    for app, of_app in names.items():
        is_of_rules = and_(alert_messages.c.app == app, alert_messages.c.rule.in_(sorted(of_app)))
        query = select(alert_messages).where(
            is_of_rules, alert_messages.c.is_test == 0, alert_messages.c.attempt == 0
        )
        ordered = by_index(query, "alert_message_of_rule", alert_messages).order_by(alert_messages.c.id)
        for row in sql.execute(ordered.with_for_update()).mappings():
            found.setdefault((row["app"], row["rule"]), (row, _message_of(row)))
    return found


def tell_again(sql: Connection, rule: AlertRule, now: int) -> None:
    """Tell what is open, in the caller's transaction: all that was told went where the rule tells nobody any more.

    Messages that were not taken there go to the new destination at once, and what they tell is told by them alone.
    """
    is_of_rule = and_(alert_messages.c.app == rule.app, alert_messages.c.rule == rule.name)
    waiting = select(alert_messages.c.id, alert_messages.c.created_at).where(
        is_of_rule, alert_messages.c.is_test == 0
    )
    rows = sql.execute(by_index(waiting, "alert_message_of_rule", alert_messages)).all()
    if rows:
        # One that a process has in hand right now goes there once that has ended: by this moment it is known.
        moved = update(alert_messages).where(alert_messages.c.id.in_([row.id for row in rows]))
        sql.execute(moved.values(due_at=now))
        # The new one has all its attempts before it; a process that died with one in hand has it no more.
        sql.execute(
            moved.where(alert_messages.c.taken_until <= now, alert_messages.c.attempt > 0).values(attempt=0)
        )
    told_before = min((row.created_at for row in rows), default=None)
    open_ones = select(alerts).where(alerts.c.app == rule.app, alerts.c.rule == rule.name)
    # Others are told by it no more.
    has_prefix = func.substr(alerts.c.timer_name, 1, len(rule.key_prefix)) == rule.key_prefix
    told = open_ones.where(
        alerts.c.told_at.is_not(None),
        alerts.c.event.in_(sorted(event.value for event in rule.events)),
        or_(alerts.c.timer_id == 0, has_prefix),
    )
    if told_before is not None:
        told = told.where(alerts.c.told_at < told_before)
    ordered = by_index(told, "PRIMARY", alerts).order_by(alerts.c.timer_id, alerts.c.event)
    found = read_troubles(sql.execute(ordered.limit(MOST_TOLD_AGAIN)).mappings())
    gather(sql, [(rule, trouble.alert()) for trouble in found], now)


class AlertMessages(SqlStore):
    """Every method raises `StoreAway`."""

    def take(
        self, limit: int, now: int, until: int, room_of: Callable[[str], int] = lambda _app: LOOKED_AT
    ) -> list[TakenMessage]:
        """Take messages that are due, the longest due first; nobody else takes them before `until` (ms UTC).

        Of each rule the oldest only: a later one waits for it. Of an app as many as it has room for, and one of each
        app before a second of any. A process that dies leaves them to others.
        """
        # A value, looked up for each message: of a condition MariaDB makes a table of all rules that were just told.
        told_at = select(alert_rules.c.told_at).where(
            alert_rules.c.app == alert_messages.c.app, alert_rules.c.name == alert_messages.c.rule
        )
        just_told = func.coalesce(told_at.scalar_subquery(), 0) > now - BETWEEN_MS
        waits = or_(_is_behind_another(), just_told)
        is_due = and_(
            alert_messages.c.due_at <= now,
            alert_messages.c.taken_until <= now,
            alert_messages.c.answer.is_(None),
        )
        query = select(alert_messages).where(is_due, (alert_messages.c.is_test == 1) | ~waits)
        ordered = by_index(
            query.order_by(alert_messages.c.due_at).limit(LOOKED_AT_FOR_TURNS),
            "alert_message_due",
            alert_messages,
        )
        due = self._mappings(ordered)
        ids = in_turn([(row["app"], row["id"]) for row in due], limit, room_of)
        if not ids:
            return []

        def work(sql: Connection) -> list[TakenMessage]:
            held = select(alert_messages).where(alert_messages.c.id.in_(ids), is_due)
            # What a judge writes into right now is taken at the next look.
            locking = held.order_by(alert_messages.c.id).with_for_update(skip_locked=True)
            rows = sql.execute(locking).mappings().all()
            for row in rows:
                changing = update(alert_messages).where(alert_messages.c.id == row["id"])
                sql.execute(changing.values(attempt=row["attempt"] + 1, taken_until=until))
            return [_taken(row, until) for row in rows]

        return self._database.write(work, FailPoint.SQL_TAKE_ALERTS)

    def end(self, taken: TakenMessage, now: int, error: str = "", *, is_taken: bool = False) -> bool:
        """Forget a message that was taken, or is given up for this error; the rule shows which.

        One that was taken may have an error too: some of its addresses were refused. Whoever held it for too long ends
        nothing: another process has it by now. Where its rule tells somebody else since it was taken, it is told there,
        whatever came of it. False: a judge is at its rule, nothing was done, and it is to be tried again soon.
        """

        def work(sql: Connection) -> bool:
            if not _lock_rule(sql, taken):
                return False
            if _goes_elsewhere(sql, taken):
                return True
            if not sql.execute(delete(alert_messages).where(_as_taken(taken))).rowcount:
                return True
            shown: dict[str, Any] = {"error": error[:ERROR_CHARACTERS]}
            if is_taken or not error:
                shown["told_at"] = now
            else:
                log.warning("alert_given_up", app=taken.message.app, rule=taken.message.rule, error=error)
            sql.execute(update(alert_rules).where(_rule_of(taken)).values(shown))
            return True

        return self._database.write(work, FailPoint.SQL_END_ALERT)

    def put_off(self, taken: TakenMessage, due_at: int, error: str, *, was_tried: bool) -> bool:
        """Let a message wait until `due_at` (ms UTC); one that was not tried has not used an attempt.

        Where its rule tells somebody else since it was taken, it is due there now, with all attempts. False, as of
        `end`: it is to be tried again soon.
        """

        def work(sql: Connection) -> bool:
            if not _lock_rule(sql, taken):
                return False
            if _goes_elsewhere(sql, taken):
                return True
            attempt = taken.attempt if was_tried else taken.attempt - 1
            waiting = update(alert_messages).where(_as_taken(taken))
            if sql.execute(waiting.values(due_at=due_at, taken_until=0, attempt=attempt)).rowcount:
                shown = {"error": error[:ERROR_CHARACTERS]}
                sql.execute(update(alert_rules).where(_rule_of(taken)).values(shown))
            return True

        return self._database.write(work, FailPoint.SQL_PUT_OFF_ALERT)

    def answer(self, taken: TakenMessage, answer: str) -> None:
        """Say what became of a test."""
        changing = update(alert_messages).where(_as_taken(taken))
        self._database.write(lambda sql: sql.execute(changing.values(answer=answer, taken_until=0)))

    def ask_test(self, app: str, rule: str, now: int) -> int | None:
        """Ask for a test message of a rule; return its id. Raises `UnknownAlertRule`.

        None: the rule had a test within `BETWEEN_MS`, or its app as many as it may have rules, whatever they are named.
        """
        alert = Alert(AlertEvent.TEST, 0, "", now, now)
        message = AlertMessage(app, rule, (alert,))

        asked = select(alert_messages.c.rule).where(
            alert_messages.c.app == app,
            alert_messages.c.is_test == 1,
            alert_messages.c.created_at > now - BETWEEN_MS,
        )

        def work(sql: Connection) -> int | None:
            is_it = (alert_rules.c.app == app, alert_rules.c.name == rule)
            if sql.execute(select(alert_rules.c.name).where(*is_it)).one_or_none() is None:
                raise UnknownAlertRule(app, rule)
            lately = sql.execute(by_index(asked, "alert_message_of_rule", alert_messages)).scalars().all()
            if rule in lately or len(lately) >= MOST_RULES:
                return None
            made = sql.execute(insert(alert_messages).values(_written(message, now, now, is_test=True)))
            assert made.inserted_primary_key is not None
            return int(made.inserted_primary_key[0])

        return self._database.write(work)

    def answer_of(self, message_id: int) -> str | None:
        """Return what became of a test; None while nobody knows."""
        query = select(alert_messages.c.answer).where(alert_messages.c.id == message_id)
        found: str | None = self._database.read(lambda sql: sql.execute(query).scalar_one_or_none())
        return found

    def overdue(self, now: int, late_ms: int, most: int) -> int:
        """Return how many messages were due `late_ms` before now (ms UTC), and are not sent, of the `most` longest due.

        One that could never be tried counts from when it was made: it is put off again and again. One that waits for an
        older one of its rule is not counted: that one may be put off on schedule.
        """
        message, before = alert_messages.c, now - late_ms
        is_late = or_(message.due_at < before, and_(message.attempt == 0, message.created_at < before))
        due = select(message.id, message.app, message.rule, message.is_test).where(
            message.due_at <= now + NOT_TRIED_PAUSE_MS, is_late, message.answer.is_(None)
        )
        ordered = by_index(due.order_by(message.due_at).limit(most), "alert_message_due", alert_messages)
        longest = ordered.subquery("longest")
        counts = (longest.c.is_test == 1) | ~_is_behind_another(longest.c)
        number = select(func.count()).select_from(longest).where(counts)
        return self._database.read(lambda sql: int(sql.execute(number).scalar_one()))

    def forget_tests(self, before: int) -> int:
        """Forget tests asked for before then (ms UTC), among the longest due alone; return how many."""
        columns = (alert_messages.c.id, alert_messages.c.is_test)
        # A test is due at once.
        query = select(*columns).where(alert_messages.c.due_at < before).order_by(alert_messages.c.due_at)
        ordered = by_index(query.limit(LOOKED_AT), "alert_message_due", alert_messages)
        ids = self._database.read(lambda sql: [row.id for row in sql.execute(ordered) if row.is_test])
        if not ids:
            return 0
        forgetting = delete(alert_messages).where(alert_messages.c.id.in_(ids))
        return self._database.write(lambda sql: int(sql.execute(forgetting).rowcount), waits_for_locks=False)


def in_turn(due: Iterable[tuple[str, int]], limit: int, room_of: Callable[[str], int]) -> list[int]:
    """Return the ids of up to `limit` messages: the first of each app, then the second, while the app has room.

    `due`: app and id in their order. `room_of` returns how many more an app may have under way.
    """
    by_app: dict[str, list[int]] = defaultdict(list)
    for app, message_id in due:
        by_app[app].append(message_id)
    with_room = (ids[: max(0, room_of(app))] for app, ids in by_app.items())
    return [
        message_id
        for of_round in zip_longest(*with_room)
        for message_id in of_round
        if message_id is not None
    ][:limit]


def _as_taken(taken: TakenMessage) -> ColumnElement[bool]:
    """Return the condition that a message is still held by this attempt."""
    return and_(
        alert_messages.c.id == taken.id,
        alert_messages.c.attempt == taken.attempt,
        alert_messages.c.taken_until == taken.taken_until,
    )


def _rule_of(taken: TakenMessage) -> ColumnElement[bool]:
    return and_(alert_rules.c.app == taken.message.app, alert_rules.c.name == taken.message.rule)


def _lock_rule(sql: Connection, message: TakenMessage) -> bool:
    """Lock a message's rule first, as the judge does; False: somebody has it. A rule that is gone needs no lock."""
    query = select(alert_rules.c.name).where(_rule_of(message))
    if sql.execute(query.with_for_update(skip_locked=True)).one_or_none() is not None:
        return True
    return sql.execute(query).one_or_none() is None


def _goes_elsewhere(sql: Connection, taken: TakenMessage) -> bool:
    """Let a message go to its rule's new destination, with all attempts, if that is another since it was taken.

    Whoever changes the destination makes it due at that moment; nobody else does that to a message in hand. The rule's
    lock is held.
    """
    is_moved = and_(_as_taken(taken), alert_messages.c.is_test == 0, alert_messages.c.due_at != taken.due_at)
    going = update(alert_messages).where(is_moved).values(attempt=0, taken_until=0)
    return bool(sql.execute(going).rowcount)


def _is_behind_another(message: Any = alert_messages.c) -> ColumnElement[bool]:
    """Return the condition that an older message of the same rule is there; tests hold up nothing."""
    older = alert_messages.alias("older")
    before = select(older.c.id).where(
        older.c.app == message.app,
        older.c.rule == message.rule,
        older.c.id < message.id,
        older.c.is_test == 0,
    )
    return by_index(before, "alert_message_of_rule", older).exists()


def _due_at(rule: AlertRule, alerts: Sequence[Alert], now: int) -> int:
    """Return when a new message is due, ms UTC: some time after the last one; that of a host once it has gathered."""
    soonest = now + GATHERS_MS if any(alert.is_of_host for alert in alerts) else now
    return soonest if rule.told_at is None else max(soonest, rule.told_at + BETWEEN_MS)


def _written(message: AlertMessage, now: int, due_at: int, *, is_test: bool = False) -> dict[str, Any]:
    return {
        "app": message.app,
        "rule": message.rule,
        "is_test": int(is_test),
        "content": message.stored(),
        "created_at": now,
        "due_at": due_at,
        "attempt": 0,
        "taken_until": 0,
    }


def _message_of(row: RowMapping) -> AlertMessage:
    """Return what a row says; alerts that this version cannot read are counted, and not named."""
    try:
        return AlertMessage.from_stored(row["app"], row["rule"], row["content"])
    except Exception as error:
        log.error("alert_message_cannot_be_read", app=row["app"], rule=row["rule"], error=repr(error))
        return AlertMessage(row["app"], row["rule"], more=1)


def _taken(row: RowMapping, until: int) -> TakenMessage:
    return TakenMessage(
        row["id"],
        _message_of(row),
        row["attempt"] + 1,
        row["created_at"],
        bool(row["is_test"]),
        row["due_at"],
        until,
    )
