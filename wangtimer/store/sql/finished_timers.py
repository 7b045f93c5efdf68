"""Finished timers: found by an index in the order in which they may be deleted, and deleted page by page.

A finished timer is enabled, has no moment left to plan (`next_fire_at` NULL), all its firings have outcomes, and what
their answers make of it is done. Its last moment is `planned_until`.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Select, and_, or_, select, union_all, update

from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import WITHDRAWN, FiringStatus
from wangtimer.core.timers.fields import KEPT_AFTER_FAILURE
from wangtimer.core.timers.timer import TimerStatus
from wangtimer.store.sql.app_totals import AppTotals
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.statements import behind, by_index, update_by_index
from wangtimer.store.sql.tables import dead_letters, firings, reply_controls, timers
from wangtimer.store.sql.timer_rows import EMPTIED
from wangtimer.store.sql.timers import remove_tags

# So many of a timer's latest firings are looked at. A retry, replay or backfill that waits behind more others is not
# found; it is then skipped, as its timer is deleted.
LATEST_LOOKED_AT = 10_000
# Each timer is a part of one compound statement; SQLite takes 500 parts.
TIMERS_A_QUERY = 100
_KEY = (timers.c.planned_until, timers.c.id)


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """How many timers were deleted, and the key of the last one looked at; None: there are no more."""

    deleted: int
    last: tuple[int, int] | None


class FinishedTimers:
    """Deletes finished timers: their names become free, their firings' records stay as long as any."""

    def __init__(self, database: Database, app_totals: AppTotals) -> None:
        self._database = database
        self._totals = app_totals

    def kept_days(self) -> list[int]:
        """Return the retention days of finished timers, without `KEPT_AFTER_FAILURE`; one index seek each."""
        found: list[int] = []
        while (following := self._next_days(found[-1] if found else -1)) is not None:
            found.append(following)
        return found

    def delete_page(
        self, days: int | None, upto: int, after: tuple[int, int], limit: int, now: int
    ) -> FinishedPage:
        """Delete finished timers kept for these days whose last moment was by `upto` (ms UTC), after a key.

        At most `limit` are looked at. A timer stays if one of its firings waits, if what an answer makes of it is still
        to be done, or if it is changed meanwhile. A timer kept for 0 days stays if its last firing failed or was left
        out by a policy, or if it has dead letters, so that they can be replayed: its days become `KEPT_AFTER_FAILURE`.
        """
        query = _finished(days).where(timers.c.planned_until <= upto, behind(_KEY, after))
        query = query.order_by(*_KEY).limit(limit)

        def work(sql: Connection) -> FinishedPage:
            found = [(row.planned_until, row.id) for row in sql.execute(query)]
            if not found:
                return FinishedPage(0, None)
            apps_of = _locked(sql, days, upto, [timer_id for _, timer_id in found])
            ids = list(apps_of)
            waiting = _with_latest(sql, ids, LATEST_LOOKED_AT, _waits)
            # After that look: a control is there as soon as its firing waits no more.
            waiting |= _to_be_controlled(sql, ids)
            settled = [timer_id for timer_id in ids if timer_id not in waiting]
            lost = (
                _with_latest(sql, settled, 1, _is_lost) | _with_dead_letters(sql, settled)
                if days == 0
                else set()
            )
            _keep(sql, lost)
            gone = [timer_id for timer_id in settled if timer_id not in lost]
            _delete(sql, gone, now)
            self._totals.take_timers(sql, (apps_of[timer_id] for timer_id in gone))
            return FinishedPage(len(gone), found[-1] if len(found) == limit else None)

        return self._database.write(work, FailPoint.SQL_PURGE_FINISHED, waits_for_locks=False)

    def _next_days(self, days: int) -> int | None:
        query = select(timers.c.keep_days).where(_is_finished(), timers.c.keep_days > days)
        query = by_index(query.order_by(timers.c.keep_days).limit(1), "timer_finished", timers)
        return self._database.read(lambda sql: sql.execute(query).scalar_one_or_none())


def _is_finished() -> ColumnElement[bool]:
    return and_(timers.c.status == TimerStatus.ENABLED.value, timers.c.next_fire_at.is_(None))


