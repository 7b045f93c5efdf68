"""Troubles in SQL: what notes make of them, and which are over."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import structlog
from sqlalchemy import Connection, RowMapping, and_, delete, literal_column, select
from sqlalchemy.dialects.mysql import insert as mysql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.engine import Dialect

from wangtimer.core.alerts.alert_rule import AlertEvent, AlertNote, AlertRule
from wangtimer.core.alerts.judging import Happened, ToTell, Trouble, TroubleKey, judge, recovery
from wangtimer.core.flow.firing import FiringStatus, Member, MemberKey
from wangtimer.core.retry import number_in_row
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.sql.alert_messages import gather
from wangtimer.store.sql.alert_rules import rules_of
from wangtimer.store.sql.asked import asked_for, delete_of_attempts, in_parts, with_keys
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.keyset import behind, by_index
from wangtimer.store.sql.many_rows import ManyRows, Texts, number, rows_to_come
from wangtimer.store.sql.tables import alert_notes, alerts, firings, timers

log = structlog.get_logger()

Read = TypeVar("Read")

# Firings of a timer that are looked at to count its failures in a row.
MOST_LOOKED_AT = 200
_KEY = (alerts.c.app, alerts.c.rule, alerts.c.timer_id, alerts.c.event)
_NAMES = (
    *("app", "rule", "timer_id", "event", "timer_name"),
    *("fire_at", "since", "last_at", "times", "told_at", "late_ms"),
)
_CHANGED = _NAMES[4:]
_STATES = frozenset((FiringStatus.PENDING, FiringStatus.FAILED, FiringStatus.ACCEPTED))
# Troubles that one statement looks at.
LOOKS_A_STATEMENT = 100
# The first of all keys lies behind it.
FIRST_KEY = ("", "", 0, "")


class LookedAt(NamedTuple):
    """How many troubles were over, and the key to go on behind; None at the end."""

    over: int
    next_key: tuple[str, str, int, str] | None


class AlertTroubles:
    """Every method raises `StoreAway`."""

    def __init__(self, database: Database, seals: Seals = NO_KEYS) -> None:
        self._database = database
        self._seals = seals

    def judge(self, limit: int, now: int) -> int:
        """Judge up to `limit` notes, the oldest moments first, and forget them; return how many there were.

        One transaction: the notes go only where what is to be told of them is written. Two may run at once; the second
        waits for the first. A note that its firing's row does not bear out changes nothing, nor does one that this
        version cannot read.
        """
        # With a bound it is a range of the index, whatever the server believes of the table.
        notes = select(alert_notes).where(alert_notes.c.fire_at >= 0)
        query = by_index(notes.order_by(*alert_notes.primary_key).limit(limit), "PRIMARY", alert_notes)
        if not self._database.read(lambda sql: sql.execute(query.limit(1)).all()):
            return 0

        def work(sql: Connection) -> int:
            rows = sql.execute(query.with_for_update()).mappings().all()
            if rows:
                self._judge(sql, _read_each(_note_of, rows), now)
                judged = [(row["fire_at"], row["timer_id"], row["attempt"]) for row in rows]
                delete_of_attempts(sql, alert_notes, judged)
            return len(rows)

        return self._database.write(work)

    def look(
        self, after: tuple[str, str, int, str], limit: int, now: int, forgotten_before: int = 0
    ) -> LookedAt:
        """Look which troubles behind a key are over, of `limit` at most: they end, and rules that say so tell it.

        Those of which nothing has happened since `forgotten_before` (ms UTC) end too, and nobody is told.
        """
        query = select(alerts).where(behind(_KEY, after)).order_by(*_KEY).limit(limit)
        ordered = by_index(query, "PRIMARY", alerts)

        def read(sql: Connection) -> tuple[list[tuple[str, str, int, str]], list[Trouble], list[Trouble]]:
            rows = sql.execute(ordered).mappings().all()
            keys = [(row["app"], row["rule"], row["timer_id"], row["event"]) for row in rows]
            found = _read_each(_trouble_of, rows)
            return (
                keys,
                _over_among(sql, found, now),
                [one for one in found if one.last_at < forgotten_before],
            )

        keys, over, old = self._database.read(read)
        if over or old:
            self._database.write(partial(self._end, over=over, old=old, now=now))
        return LookedAt(len(over), None if len(keys) < limit else keys[-1])

    def _judge(self, sql: Connection, notes: Sequence[AlertNote], now: int) -> None:
        rows = _rows_of(sql, [one.member.key for one in notes])
        owners = _owners(sql, {one.member.timer_id for one in notes})
        happened = [
            Happened(one, *owners[one.member.timer_id])
            for one in notes
            if one.member.timer_id in owners and _is_borne_out(one, rows.get(one.member.key))
        ]
        rules = rules_of(sql, {one.app for one in happened}, self._seals)
        held = _held(sql, {one.note.member.timer_id for one in happened}) if rules else {}
        counts: dict[int, int] = {}

        def failures_now(timer_id: int) -> int:
            if timer_id not in counts:
                counts[timer_id] = _failures_in_a_row(sql, timer_id, now)
            return counts[timer_id]

        found = judge(happened, rules, held, failures_now, now)
        changed = [one for key, one in found.troubles.items() if held.get(key) != one]
        _writing(sql.dialect).run(sql, sorted(changed, key=lambda one: one.key), _written)
        gather(sql, found.to_tell, now)

    def _end(self, sql: Connection, over: Sequence[Trouble], old: Sequence[Trouble], now: int) -> None:
        rules = rules_of(sql, {one.key.app for one in over}, self._seals)
        by_name = {(rule.app, rule.name): rule for of_app in rules.values() for rule in of_app}
        to_tell: list[ToTell] = []
        for one in over:
            rule = by_name.get((one.key.app, one.key.rule))
            if _ended(sql, one) and rule is not None and _tells_of_its_end(rule, one):
                to_tell.append((rule, recovery(one)))
        for one in old:
            _ended(sql, one)
        gather(sql, to_tell, now)


def _ended(sql: Connection, one: Trouble) -> bool:
    """Delete a trouble, unless somebody has seen it go on meanwhile: that moves its last moment."""
    as_read = and_(_is(one.key), alerts.c.last_at == one.last_at, alerts.c.fire_at == one.fire_at)
    return bool(sql.execute(delete(alerts).where(as_read)).rowcount)


def _tells_of_its_end(rule: AlertRule, one: Trouble) -> bool:
    return one.told_at is not None and AlertEvent.RECOVERED in rule.events


def _over_among(sql: Connection, troubles: Sequence[Trouble], now: int) -> list[Trouble]:
    """Return those of the troubles that are over.

    Each has a range of an index of its own: joined, MariaDB reads all firings of a timer from the first one on. Of a
    range the latest firings alone are looked at.
    """
    hint = "" if sql.dialect.name == "sqlite" else "FORCE INDEX (firing_of_timer) "
    found: list[Trouble] = []
    for start in range(0, len(troubles), LOOKS_A_STATEMENT):
        part = troubles[start : start + LOOKS_A_STATEMENT]
        looks = [
            f"SELECT * FROM (SELECT {place:d} AS place FROM (SELECT status, lateness_ms FROM firing {hint}"
            f"WHERE timer_id = {one.key.timer_id:d} AND fire_at BETWEEN {one.fire_at:d} AND {now:d}"
            f" ORDER BY fire_at DESC LIMIT {MOST_LOOKED_AT}) AS latest{place:d}"
            f" WHERE status = '{FiringStatus.SUCCEEDED.value}'"
            f"{'' if one.late_ms is None else f' AND lateness_ms <= {one.late_ms:d}'} LIMIT 1) AS look{place:d}"
            for place, one in enumerate(part)
        ]
        found += [part[place] for (place,) in sql.exec_driver_sql(" UNION ALL ".join(looks))]
    return found


def _is(key: TroubleKey) -> Any:
    return and_(*(column == value for column, value in zip(_KEY, key, strict=True)))


def _read_each(read: Callable[[RowMapping], Read], rows: Iterable[RowMapping]) -> list[Read]:
    """Read rows one by one; one that cannot be read, say of another version, is named in the log and left out."""
    found = []
    for row in rows:
        try:
            found.append(read(row))
        except Exception as error:
            log.error("alert_row_cannot_be_read", timer_id=row["timer_id"], error=repr(error))
    return found


def _note_of(row: RowMapping) -> AlertNote:
    member = Member(row["timer_id"], row["fire_at"], row["attempt"])
    return AlertNote(
        member, FiringStatus(row["status"]), row["lateness_ms"], row["http_status"], row["error"]
    )


def _rows_of(sql: Connection, keys: Iterable[MemberKey]) -> dict[MemberKey, tuple[str, int]]:
    """Return status and attempt of these firings."""
    found: dict[MemberKey, tuple[str, int]] = {}
    for part in in_parts((fire_at, timer_id) for timer_id, fire_at in keys):
        rows = sql.exec_driver_sql(with_keys(_states(sql.dialect), sql.dialect, part))
        found |= {(timer_id, fire_at): (status, attempt) for fire_at, timer_id, status, attempt in rows}
    return found


@cache
def _states(dialect: Dialect) -> str:
    columns = (firings.c.fire_at, firings.c.timer_id, firings.c.status, firings.c.attempt)
    return str(asked_for(*columns).compile(dialect=dialect))


def _is_borne_out(note: AlertNote, row: tuple[str, int] | None) -> bool:
    """Tell whether a firing's row says the same as a note: an outcome may have come too late to count."""
    if row is None:
        return False
    status, attempt = row
    if note.status is FiringStatus.PENDING:
        return attempt > note.member.attempt
    if note.status is FiringStatus.FAILED and attempt > note.member.attempt:
        return True  # it was replayed since
    return status == note.status.value or note.status is FiringStatus.ACCEPTED


