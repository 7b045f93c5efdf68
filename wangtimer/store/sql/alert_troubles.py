"""Troubles in SQL: what notes make of them, and which are over."""

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import structlog
from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, func, select
from sqlalchemy.exc import OperationalError

from wangtimer.core.alerts.alert_message import Alert
from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.alerts.alert_rule import MOST_RULES, AlertEvent, AlertNote, AlertRule, Per
from wangtimer.core.alerts.judging import (
    Happened,
    Judgement,
    by_trouble,
    judge,
    tells_of_end,
    told_if_due,
)
from wangtimer.core.alerts.trouble import NO_TIMERS, Trouble, TroubleKey
from wangtimer.core.errors import StoreAway
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import FiringStatus, Member, MemberKey
from wangtimer.core.retry import number_in_row
from wangtimer.core.timers.timer import TimerStatus
from wangtimer.store.seals import Seals
from wangtimer.store.sql.alert_messages import gather
from wangtimer.store.sql.alert_rules import rules_of
from wangtimer.store.sql.database import Database, was_over_time
from wangtimer.store.sql.statements import KeyedStatement, asked_for, behind, by_index, delete_rows
from wangtimer.store.sql.tables import alert_notes, alert_rules, alerts, firings, timers
from wangtimer.store.sql.trouble_rows import (
    KEY,
    end_trouble,
    read_each,
    read_troubles,
    troubles_of,
    write_troubles,
)
from wangtimer.store.sql.while_unchanged import while_unchanged

log = structlog.get_logger()

# The latest firings of a timer that are looked at for a success, or to count its failures in a row.
MOST_LOOKED_AT = 200
# Where these do not say enough, as most were skipped or wait for an `:ack`: so many, of so few timers at once.
MOST_LOOKED_BACK, LOOKS_BACK = 5_000, 20
_STATES = frozenset((FiringStatus.PENDING, FiringStatus.FAILED, FiringStatus.ACCEPTED))
# ms; trouble of a timer that is deleted is forgotten so long after its last failure.
DELETED_AFTER_MS = 120_000
# Troubles that the notes of one transaction may be of: it holds the lock of the app's first rule for a second or two.
MOST_KEYS = 5_000
# An app's oldest notes among which a page is chosen: the more of each timer, the fewer rows a note costs.
WINDOW = 4_000
# Timers that one statement looks at.
LOOKS_A_STATEMENT = 100
# Of an app; a further one is not kept, and told to nobody: whoever has so many open ones is told already.
MOST_TROUBLES = 10_000
# The first of an app's keys lies behind it.
FIRST_KEY = ("", -1, "", "")
# Rule, timer, event and place.
LookKey = tuple[str, int, str, str]
# A trouble, a timer of it, and the moment from which its firings count.
Look = tuple[Trouble, int, int]
# When the last attempt of a firing that succeeded was known to have done so.
_KNOWN_AT = "COALESCE(done_at, sent_at + cost_ms, sent_at, fire_at) AS known_at"
_ROWS = KeyedStatement(
    asked_for(*(firings.c[name] for name in ("timer_id", "fire_at", "status", "attempt", "lateness_ms")))
)


class JudgedNotes(NamedTuple):
    """How many notes there were, whether hosts in trouble changed, how many troubles had no room, whether to go on."""

    notes: int = 0
    are_hosts_changed: bool = False
    without_room: int = 0
    are_left: bool = False


class LookedAt(NamedTuple):
    """How many troubles were over, whether hosts were among them, and the key to go on behind; None at the end."""

    over: int
    next_key: LookKey | None
    are_hosts_changed: bool = False


class Looks(NamedTuple):
    """What a look at a page found: which troubles are over, which are to be forgotten, which may be to tell now.

    `open` are those that may be over all the same: of `full` there are more firings than were looked at.
    """

    keys: Sequence[LookKey] = ()
    over: Sequence[Trouble] = ()
    old: Sequence[Trouble] = ()
    ripe: Sequence[Trouble] = ()
    open: Sequence[Trouble] = ()
    full: Sequence[Look] = ()


