"""Timers that name an uploaded calendar: which of them have its present days, and which do not yet."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    RowMapping,
    Select,
    and_,
    case,
    cast,
    func,
    select,
    update,
)

from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.timers.bad_timers import BadTimers, reason_of
from wangtimer.core.timers.timer import Timer
from wangtimer.store.app_total import NOTHING, Total
from wangtimer.store.bounds import calendar_fields, calendar_from
from wangtimer.store.sql.app_totals import AppTotals
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import insert_missing
from wangtimer.store.sql.planning_marks import move_marks
from wangtimer.store.sql.statements import by_index, update_by_index
from wangtimer.store.sql.tables import calendars, timers
from wangtimer.store.sql.timer_rows import bounds_text, read_rows, timer_of
from wangtimer.store.sql.timers import changed_to
from wangtimer.store.sql.while_unchanged import while_unchanged


class Upload(NamedTuple):
    """A calendar as it was uploaded at `at` (ms UTC); no two uploads of it share that moment."""

    app: str
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Timers that name a calendar, those with older days, and those that cannot take its days (the first by id)."""

    followers: int
    left: int
    refused: int
    refused_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Following:
    """A timer with the calendar's days, and the first part of its new plan, which begins at the moment of change."""

    timer: Timer
    plan: Plan


@dataclass(slots=True)
class Page:
    """What one transaction did: timers as they then stand, firings that wait, timers refused and why.

    `apart` are timers that must be planned first. `is_done`: no timer has older days any more. `is_held`: somebody else
    holds those that have.
    """

    changed: list[Timer] = field(default_factory=list)
    pending: list[Firing] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    apart: list[Timer] = field(default_factory=list)
    is_done: bool = False
    is_held: bool = False


# Returns how a timer follows a calendar; None if it has its days already. May raise to refuse.
Follow = Callable[[Timer, Calendar], Following | None]


class CalendarFollowers:
    """`timer.calendar_at` says which upload a timer's days come from; a negative one, which upload it cannot take.

    So the rows themselves hold the work that an upload causes. If a process dies, the next goes on; of two at once each
    passes over the rows that the other holds.
    """

    def __init__(self, database: Database, bad_timers: BadTimers, app_totals: AppTotals) -> None:
        self._database = database
        self._bad_timers = bad_timers
        self._totals = app_totals

    def refuse_growth(self, app: str, calendar: Calendar, now: int) -> None:
        """Raise `LimitReached` if the timers that name a calendar would take too many bytes with these days.

        Nothing is kept free for them: `follow` refuses those that have no room then. Raises `StoreAway`.
        """
        if not self._totals.are_kept(app):
            return
        own = and_(calendars.c.app == app, calendars.c.name == calendar.name)
        present = select(func.length(cast(calendars.c.content, LargeBinary))).where(own)

        def work(sql: Connection) -> None:
            size = sql.execute(present).scalar_one_or_none()
            more = 0 if size is None else len(orjson.dumps(calendar_fields(calendar))) - size
            if more > 0:
                growth = Total(bytes=more * sql.execute(_number_of(app, calendar.name)).scalar_one())
                self._totals.move(sql, app, growth, now)
                self._totals.move(sql, app, NOTHING - growth, now)

        self._totals.transact(lambda: self._database.write(work), now)

    @while_unchanged
    def uploads_to_follow(self, limit: int) -> list[Upload]:
        """Return uploads for which some timer may still have older days."""
        columns = (calendars.c.app, calendars.c.name, calendars.c.updated_at)
        query = by_index(select(*columns).where(calendars.c.followed_at == 0), "calendar_followed", calendars)
        query = query.limit(limit)
        return self._database.read(lambda sql: [Upload(*row) for row in sql.execute(query)])

    def progress(self, app: str, name: str) -> Progress:
        """Return how many of the app's timers that name the calendar follow it."""
        return self._database.read(lambda sql: _progress(sql, app, name))

    def follow(
        self,
        upload: Upload,
        limit: int,
        now: int,
        follow: Follow,
        firings_of: Callable[[list[Plan]], list[Firing]],
        refused_apart: Mapping[int, str] | None = None,
        is_time_over: Callable[[], bool] = lambda: False,
    ) -> Page:
        """Let up to `limit` timers follow an upload, in one transaction; raises `StoreAway`.

        `is_time_over` is asked after each timer: if True no further one is looked at, so that rows are not locked long.
        A timer for whose days the app has no room is refused.

        A timer with unplanned due moments goes into `apart`. If it cannot follow alone either, the next call gets it,
        with the reason, in `refused_apart`. An upload that was replaced by another is done. Repeating it is harmless.
        """
        already_refused = dict(refused_apart or {})

        def work(sql: Connection) -> Page:
            page = Page(refused=dict(already_refused))
            _refuse(sql, upload, already_refused)
            calendar = _calendar(sql, upload)
            if calendar is None:
                page.is_done = True
                return page
            query = by_index(select(timers).where(_to_follow(upload)), "timer_follows", timers)
            query = query.order_by(timers.c.calendar_at, timers.c.id).limit(limit)
            query = query.with_for_update(skip_locked=True)
            rows = sql.execute(query).mappings().all()
            in_time = InTime(rows, is_time_over)
            followings, same = _sorted_out(in_time, calendar, now, follow, page)
            _mark(sql, same, upload.at)
            followings = self._with_room(sql, upload, followings, rows, now, page)
            at = {"calendar_at": upload.at}
            page.changed, page.pending = write_followings(sql, followings, at, now, firings_of)
            _refuse(sql, upload, page.refused)
            if len(rows) < limit and in_time.is_all and not page.apart:
                page.is_done = _finish(sql, upload)
                page.is_held = not page.is_done
            return page

        page = self._totals.transact(
            lambda: self._database.write(work, FailPoint.SQL_FOLLOW_CALENDAR, waits_for_locks=False), now
        )
        if page.refused:
            self._bad_timers.note(page.refused)
        return page

    def _with_room(
        self,
        sql: Connection,
        upload: Upload,
        followings: list[Following],
        rows: Sequence[RowMapping],
        now: int,
        page: Page,
    ) -> list[Following]:
        """Move the app's total, and return the timers for whose new days it has room; the others are refused."""
        if not self._totals.are_kept(upload.app):
            return followings
        were = {row["id"]: row["bounds"] for row in rows}
        growths = [
            Total(bytes=_size(_bounds_of(following)) - _size(were[following.timer.id]))
            for following in followings
        ]
        whys = self._totals.move_some(sql, upload.app, growths, now)
        for following, why in zip(followings, whys, strict=True):
            if why is not None:
                page.refused[following.timer.id] = reason_of(
                    f"it cannot follow calendar {upload.name!r}", why
                )
        return [following for following in followings if following.timer.id not in page.refused]

    def calendar(self, upload: Upload) -> Calendar | None:
        """Return the calendar; None if it has been uploaded again since, or deleted."""
        return self._database.read(lambda sql: _calendar(sql, upload))