def _owners(sql: Connection, timer_ids: Collection[int]) -> dict[int, tuple[str, str]]:
    """Return app and name of these timers; deleted ones have none."""
    query = select(timers.c.id, timers.c.app, timers.c.name)
    living = query.where(timers.c.id.in_(sorted(timer_ids)), timers.c.tombstone == 0)
    return {row.id: (row.app, row.name) for row in sql.execute(by_index(living, "PRIMARY", timers))}


def _held(sql: Connection, timer_ids: Collection[int]) -> dict[TroubleKey, Trouble]:
    if not timer_ids:
        return {}
    query = by_index(select(alerts).where(alerts.c.timer_id.in_(sorted(timer_ids))), "alert_of_timer", alerts)
    found = _read_each(_trouble_of, sql.execute(query.with_for_update()).mappings())
    return {one.key: one for one in found}


def _failures_in_a_row(sql: Connection, timer_id: int, now: int) -> int:
    """Return how many attempts of a timer's latest firings have failed since one succeeded, by their moments."""
    own = and_(firings.c.timer_id == timer_id, firings.c.fire_at <= now)
    query = by_index(select(firings.c.status, firings.c.attempt).where(own), "firing_of_timer")
    number = 0
    for status, attempt in sql.execute(query.order_by(firings.c.fire_at.desc()).limit(MOST_LOOKED_AT)):
        if status == FiringStatus.SUCCEEDED.value:
            break
        if status in _STATES:
            made = number_in_row(attempt) if attempt else 0
            number += made if status == FiringStatus.FAILED.value else max(0, made - 1)
    return number


