"""Many timers at once: a few statements for all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, insert, not_, or_, select, update
from sqlalchemy.exc import IntegrityError

from wangtimer.core.errors import Conflict, InvalidInput, LimitReached
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.schedule import ENDLESS, bounds_in
from wangtimer.core.timers.named_target import WhyNoTask
from wangtimer.core.timers.timer import NewTimer, Timer, TimerIds, TimerStatus
from wangtimer.store.app_total import Total, counted
from wangtimer.store.call_text import notify_text
from wangtimer.store.seals import Seals
from wangtimer.store.sql.app_totals import AppTotals
from wangtimer.store.sql.audit import creation_of, disabling_of, note_changes, switch_of
from wangtimer.store.sql.calendars import calendar_mark
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import insert_missing
from wangtimer.store.sql.planning_marks import move_marks
from wangtimer.store.sql.statements import by_index, update_by_index
from wangtimer.store.sql.tables import timer_tags, timers
from wangtimer.store.sql.timer_changes import FirstTry, misfits
from wangtimer.store.sql.timer_rows import (
    EMPTIED,
    bytes_of_row,
    inserting,
    read_rows,
    terms,
    timer_of,
    written_row,
)
from wangtimer.store.sql.timers import (
    change,
    changed_to,
    enabled_at_once,
    marked,
    marks_of,
    new_row,
    remove_tags,
)

# If others create timers of the same names meanwhile, the rest is tried again, this often.
TRIES = 5

# Versions by timer's id, as they were read.
Versions = Mapping[int, int]

# Returns the firings of plans, sorted by key.
FiringsOf = Callable[[list[Plan]], list[Firing]]

_NAMED = by_index(
    select(timers).where(
        timers.c.app == bindparam("of_app"),
        timers.c.tombstone == 0,
        timers.c.name.in_(bindparam("names", expanding=True)),
    ),
    "timer_app_name",
    timers,
)


@dataclass(frozen=True, slots=True)
class Enabled:
    """Timers as they stand enabled, and the firings that wait to be added to slices.

    `used_up`: ids of timers that stay disabled, because their last moment has its outcome already. `refused`: those
    that would be too much for their app. A timer in neither was changed meanwhile.
    """

    timers: list[Timer]
    pending: list[Firing]
    used_up: set[int]
    refused: dict[int, LimitReached] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NameTaken:
    """A name that is in use, by the timer of this id."""

    by: int


# What becomes of a draft.
Stored = Timer | NameTaken | InvalidInput | LimitReached


@dataclass(frozen=True, slots=True)
class Draft:
    """A new timer: its row, and how it stands once it is stored. With its first plan, `near`, it is stored enabled."""

    new: NewTimer
    row: dict[str, Any]
    timer: Timer
    near: Plan | None = None

    @property
    def moments(self) -> tuple[int, ...]:
        """The moments of its first plan."""
        return () if self.near is None else self.near.moments

    def enabled_by(self, near: Plan) -> "Draft":
        """Return the draft of the enabled timer."""
        made = enabled_at_once(near)
        row = self.row | marks_of(made)
        if made.ending != self.new.ending:
            # Its moments are counted from now on.
            row |= terms(made)
        return Draft(self.new, row, made, near)

    def of_id(self, timer_id: int, seals: Seals) -> "Draft":
        """Return the draft with another id, its secrets sealed for that."""
        sealed = seals.seal(self.new.notify, self.new.app, timer_id)
        definition = self.timer.definition._replace(timer_id=timer_id, notify=sealed)
        timer = replace(self.timer, definition=definition)
        near = None if self.near is None else replace(self.near, timer=timer)
        return Draft(self.new, self.row | {"id": timer_id, "notify": notify_text(sealed)}, timer, near)


def draft(new: NewTimer, timer_id: int, now: int, seals: Seals) -> Draft:
    """Return the draft of a disabled timer that is made at `now` (ms UTC); raises `InvalidInput`."""
    row = new_row(new, timer_id, now, seals)
    return Draft(new, row, timer_of(row))


@dataclass(frozen=True, slots=True)
class Created:
    """What became of each draft, in their order, and the firings that wait to be added to slices.

    `InvalidInput`: the app has no target of the name that the timer gives. `LimitReached`: it would be too much for its
    app.
    """

    timers: list[Stored]
    pending: list[Firing]


class TimerBatches:
    """The changes of `TimerStore` for many timers, in one transaction each; `ids` gives out the ids of new ones."""

    def __init__(
        self, database: Database, seals: Seals, app_totals: AppTotals, why_no_task: WhyNoTask
    ) -> None:
        self._why_no_task = why_no_task
        self._database = database
        self.seals = seals
        self._totals = app_totals
        self.ids = TimerIds()

    def create(self, app: str, drafts: Sequence[Draft], now: int, firings_of: FiringsOf) -> Created:
        """Store timers of one app, the enabled ones with their near firings, in one transaction.

        `NameTaken` stands in place of each whose name is in use; an earlier one of `drafts` may have it. An error
        stands in place of each that names a target which the app does not have, or would be too much for it. Raises
        `StoreAway`, and `Conflict` if others keep creating timers of these names: nothing is stored then.
        """
        for number in range(TRIES):
            if number:
                # The clash may have been one of ids.
                drafts = [draft.of_id(self.ids.next(now), self.seals) for draft in drafts]
            named: dict[str, Draft] = {}
            are_first = [named.setdefault(draft.timer.name, draft) is draft for draft in drafts]
            plans = [draft.near for draft in named.values() if draft.near is not None]
            try:
                made, pending = self._insert_free(app, named, firings_of(plans) if plans else [], now)
            except IntegrityError:
                continue
            timers = [made[draft.timer.name] for draft in drafts]
            return Created(
                [
                    timer if is_first else _taken_by(timer)
                    for timer, is_first in zip(timers, are_first, strict=True)
                ],
                pending,
            )
        raise Conflict(
            "timers", "somebody else is creating timers of these names", "repeat it where it is still wanted"
        )

    def enable(self, plans: list[Plan], firings: list[Firing], now: int) -> Enabled:
        """Enable timers with `firings`, of all plans by key; one that is not disabled as read is left out whole."""
        first = FirstTry()
        used_up: set[int] = set()

        def work(sql: Connection) -> Enabled:
            nonlocal used_up
            if applied := first.applied(sql):
                return Enabled(applied, first.waiting(sql, applied), used_up)
            versions = _versions_of_disabled(sql, sorted(a_plan.timer.id for a_plan in plans))
            same = [a for a in plans if versions.get(a.timer.id) == a.timer.definition.version]
            refused = self._refused(sql, same, now)
            held = {a_plan.timer.id: a_plan for a_plan in same if a_plan.timer.id not in refused}
            of_held = [firing for firing in firings if firing.timer_id in held]
            pending = insert_missing(sql, of_held)
            settled = {firing.timer_id for firing in of_held} - {firing.timer_id for firing in pending}
            used_up = {timer_id for timer_id in settled if held[timer_id].next_fire_at is None}
            enabled = [a_plan for timer_id, a_plan in held.items() if timer_id not in used_up]
            made = _enable(sql, enabled, now)
            note_changes(sql, now, [switch_of(TimerStatus.DISABLED, timer) for timer in made])
            first.keep(made, of_held)
            return Enabled(made, pending, used_up, refused)

        return self._totals.transact(lambda: self._database.write(work, FailPoint.SQL_ENABLE_MANY), now)

    def disable(self, ids: Sequence[int], now: int, versions: Versions | None = None) -> list[Timer]:
        """Disable enabled timers, and return them as they then stand.

        A timer with unplanned due moments is left as it is: those must be planned first. So is one that is no longer
        at its version in `versions`, if given.
        """
        first = FirstTry()

        def work(sql: Connection) -> list[Timer]:
            if applied := first.applied(sql):
                return applied
            first.keep(disabled := self._switch_off(sql, ids, now, TimerStatus.DISABLED, versions))
            return disabled

        return self._database.write(work, FailPoint.SQL_DISABLE_MANY)

    def disable_unread(self, ids: Sequence[int], now: int) -> None:
        """Disable enabled timers whose rows cannot be read here: by id alone, without a look at their due moments."""
        wanted = and_(timers.c.id.in_(sorted(ids)), timers.c.status == TimerStatus.ENABLED.value)
        query = by_index(select(timers.c.id, timers.c.app, timers.c.name).where(wanted), "PRIMARY", timers)

        def work(sql: Connection) -> None:
            rows = sql.execute(query.order_by(timers.c.id).with_for_update()).all()
            if rows:
                _write_status(sql, [row.id for row in rows], TimerStatus.DISABLED, now)
                note_changes(sql, now, [disabling_of(row.id, row.app, row.name) for row in rows])

        self._database.write(work)

    def delete(self, ids: Sequence[int], now: int, versions: Versions | None = None) -> list[Timer]:
        """Delete timers, and return them as they then stand; the same are left as they are as for `disable`."""
        first = FirstTry()
        gone: dict[int, Timer] = {}

        def work(sql: Connection) -> list[Timer]:
            if applied := first.applied(sql):
                return [gone[timer.id] for timer in applied]
            deleted = self._switch_off(sql, ids, now, TimerStatus.DELETED, versions)
            gone.update((timer.id, timer) for timer in deleted)
            first.keep(deleted)
            remove_tags(sql, [timer.id for timer in deleted])
            return deleted

        return self._database.write(work, FailPoint.SQL_DELETE_MANY)

    def stop_demands(self, app: str, before: int, now: int, after_id: int, limit: int) -> int | None:
        """Stop what was asked for before `now` of an app's disabled timers, of those last switched off before `before`.

        It takes `limit` of them, by id from behind `after_id`. Return the last one's id; None: there are no more.
        """
        wanted = and_(timers.c.status == TimerStatus.DISABLED.value, timers.c.disabled_at < before)
        of_app = and_(timers.c.app == app, timers.c.tombstone == 0, timers.c.id > after_id)
        query = by_index(select(timers.c.id).where(of_app, wanted), "timer_of_app", timers)
        query = query.order_by(timers.c.id).limit(limit)

        def work(sql: Connection) -> int | None:
            ids = list(sql.execute(query).scalars())
            if ids:
                moving = update(timers).where(timers.c.id.in_(ids), wanted).values(disabled_at=now)
                sql.execute(update_by_index(moving, "PRIMARY"))
            return ids[-1] if len(ids) == limit else None

        return self._database.write(work)

    def _switch_off(
        self, sql: Connection, ids: Sequence[int], now: int, status: TimerStatus, versions: Versions | None
    ) -> list[Timer]:
        """Disable or delete timers without unplanned due moments; return them. Unreadable ones are left as they are."""
        enabled = timers.c.status == TimerStatus.ENABLED.value
        is_planned = or_(timers.c.next_fire_at.is_(None), timers.c.next_fire_at > now)
        may_go = (
            and_(enabled, is_planned) if status is TimerStatus.DISABLED else or_(not_(enabled), is_planned)
        )
        wanted = and_(timers.c.id.in_(sorted(ids)), timers.c.tombstone == 0, may_go)
        query = (
            by_index(select(timers).where(wanted), "PRIMARY", timers).order_by(timers.c.id).with_for_update()
        )
        rows = sql.execute(query).mappings()
        unchanged = [row for row in rows if versions is None or versions[row["id"]] == row["version"]]
        read = list(read_rows(unchanged, timer_of).values())
        found = [changed_to(status, timer, now) for timer in read]
        if found:
            self._totals.move_down(sql, read, is_deleted=status is TimerStatus.DELETED)
            _write_status(sql, [timer.id for timer in found], status, now)
            pairs = zip(read, found, strict=True)
            note_changes(sql, now, [switch_of(was.definition.status, timer) for was, timer in pairs])
        return found

    def _refused(self, sql: Connection, plans: list[Plan], now: int) -> dict[int, LimitReached]:
        """Return by id which of the timers to be enabled would be too much for their app; the others count from now."""
        by_app: dict[str, list[Plan]] = {}
        for a_plan in plans:
            by_app.setdefault(a_plan.timer.definition.app, []).append(a_plan)
        refused: dict[int, LimitReached] = {}
        for app, own in sorted(by_app.items()):
            growths = [counted(enabled_at_once(plan)) - counted(plan.timer) for plan in own]
            errors = self._totals.move_some(sql, app, growths, now)
            refused |= {plan.timer.id: error for plan, error in zip(own, errors, strict=True) if error}
        return refused

    def _without_room(
        self, sql: Connection, app: str, drafts: Sequence[Draft], now: int
    ) -> dict[str, LimitReached]:
        """Return by name which of the drafts would be too much for their app; the others count from now on."""
        growths: list[Total] = []
        if self._totals.are_kept(app):
            growths = [counted(draft.timer) + Total(bytes=bytes_of_row(draft.row)) for draft in drafts]
        errors = self._totals.move_some(sql, app, growths, now) or [None for _ in drafts]
        return {draft.timer.name: error for draft, error in zip(drafts, errors, strict=True) if error}

    def _insert_free(
        self, app: str, drafts: Mapping[str, Draft], firings: Sequence[Firing], now: int
    ) -> tuple[dict[str, Stored], list[Firing]]:
        """Insert the drafts whose names are free, and whose targets are there, with their firings.

        Return by name their timers, and why the others are not stored; and those of the firings that wait to be fired.
        """
        tries = 0

        def work(sql: Connection) -> tuple[dict[str, Stored], list[Firing]]:
            nonlocal tries
            tries += 1
            named = {"of_app": app, "names": list(drafts)}
            held = {row["name"]: row for row in sql.execute(_NAMED, named).mappings()}
            # The first try may have been applied although the connection was lost.
            own = {name for name, row in held.items() if tries > 1 and row["id"] == drafts[name].timer.id}
            # In order of name, as all others insert them: so that no two wait for each other.
            free = [draft for name, draft in sorted(drafts.items()) if name not in held]
            in_order = [draft for name, draft in drafts.items() if name not in held]
            refused: dict[str, Stored] = {name: NameTaken(row["id"]) for name, row in held.items()}
            refused |= misfits(
                sql, app, {draft.timer.name: draft.timer.definition for draft in in_order}, self._why_no_task
            )
            refused |= self._without_room(
                sql, app, [draft for draft in in_order if draft.timer.name not in refused], now
            )
            free = [draft for draft in free if draft.timer.name not in refused]
            if free:
                _insert(sql, app, free)
            made = {draft.timer.name: draft.timer for draft in free} | {
                name: timer_of(held[name]) for name in own
            }
            ids = {timer.id for timer in made.values()}
            pending = insert_missing(sql, [firing for firing in firings if firing.timer_id in ids])
            return refused | made, pending

        return self._totals.transact(lambda: self._database.write(work, FailPoint.SQL_CREATE_MANY), now)


def _insert(sql: Connection, app: str, drafts: Sequence[Draft]) -> None:
    _mark_calendars(sql, app, drafts)
    inserting(sql.dialect).run(sql, [draft.row for draft in drafts], written_row)
    _add_tags_of(sql, [draft.timer for draft in drafts])
    note_changes(sql, drafts[0].timer.created_at, [creation_of(draft.timer) for draft in drafts])


def _taken_by(found: Stored) -> Stored:
    """Return what becomes of a later draft of the same name."""
    return NameTaken(found.id) if isinstance(found, Timer) else found


def _mark_calendars(sql: Connection, app: str, drafts: Sequence[Draft]) -> None:
    """Note in each row which upload its days come from; one query for all rows with the same days."""
    marks: dict[Calendar, int] = {}
    for draft in drafts:
        bounds = bounds_in(draft.new.schedule)
        if bounds is not None and bounds.excluded is not None:
            if bounds.excluded not in marks:
                marks[bounds.excluded] = calendar_mark(sql, app, draft.new.schedule)
            draft.row["calendar_at"] = marks[bounds.excluded]


def _write_status(sql: Connection, ids: Sequence[int], status: TimerStatus, now: int) -> None:
    enabled = timers.c.status == TimerStatus.ENABLED.value
    # MySQL assigns from left to right: disabled_at, which depends on the status, comes before it.
    columns: dict[str, Any] = {
        "disabled_at": case((enabled, now), else_=timers.c.disabled_at),
        "version": timers.c.version + 1,
        "status": status.value,
        "updated_at": now,
    }
    if status is TimerStatus.DELETED:
        columns["tombstone"] = timers.c.id
        columns |= EMPTIED
    changing = update(timers).where(timers.c.id.in_(ids)).ordered_values(*columns.items())
    sql.execute(update_by_index(changing, "PRIMARY"))


def _add_tags_of(sql: Connection, made: list[Timer]) -> None:
    rows = [
        {"app": timer.definition.app, "tag": tag, "timer_id": timer.id}
        for timer in made
        for tag in timer.tags
    ]
    if rows:
        sql.execute(insert(timer_tags), sorted(rows, key=lambda row: (row["tag"], row["timer_id"])))


def _versions_of_disabled(sql: Connection, ids: list[int]) -> dict[int, int]:
    """Lock disabled timers; return their versions: every change, also of planning marks, raises these."""
    wanted = and_(timers.c.id.in_(ids), timers.c.status == TimerStatus.DISABLED.value)
    query = by_index(select(timers.c.id, timers.c.version).where(wanted), "PRIMARY", timers)
    rows = sql.execute(query.order_by(timers.c.id).with_for_update())
    return {row.id: row.version for row in rows}


def _enable(sql: Connection, plans: list[Plan], now: int) -> list[Timer]:
    """Give the plans' timers their marks; return them as they then stand."""
    counted = [a_plan for a_plan in plans if a_plan.timer.ending.most is not None]
    alike = [a_plan for a_plan in plans if a_plan.timer.ending.most is None]
    move_marks(sql, alike, f"version = version + 1, status = 'enabled', updated_at = {now:d}, ")
    return [_enabled(a_plan, now) for a_plan in alike] + [_count_on(sql, a_plan, now) for a_plan in counted]


def _enabled(a_plan: Plan, now: int) -> Timer:
    return changed_to(TimerStatus.ENABLED, marked(a_plan.timer, a_plan), now)


def _count_on(sql: Connection, a_plan: Plan, now: int) -> Timer:
    """Enable a timer whose moments are counted; the begin of the count is written too."""
    timer = marked(a_plan.timer, a_plan)
    return change(sql, timer, now, TimerStatus.ENABLED, was=replace(timer, ending=ENDLESS))
