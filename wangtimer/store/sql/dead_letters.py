"""Dead letters in SQL: written with the outcome that fails a firing for good, gone once it is replayed."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    delete,
    exists,
    func,
    literal_column,
    not_,
    select,
)
from sqlalchemy.engine import Dialect

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.errors import InvalidInput
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.dead_letter import DeadLetter, Failure
from wangtimer.core.flow.firing import FiringKind, FiringStatus, MemberKey
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.parts import PARTS_OF_COUNTS, PartRule, end_of_patience, parts_of
from wangtimer.store.sql.statements import (
    KeyedStatement,
    ManyRows,
    Texts,
    asked_for,
    behind,
    by_index,
    delete_of_keys,
    insert_ignore,
    number,
    readable_page,
)
from wangtimer.store.sql.tables import apps, dead_letters, firings, timers

# Reasons and targets that a count names; the rest is in the total alone.
MOST_COUNTED = 100
# Targets that a count keeps of each part of the time: an app may call ever new hosts.
MOST_PLACES = 1_000
_KEY = (dead_letters.c.failed_at, dead_letters.c.timer_id, dead_letters.c.fire_at)
_INSERTED = tuple(column.name for column in dead_letters.c)
_PARTS = PartRule(shortest_ms=1_000, growth=8)
_ASKED = asked_for(*dead_letters.c, table=dead_letters, index="dead_letter_of_firing")
_ANY = KeyedStatement(_ASKED)
_LOCKED = KeyedStatement(_ASKED.with_for_update())
# What is written of failed firings.
_FAILED = KeyedStatement(
    by_index(
        asked_for(
            *(
                firings.c[name]
                for name in ("timer_id", "fire_at", "kind", "attempt", "due_at", "http_status", "error")
            ),
            *(timers.c[name] for name in ("app", "name", "target")),
        )
        .join(timers, timers.c.id == firings.c.timer_id)
        .where(firings.c.status == literal_column(f"'{FiringStatus.FAILED.value}'")),
        "PRIMARY",
        timers,
    )
)


def keep_dead_letters(sql: Connection, outcomes: Sequence[Outcome]) -> None:
    """Keep a letter of each firing that failed for good, in the transaction that wrote its outcome; repeatable.

    An outcome that changed nothing leaves nothing.
    """
    by_key = {outcome.member.key: outcome for outcome in outcomes if outcome.status is FiringStatus.FAILED}
    rows = _FAILED.run(sql, by_key)
    of_rows = [(row, by_key[row.timer_id, row.fire_at]) for row in rows]
    letters = [_letter_of(row, outcome) for row, outcome in of_rows if row.attempt == outcome.member.attempt]
    _inserting(sql.dialect).run(sql, letters, _written)


def forget_dead_letters(sql: Connection, keys: Sequence[MemberKey]) -> None:
    """Forget those of these firings, each (timer_id, fire_at): they are not dead any more."""
    delete_of_keys(sql, dead_letters, keys, "dead_letter_of_firing")


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which dead letters: each condition that is given must hold. `first` and `last` (ms UTC) bound `failed_at`.

    `app` None: of all apps. `host` is a host and port, with `*` at any port. `is_living`: of timers that are not
    deleted.
    """

    app: str | None
    timer_id: int | None = None
    reason: str | None = None
    host: str | None = None
    target: str | None = None
    first: int | None = None
    last: int | None = None
    is_living: bool = False

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """All but the time."""
        is_at_any_port = self.host is not None and self.host.endswith(":*")
        given = (
            (self.app, dead_letters.c.app),
            (self.timer_id, dead_letters.c.timer_id),
            (self.reason, dead_letters.c.reason),
            (None if is_at_any_port else self.host, dead_letters.c.host),
            (self.target, dead_letters.c.target),
        )
        found: list[ColumnElement[bool]] = [column == value for value, column in given if value is not None]
        if self.host is not None and is_at_any_port:
            found.append(dead_letters.c.host.regexp_match(f"^{re.escape(self.host[:-1])}[0-9]+$"))
        if self.is_living:
            its_timer = and_(timers.c.id == dead_letters.c.timer_id, timers.c.tombstone == 0)
            found.append(exists().where(its_timer))
        return found

    @property
    def index(self) -> str:
        """The index that has them in the order in which they failed."""
        return "dead_letter_failed" if self.app is None else "PRIMARY"


class CalledTarget(NamedTuple):
    """What was called: the named target, if any, and host and port."""

    target: str | None
    host: str


@dataclass(frozen=True, slots=True)
class DeadLetterCounts:
    """How many there are, and how many of each reason and each target, the most first, `MOST_COUNTED` at most."""

    total: int
    by_reason: Mapping[str, int]
    by_target: Mapping[CalledTarget, int]