def _finished(days: int | None) -> Select[Any]:
    """Return the query for finished timers kept for these days; deleted ones are not enabled, so not among them."""
    is_kept = timers.c.keep_days.is_(None) if days is None else timers.c.keep_days == days
    return by_index(select(*_KEY).where(_is_finished(), is_kept), "timer_finished", timers)


def _locked(sql: Connection, days: int | None, upto: int, ids: Sequence[int]) -> dict[int, str]:
    """Return timers that are as they were read, with their apps, locked from now on; held ones are left out."""
    is_kept = timers.c.keep_days.is_(None) if days is None else timers.c.keep_days == days
    same = and_(timers.c.id.in_(sorted(ids)), _is_finished(), is_kept, timers.c.planned_until <= upto)
    query = by_index(select(timers.c.id, timers.c.app).where(same), "PRIMARY", timers)
    query = query.order_by(timers.c.id).with_for_update(skip_locked=True)
    return {row.id: row.app for row in sql.execute(query)}


def _with_latest(
    sql: Connection, ids: Sequence[int], latest: int, is_meant: Callable[[FromClause], ColumnElement[bool]]
) -> set[int]:
    """Return the timers with a firing that is meant among their latest ones, of which `latest` are looked at.

    A pending firing of a finished timer is a retry, a replay or one that somebody asked for.
    """
    found: set[int] = set()
    for start in range(0, len(ids), TIMERS_A_QUERY):
        page = [_among_latest(timer_id, latest, is_meant) for timer_id in ids[start : start + TIMERS_A_QUERY]]
        found |= set(sql.execute(union_all(*page)).scalars())
    return found


def _among_latest(
    timer_id: int, latest: int, is_meant: Callable[[FromClause], ColumnElement[bool]]
) -> Select[Any]:
    rows = select(firings.c.timer_id, firings.c.status, firings.c.error).where(firings.c.timer_id == timer_id)
    rows = by_index(rows.order_by(firings.c.fire_at.desc()).limit(latest), "firing_of_timer")
    looked_at = rows.subquery()
    return select(select(looked_at.c.timer_id).where(is_meant(looked_at)).limit(1).subquery())


def _waits(rows: FromClause) -> ColumnElement[bool]:
    return rows.c.status.in_([FiringStatus.PENDING.value, FiringStatus.ACCEPTED.value])


def _is_lost(rows: FromClause) -> ColumnElement[bool]:
    """Tell whether a firing failed, or was left out though its timer's owner wanted it."""
    was_left_out = and_(rows.c.status == FiringStatus.SKIPPED.value, rows.c.error.not_in(WITHDRAWN))
    return or_(rows.c.status == FiringStatus.FAILED.value, was_left_out)


def _with_dead_letters(sql: Connection, ids: Sequence[int]) -> set[int]:
    if not ids:
        return set()
    query = select(dead_letters.c.timer_id).where(dead_letters.c.timer_id.in_(sorted(ids))).distinct()
    return set(sql.execute(by_index(query, "dead_letter_of_firing", dead_letters)).scalars())


def _to_be_controlled(sql: Connection, ids: Sequence[int]) -> set[int]:
    """Return the timers of which answers make something that is still to be done."""
    if not ids:
        return set()
    query = select(reply_controls.c.timer_id).where(reply_controls.c.timer_id.in_(sorted(ids))).distinct()
    return set(sql.execute(by_index(query, "PRIMARY", reply_controls)).scalars())


def _keep(sql: Connection, ids: Collection[int]) -> None:
    """Give failed timers their longer retention, so that no purge looks at them before its end."""
    if not ids:
        return
    kept = update(timers).where(timers.c.id.in_(sorted(ids))).values(keep_days=KEPT_AFTER_FAILURE)
    sql.execute(update_by_index(kept, "PRIMARY"))


def _delete(sql: Connection, ids: Sequence[int], now: int) -> None:
    if not ids:
        return
    columns = {
        "status": TimerStatus.DELETED.value,
        "tombstone": timers.c.id,
        "version": timers.c.version + 1,
        "updated_at": now,
    } | EMPTIED
    sql.execute(update_by_index(update(timers).where(timers.c.id.in_(ids)).values(columns), "PRIMARY"))
    remove_tags(sql, ids)