@cache
def _writing(dialect: Dialect) -> ManyRows:
    """Return the upsert of troubles: a storm is judged in statements of many rows."""
    if dialect.name == "sqlite":
        lite = sqlite_insert(alerts).from_select(_NAMES, rows_to_come(), include_defaults=False)
        values = {name: lite.excluded[name] for name in _CHANGED}
        return ManyRows(lite.on_conflict_do_update(index_elements=list(_KEY), set_=values), dialect)
    mysql = mysql_insert(alerts).from_select(_NAMES, rows_to_come(), include_defaults=False)
    changed: dict[str, Any] = {name: literal_column(f"VALUES({name})") for name in _CHANGED}
    return ManyRows(mysql.on_duplicate_key_update(changed), dialect)


def _written(one: Trouble, texts: Texts) -> str:
    """Write a trouble, in the order of `_NAMES`: so its texts are written too."""
    app, rule, timer_id, event = one.key
    return (
        f"({texts.write(app)},{texts.write(rule)},{number(timer_id)},'{event.value}',{texts.write(one.timer_name)},"
        f"{number(one.fire_at)},{number(one.since)},{number(one.last_at)},{number(one.times)},{number(one.told_at)},"
        f"{number(one.late_ms)})"
    )


def _trouble_of(row: RowMapping) -> Trouble:
    key = TroubleKey(row["app"], row["rule"], row["timer_id"], AlertEvent(row["event"]))
    return Trouble(
        key,
        row["timer_name"],
        row["fire_at"],
        row["since"],
        row["last_at"],
        row["times"],
        row["told_at"],
        row["late_ms"],
    )