class DeadLetterStore(SqlStore):
    """Lists and counts dead letters of an app or of all, discards an app's, and forgets those past their time."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock
        self._purges = 0

    def page(
        self, wanted: DeadLetterFilter, limit: int, after: tuple[int, int, int] | None = None
    ) -> list[DeadLetter]:
        """Return up to `limit` letters, latest first, behind a key (`failed_at`, timer, `fire_at`).

        Raises `InvalidInput` if they are not found within 8 s.
        """
        wanted = self._bounded(wanted if after is None else _up_to(wanted, after[0]))
        return self._first_of(wanted, limit, after, latest_first=True)

    def oldest(self, wanted: DeadLetterFilter, limit: int) -> list[DeadLetter]:
        """Return up to `limit` letters, the oldest first; raises as `page`."""
        return self._first_of(self._bounded(wanted), limit)

    def of(self, app: str, keys: Sequence[MemberKey]) -> dict[MemberKey, DeadLetter]:
        """Return the app's letters of these firings; firings without one are absent."""
        rows = self._database.read(lambda sql: _ANY.run(sql, keys))
        return {letter.key: letter for letter in map(_read, rows) if letter.app == app}

    def count(self, wanted: DeadLetterFilter) -> DeadLetterCounts:
        """Count letters; raises `InvalidInput` if they are too many to count within 8 s."""
        wanted = self._bounded(wanted)
        number = func.count().label("number")
        reason, place = dead_letters.c.reason, (dead_letters.c.target, dead_letters.c.host)
        of_reasons = _wanted(select(reason, number), wanted).group_by(reason)
        of_places = _wanted(select(*place, number), wanted).group_by(*place)
        of_places = of_places.order_by(number.desc()).limit(MOST_PLACES)
        reasons: Counter[str] = Counter()
        places: Counter[CalledTarget] = Counter()
        for part in self._parts(wanted, PARTS_OF_COUNTS):
            within = dead_letters.c.failed_at.between(*part)
            reasons.update({row.reason: row.number for row in self._rows(of_reasons.where(within))})
            found = self._rows(of_places.where(within))
            places.update({CalledTarget(row.target, row.host): row.number for row in found})
            places = Counter(dict(places.most_common(MOST_PLACES)))
        most = dict(reasons.most_common(MOST_COUNTED)), dict(places.most_common(MOST_COUNTED))
        return DeadLetterCounts(reasons.total(), *most)

    def number_after(self, wanted: DeadLetterFilter, last: DeadLetter) -> int:
        """Return how many letters are behind this one, the oldest first; 1 where they are too many to count in 8 s."""
        try:
            later = self._bounded(replace(wanted, first=last.failed_at))
            key = (last.failed_at, last.timer_id, last.fire_at)
            query = _wanted(select(func.count().label("number")), later).where(behind(_KEY, key))
            parts = self._parts(later, PARTS_OF_COUNTS)
            return sum(
                self._rows(query.where(dead_letters.c.failed_at.between(*part)))[0].number for part in parts
            )
        except InvalidInput:
            return 1

    def discard(self, letters: Sequence[DeadLetter], now: int) -> int:
        """Forget these letters, and put that on record; return how many were there and had not failed anew."""
        wanted = set(letters)

        def work(sql: Connection) -> int:
            rows = _LOCKED.run(sql, [letter.key for letter in letters])
            held = [letter for letter in map(_read, rows) if letter in wanted]
            forget_dead_letters(sql, [letter.key for letter in held])
            note_changes(sql, now, [_discarding(letter) for letter in held])
            return len(held)

        return self._database.write(work) if letters else 0

    def purge(self, now: int, usual_ms: int, limit: int) -> int:
        """Forget up to `limit` letters that are past the time of their app, or `usual_ms` (ms); return how many.

        Each call begins with another app, so that none waits for one that fails all the time.
        """

        def work(sql: Connection) -> int:
            ends = {
                app: before
                for app, at, days in sql.execute(_oldest_of_each()).all()
                if at < (before := now - (usual_ms if days is None else days * DAY_MS))
            }
            gone, names = 0, list(ends)
            self._purges += 1
            for place in range(len(names)):
                app = names[(place + self._purges) % len(names)]
                gone += _forget(sql, app, ends[app], limit - gone)
                if gone >= limit:
                    break
            return gone

        return self._database.write(work, FailPoint.SQL_PURGE_DEAD_LETTERS, waits_for_locks=False)

    def _bounded(self, wanted: DeadLetterFilter) -> DeadLetterFilter:
        """Return the filter with a first and a last moment; the first is later if there can be none."""
        ends = select(func.min(dead_letters.c.failed_at), func.max(dead_letters.c.failed_at))
        ends = ends if wanted.app is None else ends.where(dead_letters.c.app == wanted.app)
        query = by_index(ends, wanted.index, dead_letters)
        first, last = self._database.read(lambda sql: sql.execute(query).one())
        if first is None:
            return replace(wanted, first=0, last=-1)
        return replace(
            wanted,
            first=first if wanted.first is None else max(first, wanted.first),
            last=last if wanted.last is None else min(last, wanted.last),
        )

    def _parts(self, wanted: DeadLetterFilter, rule: PartRule, *, latest_first: bool = False) -> Any:
        assert wanted.first is not None
        assert wanted.last is not None
        first, last, ends_at = wanted.first, wanted.last, end_of_patience(self._clock)
        return parts_of(
            first,
            last,
            rule,
            self._clock,
            ends_at,
            wanted.app,
            latest_first=latest_first,
            rows="dead letters",
        )

    def _first_of(
        self,
        wanted: DeadLetterFilter,
        limit: int,
        after: tuple[int, int, int] | None = None,
        *,
        latest_first: bool = False,
    ) -> list[DeadLetter]:
        query = _wanted(select(dead_letters), wanted)
        parts = self._parts(wanted, _PARTS, latest_first=latest_first)
        within = (dead_letters.c.failed_at.between(*part) for part in parts)
        return readable_page(
            self._database, query, _KEY, after, limit, _read, descending=latest_first, parts=within
        )