class AlertTroubles:
    """Every method raises `StoreAway`."""

    def __init__(self, database: Database, seals: Seals) -> None:
        self._database = database
        self._seals = seals

    def next_app(self, after: str | None) -> str | None:
        """Return the next app behind this one that has notes (None: the first); None: there is none."""
        return self._next_app(alert_notes, after)

    def next_troubled(self, after: str | None) -> str | None:
        """Return the next app behind this one that has troubles (None: the first); None: there is none."""
        return self._next_app(alerts, after)

    @while_unchanged
    def _next_app(self, table: Table, after: str | None) -> str | None:
        is_next = table.c.app >= "" if after is None else table.c.app > after
        query = by_index(select(table.c.app).where(is_next).order_by(table.c.app).limit(1), "PRIMARY", table)
        found: str | None = self._database.read(lambda sql: sql.execute(query).scalar_one_or_none())
        return found

    def judge(self, app: str, limit: int, now: int) -> JudgedNotes:
        """Judge up to `limit` notes of an app and forget them, as `_page` chooses them.

        One transaction: the notes go only where what is to be told of them is written. Two may run at once; an app that
        another one is at is left to it. A note that its firing's row does not bear out changes nothing, nor does one
        that this version cannot read.
        """

        def work(sql: Connection) -> JudgedNotes:
            if not self._is_free(sql, app):
                return JudgedNotes()
            rules = rules_of(sql, [app], self._seals).get(app, ()) if app else ()
            rows, are_left = _page(sql, app, rules, limit)
            if not rows:
                return JudgedNotes()
            found, without_room = self._judge(sql, read_each(_note_of, rows), now)
            judged = [(row["fire_at"], row["timer_id"], row["attempt"]) for row in rows]
            delete_rows(sql, alert_notes, ("fire_at", "timer_id", "attempt"), judged, app=app)
            are_new = any(trouble.key.is_of_host and trouble.opened_at == now for trouble in found)
            return JudgedNotes(len(rows), are_new, without_room, are_left)

        return self._database.write(work, FailPoint.SQL_JUDGE_ALERTS, waits_for_locks=False)

    def look(self, app: str, after: LookKey, limit: int, now: int, forgotten_before: int = 0) -> LookedAt:
        """Look which of an app's troubles behind a key are over, of `limit` at most: they end, and rules may tell it.

        Those of which nothing has happened since `forgotten_before` (ms UTC), and whose timers have ended, end too, and
        nobody is told; those of a single timer that is deleted, after `DELETED_AFTER_MS`. A row of failures at a host
        is told once a success would have been seen.
        """
        query = select(alerts).where(alerts.c.app == app, behind(KEY[1:], after)).order_by(*KEY).limit(limit)
        ordered = by_index(query, "PRIMARY", alerts)

        def read(sql: Connection) -> Looks:
            rows = sql.execute(ordered).mappings().all()
            keys = [(row["rule"], row["timer_id"], row["event"], row["place"]) for row in rows]
            found = read_troubles(rows)
            quiet = [trouble for trouble in found if trouble.is_quiet(now)]
            over, full = _over_of_kinds(sql, quiet, now)
            still = [trouble for trouble in found if trouble not in over]
            old = _forgotten_among(sql, [trouble for trouble in still if trouble.last_at < forgotten_before])
            old += _deleted_among(sql, [trouble for trouble in still if trouble not in old], now)
            ripe = [trouble for trouble in still if trouble not in old and _may_be_ripe(trouble, now)]
            return Looks(keys, over, old, ripe, [trouble for trouble in quiet if trouble not in over], full)

        found = self._database.read(read)
        self._end_found(found, now)
        back = self._looked_back(found, now)
        self._end_found(Looks(over=back), now)
        over = [*found.over, *back]
        changed = any(trouble.key.is_of_host for trouble in (*over, *found.old))
        return LookedAt(len(over), None if len(found.keys) < limit else found.keys[-1], changed)

    def _end_found(self, found: Looks, now: int) -> None:
        if found.over or found.old or found.ripe:
            ending = partial(self._end, found=found, now=now)
            self._database.write(ending, FailPoint.SQL_END_TROUBLES, waits_for_locks=False)

    def _looked_back(self, found: Looks, now: int) -> list[Trouble]:
        """Return those that are over by firings further back, of a few timers, of others in their turn.

        Each timer is a read of its own, in another order each time: its firings may be on so many pages that SQL has
        too little time.
        """
        over: set[Trouble] = set()

        def read(sql: Connection, look: Look) -> set[Trouble]:
            return _succeeded_among(sql, [look], now, MOST_LOOKED_BACK)[0]

        try:
            for look in random.sample(found.full, min(LOOKS_BACK, len(found.full))):
                over |= self._database.read(partial(read, look=look))
        except StoreAway as error:
            log.info("alerts_not_looked_back", error=str(error))
        return [trouble for trouble in found.open if _as_looked_at(trouble) in over]

    def _is_free(self, sql: Connection, app: str) -> bool:
        """Tell whether no other judge is at this app, and keep others from it: the first of its rules is its lock.

        Notes of which nobody knew whose they are have no lock of their own.
        """
        first = select(alert_rules.c.name).where(alert_rules.c.app == app).order_by(alert_rules.c.name)
        name = sql.execute(first.limit(1)).scalar_one_or_none() if app else None
        if name is None:
            return True
        first_rule = select(alert_rules.c.name).where(alert_rules.c.app == app, alert_rules.c.name == name)
        return sql.execute(first_rule.with_for_update(skip_locked=True)).one_or_none() is not None

    def _judge(self, sql: Connection, notes: Sequence[AlertNote], now: int) -> tuple[list[Trouble], int]:
        """Return the troubles that changed, and how many new ones had no room."""
        rows = _rows_of(sql, [note.member.key for note in notes])
        owners = _owners(sql, {note.member.timer_id for note in notes})
        happened = [
            Happened(_as_recorded(note, row), *owners[note.member.timer_id])
            for note in notes
            if note.member.timer_id in owners
            and (row := rows.get(note.member.key)) is not None
            and _is_borne_out(note, row)
        ]
        rules = rules_of(sql, {noted.app for noted in happened}, self._seals)
        of_troubles = by_trouble(happened, rules, now)
        held = troubles_of(sql, of_troubles)
        counts: dict[int, int] = {}
        looks_back = iter(range(LOOKS_BACK))

        def may_look_back() -> bool:
            return next(looks_back, None) is not None

        def failures_now(timer_id: int) -> int:
            if timer_id not in counts:
                counts[timer_id] = _failures_in_a_row(sql, timer_id, now, may_look_back)
            return counts[timer_id]

        found = judge(of_troubles, held, failures_now, now)
        changed = [trouble for key, trouble in found.troubles.items() if held.get(key) != trouble]
        left = _without_room(sql, [trouble for trouble in changed if trouble.key not in held])
        changed = [trouble for trouble in changed if trouble.key not in left]
        write_troubles(sql, changed)
        untold = {(key.app, key.rule, alert) for key, alert in left.items()}
        to_tell = [
            (rule, alert) for rule, alert in found.to_tell if (rule.app, rule.name, alert) not in untold
        ]
        gather(sql, to_tell, now, found.grown)
        return changed, len(left)

    def _end(self, sql: Connection, found: Looks, now: int) -> None:
        rules = rules_of(sql, {trouble.key.app for trouble in (*found.over, *found.ripe)}, self._seals)
        by_name = {(rule.app, rule.name): rule for of_app in rules.values() for rule in of_app}
        judgement = Judgement()
        for trouble in found.over:
            rule = by_name.get((trouble.key.app, trouble.key.rule))
            if end_trouble(sql, trouble) and rule is not None and tells_of_end(rule, trouble):
                judgement.to_tell.append((rule, trouble.recovery()))
        for trouble in found.old:
            end_trouble(sql, trouble)
        for key, trouble in troubles_of(sql, [trouble.key for trouble in found.ripe]).items():
            rule = by_name.get((key.app, key.rule))
            if (
                rule is not None
                and (told := told_if_due(judgement, trouble, rule, lambda _id: 0, now)) != trouble
            ):
                write_troubles(sql, [told])
        gather(sql, judgement.to_tell, now)