def _followers(app: str, name: str) -> ColumnElement[bool]:
    return and_(timers.c.app == app, timers.c.calendar == name, timers.c.tombstone == 0)


def _number_of(app: str, name: str) -> Select[Any]:
    number = by_index(select(func.count()).select_from(timers), "timer_follows", timers)
    return number.where(_followers(app, name))


def _to_follow(upload: Upload) -> ColumnElement[bool]:
    """Return the condition on timers with older days: upload moments only grow, so one range of the index has them."""
    is_older = and_(timers.c.calendar_at > -upload.at, timers.c.calendar_at < upload.at)
    return and_(_followers(upload.app, upload.name), is_older)


def _progress(sql: Connection, app: str, name: str) -> Progress:
    own = and_(calendars.c.app == app, calendars.c.name == name)
    marks = sql.execute(select(calendars.c.updated_at, calendars.c.followed_at).where(own)).one_or_none()
    followers = sql.execute(_number_of(app, name)).scalar_one()
    if marks is None:
        return Progress(followers, 0, 0)
    upload = Upload(app, name, marks.updated_at)
    # Once it is done none is left.
    left = 0
    if marks.followed_at == 0:
        left = sql.execute(_number_of(app, name).where(_to_follow(upload))).scalar_one()
    is_refused = and_(_followers(app, name), timers.c.calendar_at == -upload.at)
    refused = sql.execute(_number_of(app, name).where(is_refused)).scalar_one()
    first = by_index(select(timers.c.id).where(is_refused), "timer_follows", timers)
    ids = sql.execute(first.order_by(timers.c.id).limit(10)).scalars()
    return Progress(followers, left, refused, tuple(ids))


def _is(upload: Upload) -> ColumnElement[bool]:
    own = and_(calendars.c.app == upload.app, calendars.c.name == upload.name)
    return and_(own, calendars.c.updated_at == upload.at)