def _forget(sql: Connection, app: str, before: int, limit: int) -> int:
    past = and_(dead_letters.c.app == app, dead_letters.c.failed_at < before)
    query = by_index(select(*_KEY).where(past).order_by(*_KEY).limit(limit), "PRIMARY", dead_letters)
    page = sql.execute(query).all()
    if not page:
        return 0
    up_to = and_(past, not_(behind(_KEY, tuple(page[-1]))))
    return int(sql.execute(delete(dead_letters).where(up_to)).rowcount)


def _oldest_of_each() -> Any:
    """Return the query for each app's oldest letter, and its days; MariaDB seeks once for each app."""
    ends = select(dead_letters.c.app, func.min(dead_letters.c.failed_at).label("at"))
    oldest = by_index(ends, "PRIMARY", dead_letters).group_by(dead_letters.c.app).subquery("oldest")
    its_app = oldest.outerjoin(apps, apps.c.name == oldest.c.app)
    return select(oldest.c.app, oldest.c.at, apps.c.dead_letter_days).select_from(its_app)


def _wanted(query: Any, wanted: DeadLetterFilter) -> Any:
    return by_index(query.where(*wanted.conditions), wanted.index, dead_letters)


def _up_to(wanted: DeadLetterFilter, last: int) -> DeadLetterFilter:
    return replace(wanted, last=last if wanted.last is None else min(last, wanted.last))


def _discarding(letter: DeadLetter) -> AuditedChange:
    return AuditedChange(
        Action.DISCARD,
        AuditedKind.FIRING,
        str(letter.timer_id),
        letter.app,
        letter.name,
        fire_at=letter.fire_at,
    )


def _letter_of(row: Row[Any], outcome: Outcome) -> DeadLetter:
    failure = Failure.of(outcome)
    return DeadLetter(
        row.app,
        row.due_at if failure.failed_at is None else failure.failed_at,
        row.timer_id,
        row.fire_at,
        row.name,
        FiringKind(row.kind),
        failure.reason,
        failure.host,
        row.target,
        row.attempt,
        row.http_status,
        row.error,
    )


@cache
def _inserting(dialect: Dialect) -> ManyRows:
    return ManyRows(insert_ignore(dead_letters), _INSERTED, dialect)


def _written(letter: DeadLetter, texts: Texts) -> str:
    """Write a letter, in the order of the table's columns: so its texts are written too."""
    return (
        f"({texts.write(letter.app)},{number(letter.failed_at)},{number(letter.timer_id)},{number(letter.fire_at)},"
        f"{texts.write(letter.name)},'{letter.kind.value}',{texts.write(letter.reason)},{texts.write(letter.host)},"
        f"{'NULL' if letter.target is None else texts.write(letter.target)},"
        f"{number(letter.attempt)},{number(letter.http_status)},{texts.write(letter.error)})"
    )


def _read(row: Row[Any]) -> DeadLetter:
    return DeadLetter(**(row._asdict() | {"kind": FiringKind(row.kind)}))