def _may_be_ripe(trouble: Trouble, now: int) -> bool:
    """Tell whether a row of failures at a host may be to tell, though nothing happens any more."""
    is_row = trouble.key.is_of_host and trouble.key.event is AlertEvent.FAILURES_IN_A_ROW
    return is_row and trouble.told_at is None and trouble.times > 1 and trouble.is_known(now)


def _page(
    sql: Connection, app: str, rules: Sequence[AlertRule], limit: int
) -> tuple[Sequence[RowMapping], bool]:
    """Return the notes of an app to judge now, of `MOST_KEYS` troubles at most, and whether more may be left.

    They are the oldest. Where each timer is a trouble of its own by all rules, they are all notes of a few timers among
    the oldest: each trouble is read and written once for all of them. By a rule of hosts the order of all timers' notes
    matters.
    """
    of_hosts = sum(len(rule.events) for rule in rules if rule.per is Per.HOST)
    of_timers = sum(len(rule.events) for rule in rules if rule.per is Per.TIMER)
    if not app:
        # Nobody knows whose they are: any rules may be about them.
        of_timers = MOST_RULES * len(AlertEvent)
    elif of_timers and not of_hosts:
        return _page_of_timers(sql, app, limit, max(1, MOST_KEYS // of_timers))
    rows = sql.execute(_notes_of(app, limit)).mappings().all()
    timer_ids, places = set[int](), set[tuple[str, str]]()
    for number, row in enumerate(rows):
        timer_ids.add(row["timer_id"])
        places.add((row["host"], row["target"]))
        if number and len(timer_ids) * of_timers + len(places) * of_hosts > MOST_KEYS:
            return rows[:number], True
    return rows, len(rows) == limit


def _page_of_timers(
    sql: Connection, app: str, limit: int, most_timers: int
) -> tuple[Sequence[RowMapping], bool]:
    oldest = select(alert_notes.c.timer_id, alert_notes.c.fire_at).where(*_are_of(app))
    ordered = by_index(oldest.order_by(*alert_notes.primary_key).limit(WINDOW), "PRIMARY", alert_notes)
    window = sql.execute(ordered).all()
    if not window:
        return [], False
    timer_ids = list(dict.fromkeys(row.timer_id for row in window))[:most_timers]
    of_timers = (alert_notes.c.timer_id.in_(timer_ids), alert_notes.c.fire_at <= window[-1].fire_at)
    rows = sql.execute(_notes_of(app, limit, *of_timers)).mappings().all()
    return rows, len(rows) < len(window) or len(window) == WINDOW


def _without_room(sql: Connection, new: Sequence[Trouble]) -> dict[TroubleKey, Alert]:
    """Return those of the new troubles that their apps have no room for, with what would be told of each."""
    by_app: dict[str, list[Trouble]] = defaultdict(list)
    for trouble in new:
        by_app[trouble.key.app].append(trouble)
    left: dict[TroubleKey, Alert] = {}
    for app, of_app in by_app.items():
        most = select(alerts.c.app).where(alerts.c.app == app).limit(MOST_TROUBLES)
        counted = by_index(most, "PRIMARY", alerts).subquery()
        room = MOST_TROUBLES - sql.execute(select(func.count()).select_from(counted)).scalar_one()
        left |= {trouble.key: trouble.alert() for trouble in of_app[max(0, room) :]}
    return left


def _over_of_kinds(
    sql: Connection, troubles: Sequence[Trouble], now: int
) -> tuple[list[Trouble], list[Look]]:
    """Return the troubles that are over, and looks with more firings; those of several rules are asked about once."""
    kinds = [_as_looked_at(trouble) for trouble in troubles]
    over, full = _over_among(sql, list(dict.fromkeys(kinds)), now)
    return [trouble for trouble, kind in zip(troubles, kinds, strict=True) if kind in over], full


def _as_looked_at(trouble: Trouble) -> Trouble:
    """Return a trouble without what does not matter for whether it is over: whose it is, and what was told of it."""
    key = TroubleKey("", "", trouble.key.timer_id, AlertEvent.FIRST_FAILURE)
    untold = replace(trouble, told_at=None, told_times=0, told_timers=0, is_broken=False, began_at=0)
    return replace(untold, key=key, since=0, times=0, timers=NO_TIMERS, opened_at=0)


def _over_among(sql: Connection, troubles: Sequence[Trouble], now: int) -> tuple[set[Trouble], list[Look]]:
    """Return those of the troubles that are over: their host was seen to answer, or a firing of theirs succeeded.

    Of a host, a success counts that came after its last failure. Of each timer the latest firings are looked at; the
    looks of which there are more come with them.
    """
    over = {trouble for trouble in troubles if trouble.well_at is not None}
    asked = [
        (trouble, *looked_at)
        for trouble in troubles
        if trouble not in over
        for looked_at in _moments(trouble)
    ]
    found, full = _succeeded_among(sql, asked, now, MOST_LOOKED_AT)
    over |= found
    return over, [look for look in full if look[0] not in over]


def _succeeded_among(
    sql: Connection, asked: Sequence[Look], now: int, most: int
) -> tuple[set[Trouble], list[Look]]:
    """Return those of which one of the `most` latest firings says that they are over, and the looks that may have more
    firings than these.

    Each timer has a range of an index of its own: joined, MariaDB reads all firings of a timer from the first one on.
    """
    hint = "" if sql.dialect.name == "sqlite" else "FORCE INDEX (firing_of_timer) "
    over, full = set[Trouble](), list[Look]()
    for start in range(0, len(asked), LOOKS_A_STATEMENT):
        part = asked[start : start + LOOKS_A_STATEMENT]
        looks = [
            f"SELECT {number:d} AS number, COUNT(*) AS firings, MAX(status = '{FiringStatus.SUCCEEDED.value}'"
            f"{'' if trouble.late_ms is None else f' AND COALESCE(lateness_ms <= {trouble.late_ms:d}, 0)'}"
            f"{f' AND known_at >= {trouble.failed_at:d}' if trouble.key.is_of_host else ''}) AS is_over"
            f" FROM (SELECT status, lateness_ms, {_KNOWN_AT} FROM firing {hint}"
            f"WHERE timer_id = {timer_id:d} AND fire_at BETWEEN {fire_at:d} AND {now:d}"
            f" ORDER BY fire_at DESC LIMIT {most:d}) AS latest{number:d}"
            for number, (trouble, timer_id, fire_at) in enumerate(part)
        ]
        for number, firings_read, is_over in sql.exec_driver_sql(" UNION ALL ".join(looks)):
            if is_over:
                over.add(part[number][0])
            elif firings_read >= most:
                full.append(part[number])
    return over, full


def _moments(trouble: Trouble) -> list[tuple[int, int]]:
    """Return timers with the moments from which their firings may say that a trouble is over."""
    if not trouble.key.is_of_host:
        return [(trouble.key.timer_id, trouble.fire_at)]
    first: dict[int, int] = {}
    for firing in trouble.last:
        first[firing.timer_id] = min(firing.fire_at, first.get(firing.timer_id, firing.fire_at))
    return list(first.items())


def _forgotten_among(sql: Connection, troubles: Sequence[Trouble]) -> list[Trouble]:
    """Return those of the troubles whose timers have all ended: nothing will say that they are over."""
    timer_ids = {timer_id for trouble in troubles for timer_id in trouble.timer_ids}
    if not timer_ids:
        return []
    is_finished = and_(timers.c.status == TimerStatus.ENABLED.value, timers.c.next_fire_at.is_(None))
    living = select(timers.c.id).where(
        timers.c.id.in_(sorted(timer_ids)), timers.c.tombstone == 0, ~is_finished
    )
    alive = {row.id for row in sql.execute(by_index(living, "PRIMARY", timers))}
    return [trouble for trouble in troubles if alive.isdisjoint(trouble.timer_ids)]


def _deleted_among(sql: Connection, troubles: Sequence[Trouble], now: int) -> list[Trouble]:
    """Return those of the troubles of single timers whose timer is deleted: of a host, another timer may go on."""
    quiet = [
        trouble
        for trouble in troubles
        if not trouble.key.is_of_host and now - trouble.last_at >= DELETED_AFTER_MS
    ]
    living = _owners(sql, {trouble.key.timer_id for trouble in quiet}) if quiet else {}
    return [trouble for trouble in quiet if trouble.key.timer_id not in living]


def _are_of(app: str) -> tuple[ColumnElement[bool], ...]:
    # With a bound it is a range of the index, whatever the server believes of the table.
    return alert_notes.c.app == app, alert_notes.c.fire_at >= 0


def _notes_of(app: str, limit: int, *further: ColumnElement[bool]) -> Any:
    """Return the query that takes an app's notes; those that another transaction has are left to it."""
    notes = select(alert_notes).where(*_are_of(app), *further)
    query = by_index(notes.order_by(*alert_notes.primary_key).limit(limit), "PRIMARY", alert_notes)
    return query.with_for_update(skip_locked=True)


def _note_of(row: RowMapping) -> AlertNote:
    member = Member(row["timer_id"], row["fire_at"], row["attempt"])
    return AlertNote(
        member,
        FiringStatus(row["status"]),
        row["lateness_ms"],
        row["http_status"],
        row["error"],
        AlertPlace(row["app"], row["host"], row["target"]),
        row["known_at"],
        row["well_at"],
    )


class FiringState(NamedTuple):
    """What a firing's row says."""

    status: str
    attempt: int
    lateness_ms: int | None


def _rows_of(sql: Connection, keys: Iterable[MemberKey]) -> dict[MemberKey, FiringState]:
    return {(timer_id, fire_at): FiringState(*state) for timer_id, fire_at, *state in _ROWS.run(sql, keys)}


def _is_borne_out(note: AlertNote, row: FiringState) -> bool:
    """Tell whether a firing's row says the same as a note: an outcome may have come too late to count."""
    status, attempt, _ = row
    if note.status is FiringStatus.PENDING:
        return attempt > note.member.attempt
    if note.status is FiringStatus.FAILED and attempt > note.member.attempt:
        return True  # it was replayed since
    return status == note.status.value or note.status is FiringStatus.ACCEPTED


def _as_recorded(note: AlertNote, row: FiringState) -> AlertNote:
    """Return a note with the lateness on record, that of the first attempt: a later one has the pauses before it."""
    lateness_ms = None if note.lateness_ms is None else row.lateness_ms
    return replace(note, lateness_ms=lateness_ms, recorded_ms=row.lateness_ms)


def _owners(sql: Connection, timer_ids: Collection[int]) -> dict[int, tuple[str, str]]:
    """Return app and name of these timers; deleted ones have none."""
    query = select(timers.c.id, timers.c.app, timers.c.name)
    living = query.where(timers.c.id.in_(sorted(timer_ids)), timers.c.tombstone == 0)
    return {row.id: (row.app, row.name) for row in sql.execute(by_index(living, "PRIMARY", timers))}


def _failures_in_a_row(sql: Connection, timer_id: int, now: int, may_look_back: Callable[[], bool]) -> int:
    """Return how many attempts of a timer's latest firings have failed since one succeeded, by their moments.

    `may_look_back`: whether many firings may be read, where the latest ones do not say it. Where SQL has too little
    time for them, the latest count.
    """
    own = and_(firings.c.timer_id == timer_id, firings.c.fire_at <= now)
    query = by_index(select(firings.c.status, firings.c.attempt).where(own), "firing_of_timer")
    latest, number = query.order_by(firings.c.fire_at.desc()), 0
    for most in (MOST_LOOKED_AT, MOST_LOOKED_BACK):
        try:
            rows = sql.execute(latest.limit(most)).all()
        except OperationalError as error:
            if most == MOST_LOOKED_AT or not was_over_time(error):
                raise
            log.info("alerts_not_looked_back", timer_id=timer_id)
            break
        number, is_all = _failed_in_a_row(rows)
        is_enough = is_all or len(rows) < most or number >= MOST_LOOKED_AT
        if is_enough or most == MOST_LOOKED_BACK or not may_look_back():
            break
    return number


def _failed_in_a_row(rows: Iterable[Any]) -> tuple[int, bool]:
    """Return how many attempts have failed since the first firing that succeeded, and whether there was one."""
    number = 0
    for status, attempt in rows:
        if status == FiringStatus.SUCCEEDED.value:
            return number, True
        if status in _STATES:
            made = number_in_row(attempt) if attempt else 0
            number += made if status == FiringStatus.FAILED.value else max(0, made - 1)
    return number, False