def _calendar(sql: Connection, upload: Upload) -> Calendar | None:
    """Return the calendar; None if it has been uploaded again since, or deleted."""
    text = sql.execute(select(calendars.c.content).where(_is(upload))).scalar_one_or_none()
    return None if text is None else calendar_from(orjson.loads(text))


class InTime:
    """Yields rows until the time is over, the first in any case. `is_all`: every row was yielded."""

    def __init__(self, rows: Sequence[RowMapping], is_time_over: Callable[[], bool]) -> None:
        self._rows = rows
        self._is_time_over = is_time_over
        self.is_all = not rows

    def __iter__(self) -> Iterator[RowMapping]:
        for number, row in enumerate(self._rows, 1):
            yield row
            self.is_all = number == len(self._rows)
            if self._is_time_over():
                return


def _sorted_out(
    rows: Iterable[RowMapping], calendar: Calendar, now: int, follow: Follow, page: Page
) -> tuple[list[Following], list[int]]:
    """Return how timers follow the calendar, and the ids of those that have its days already."""
    followings, same = [], []
    for timer in _read_one_by_one(rows, page):
        try:
            following = follow(timer, calendar)
        except Exception as error:
            page.refused[timer.id] = reason_of(f"it cannot follow calendar {calendar.name!r}", error)
            continue
        if following is None:
            same.append(timer.id)
        elif timer.definition.is_enabled and timer.next_fire_at is not None and timer.next_fire_at <= now:
            page.apart.append(timer)
        else:
            followings.append(following)
    return followings, same


def _read_one_by_one(rows: Iterable[RowMapping], page: Page) -> Iterator[Timer]:
    for row in rows:
        found = read_rows([row], timer_of)
        page.refused |= found.bad
        yield from found.values()


def write_followings(
    sql: Connection,
    followings: Sequence[Following],
    also: dict[str, Any],
    now: int,
    firings_of: Callable[[list[Plan]], list[Firing]],
) -> tuple[list[Timer], list[Firing]]:
    """Write bounds and marks, equal bounds together, and the plans' firings. `also` has further columns."""
    alike: defaultdict[str | None, list[int]] = defaultdict(list)
    for following in followings:
        alike[_bounds_of(following)].append(following.timer.id)
    # MySQL assigns from left to right, in the order of the table's columns.
    changed = {"edited_before_at": timers.c.edited_at, "edited_at": now, "updated_at": now}
    begins_here = timers.c.followed_to != timers.c.version
    changed |= also | {
        "followed_from": case((begins_here, timers.c.version), else_=timers.c.followed_from),
        "followed_to": timers.c.version + 1,
        "version": timers.c.version + 1,
    }
    for text, ids in alike.items():
        _update(sql, ids, changed | {"bounds": text})
    plans = [following.plan for following in followings]
    move_marks(sql, plans)
    with_moments = [plan for plan in plans if plan.moments]
    pending = insert_missing(sql, firings_of(with_moments)) if with_moments else []
    return [
        changed_to(following.timer.definition.status, following.timer, now) for following in followings
    ], pending


def _bounds_of(following: Following) -> str | None:
    return bounds_text(following.timer.definition.schedule, following.timer.ending)


def _size(text: str | None) -> int:
    return len((text or "").encode())


def _mark(sql: Connection, ids: Sequence[int], at: int) -> None:
    if ids:
        _update(sql, ids, {"calendar_at": at})


def _update(sql: Connection, ids: Sequence[int], columns: dict[str, Any]) -> None:
    changing = update(timers).where(timers.c.id.in_(ids)).values(columns)
    sql.execute(update_by_index(changing, "PRIMARY"))


def _refuse(sql: Connection, upload: Upload, refused: Mapping[int, str]) -> None:
    if refused:
        own = and_(_to_follow(upload), timers.c.id.in_(list(refused)))
        sql.execute(update_by_index(update(timers).where(own).values(calendar_at=-upload.at), "PRIMARY"))


def _finish(sql: Connection, upload: Upload) -> bool:
    """Note that no timer has older days, if so; a transaction that makes such a timer locks the calendar's row."""
    held = sql.execute(select(calendars.c.updated_at).where(_is(upload)).with_for_update()).one_or_none()
    if held is None:
        return True
    left = by_index(select(timers.c.id).where(_to_follow(upload)).limit(1), "timer_follows", timers)
    if sql.execute(left).one_or_none() is not None:
        return False
    sql.execute(update(calendars).where(_is(upload)).values(followed_at=upload.at))
    return True
