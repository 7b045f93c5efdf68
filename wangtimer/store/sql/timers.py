"""Timers in SQL."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from wangtimer.core.errors import Conflict, NameInUse, StoreAway, Subject, UnknownTimer, VersionChanged
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan
from wangtimer.core.timers.bad_timers import BadTimers, Readable
from wangtimer.core.timers.named_target import WhyNoTask
from wangtimer.core.timers.timer import Definition, NewTimer, Timer, TimerIds, TimerStatus
from wangtimer.store.app_total import Total, counted
from wangtimer.store.seals import Seals
from wangtimer.store.sql.app_totals import AppTotals
from wangtimer.store.sql.audit import creation_of, edit_of, is_noted, note_changes, switch_of
from wangtimer.store.sql.calendars import calendar_mark, is_marked
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.firings import insert_missing, pending_among
from wangtimer.store.sql.kept_answers import ToKeep, keep_answer
from wangtimer.store.sql.planning_marks import move_marks
from wangtimer.store.sql.statements import by_index, delete_rows
from wangtimer.store.sql.tables import timer_tags, timers
from wangtimer.store.sql.timer_changes import FirstTry, hold_target
from wangtimer.store.sql.timer_rows import (
    EMPTIED,
    bytes_of,
    bytes_of_row,
    definition_of,
    inserting,
    one_timer_of,
    read_rows,
    terms,
    timer_of,
    written_row,
)
from wangtimer.store.sql.while_unchanged import changed_rows, while_unchanged

Row = TypeVar("Row")

# Plans a part of a timer as it stands, within the transaction that changes it. `enable` plans the near part. `disable`
# and `delete` plan the moments that came due unplanned while the timer was enabled.
PlanPart = Callable[[Timer], tuple[Plan, list[Firing]]]

# Of a timer: version, planned until, status.
_Marks = tuple[int, int, str]

# The indexes that hold enabled timers in the order of a mark.
_ALONG = {"plan_by": "timer_plan_by", "next_fire_at": "timer_to_plan"}

# The columns that planning reads: not the call, which may be large.
_TO_PLAN = [column for column in timers.c if column is not timers.c.notify]

# Ids tried for one timer.
MOST_CLASHES = 5

# Statements of each request are built once: building one costs more CPU than running it.
_LIVING = select(timers).where(
    timers.c.id == bindparam("timer_id"), timers.c.app == bindparam("app"), timers.c.tombstone == 0
)
_LIVING_TO_CHANGE = _LIVING.with_for_update()
_ID_OF = select(timers.c.id).where(
    timers.c.app == bindparam("app"), timers.c.name == bindparam("name"), timers.c.tombstone == 0
)
_UPDATE = update(timers).where(timers.c.id == bindparam("timer_id"))


@dataclass(frozen=True, slots=True)
class Revision:
    """A timer as it is to stand but for its new `status`, firings that came due before, and those of its new plan."""

    timer: Timer
    past: list[Firing]
    near: list[Firing]
    status: TimerStatus


class ChangedTimer(NamedTuple):
    """When a timer was last changed (ms UTC), and what version that made; the first two are its place among all."""

    changed_at: int
    timer_id: int
    version: int


class TimerStore:
    """Every timer; a change is one transaction and raises the version.

    Where many are asked for, those whose rows cannot be read are noted and left out; for a single one `Unreadable` is
    raised.
    """

    def __init__(
        self,
        database: Database,
        bad_timers: BadTimers,
        seals: Seals,
        app_totals: AppTotals,
        why_no_task: WhyNoTask,
    ) -> None:
        self._why_no_task = why_no_task
        self._database = database
        self._totals = app_totals
        self._bad_timers = bad_timers
        self._seals = seals
        self._ids = TimerIds()

    def create(self, new: NewTimer, now: int, keep: ToKeep | None = None) -> Timer:
        """Store a disabled timer, and the answer `keep` makes of it.

        Raises `Conflict` for a name or an answer's key in use, `LimitReached`, `StoreAway`.
        """
        return self._create(new, now, keep, None)[0]

    def create_enabled(
        self, new: NewTimer, now: int, plan_near: PlanPart, keep: ToKeep | None = None
    ) -> tuple[Timer, list[Firing]]:
        """Store an enabled timer with its near part, in one transaction; return the firings to add to slices.

        `plan_near` gets the timer as it would stand disabled, and may raise to refuse. Raises as `create` does.
        """
        return self._create(new, now, keep, plan_near)

    def _create(
        self, new: NewTimer, now: int, keep: ToKeep | None, plan_near: PlanPart | None
    ) -> tuple[Timer, list[Firing]]:
        for _ in range(MOST_CLASHES):
            row = new_row(new, self._ids.next(now), now, self._seals)
            made, firings = timer_of(row), list[Firing]()
            if plan_near is not None:
                near, firings = plan_near(made)
                made = enabled_at_once(near)
                row |= marks_of(made)
                if made.ending != new.ending:
                    # Its moments are counted from now on.
                    row |= terms(made)
            totals = self._totals if self._totals.are_kept(new.app) else None
            definition = made.definition
            hold = partial(hold_target, own=definition, why_no_task=self._why_no_task)
            insert_all = partial(
                _insert, hold=hold, totals=totals, row=row, made=made, firings=firings, keep=keep
            )
            has_more = bool(made.tags or firings or keep or totals or definition.notify.target)
            has_more = has_more or is_marked(definition.schedule) or is_noted()
            try:
                return made, self._totals.transact(partial(self._store, insert_all, has_more), now)
            except IntegrityError:
                standing = self._standing(made.id)
                if standing is None:
                    raise name_taken(new.app, new.name, self.id_of(new.app, new.name)) from None
                if not _is_same(standing, made):
                    # The id is another timer's.
                    continue
                # The first try was applied, although its answer was lost; some of its firings may be over by now.
                return made, self._database.read(partial(pending_among, planned=firings))
        raise StoreAway("SQL", "it has a timer of every id that was tried")

    def _store(self, insert_all: Callable[[Connection], list[Firing]], has_more: bool) -> list[Firing]:
        """Run what inserts a timer; it has more statements than one or not."""
        if has_more:
            return self._database.write(insert_all, FailPoint.SQL_CREATE)
        return self._database.write_alone(insert_all, FailPoint.SQL_CREATE)

    def get(self, app: str, timer_id: int) -> Timer:
        """Return the app's timer; raises `UnknownTimer` if there is none, or it is another app's."""

        def work(sql: Connection) -> Timer:
            return _living(sql, app, timer_id)

        return self._database.read(work)

    def id_of(self, app: str, name: str) -> int | None:
        """Return the id of the app's living timer of this name; None if it has none."""
        return self._database.read(
            lambda sql: sql.execute(_ID_OF, {"app": app, "name": name}).scalar_one_or_none()
        )

    def page(self, app: str, after_id: int, limit: int) -> list[Timer]:
        """Return the app's living timers with an id over `after_id`, by id."""
        wanted = and_(timers.c.app == app, timers.c.tombstone == 0, timers.c.id > after_id)
        query = by_index(select(timers).where(wanted), "timer_of_app", timers)
        return list(self._read(query.order_by(timers.c.id).limit(limit), timer_of).values())

    def enable(
        self, app: str, timer_id: int, now: int, plan_near: PlanPart, version: int | None = None
    ) -> tuple[Timer, list[Firing]]:
        """Enable a timer and plan its near part, in one transaction; return the firings to add to slices.

        `plan_near` gets the timer as it stands and may raise to refuse. Enabling an enabled timer changes
        nothing. Raises `UnknownTimer`, `Conflict` where it is not at `version` any more, `StoreAway`, and what
        `plan_near` raises.
        """
        first = FirstTry()

        def work(sql: Connection) -> tuple[Timer, list[Firing]]:
            if applied := first.applied(sql):
                return applied[0], first.waiting(sql, applied)
            timer = locked_timer(sql, app, timer_id)
            refuse_changed(timer, version)
            if timer.definition.is_enabled:
                return timer, []
            near, firings = plan_near(timer)
            self._totals.move(sql, app, counted(enabled_at_once(near)) - counted(timer), now)
            enabled = change(sql, marked(near.timer, near), now, TimerStatus.ENABLED, was=timer)
            pending = insert_missing(sql, firings)
            refuse_used_up(enabled, firings, pending)
            note_changes(sql, now, [switch_of(timer.definition.status, enabled)])
            first.keep([enabled], firings)
            return enabled, pending

        return self._totals.transact(lambda: self._database.write(work, FailPoint.SQL_ENABLE), now)

    def edit(
        self, app: str, timer_id: int, now: int, revise: Callable[[Timer], Revision]
    ) -> tuple[Timer, list[Firing]]:
        """Change a timer as `revise` says, in one transaction; return the firings to add to slices.

        `revise` gets the timer as it stands and may raise to refuse. If terms and status stay as they are, nothing
        changes. Raises `Conflict` when the app has another living timer of the new name, and as `enable` does.
        """
        first = FirstTry()

        def work(sql: Connection) -> tuple[Timer, list[Firing]]:
            if applied := first.applied(sql):
                return applied[0], first.waiting(sql, applied)
            timer = locked_timer(sql, app, timer_id)
            revision = revise(timer)
            if (revision.timer.terms, revision.status) == (timer.terms, timer.definition.status):
                return timer, []
            if self._totals.are_kept(app):
                self._totals.move(sql, app, _growth(timer, revision), now)
            if _call_terms(revision.timer) != _call_terms(timer):
                hold_target(sql, revision.timer.definition, self._why_no_task)
            insert_missing(sql, revision.past)
            try:
                edited = change(sql, revision.timer, now, revision.status, was=timer)
            except IntegrityError:
                name = revision.timer.name
                taken_by = sql.execute(_ID_OF, {"app": app, "name": name}).scalar_one_or_none()
                raise name_taken(app, name, taken_by) from None
            pending = insert_missing(sql, revision.near)
            if edited.definition.is_enabled and not timer.definition.is_enabled:
                refuse_used_up(edited, revision.near, pending)
            note_changes(sql, now, [edit_of(timer, edited)])
            first.keep([edited], revision.near)
            return edited, pending

        return self._totals.transact(lambda: self._database.write(work, FailPoint.SQL_EDIT), now)

    def disable(
        self,
        app: str,
        timer_id: int,
        now: int,
        plan_past: PlanPart | None = None,
        version: int | None = None,
    ) -> Timer:
        """Disable a timer; planned firings are skipped when their moments come. Errors as for `enable`."""
        first = FirstTry()

        def work(sql: Connection) -> Timer:
            if applied := first.applied(sql):
                return applied[0]
            timer = locked_timer(sql, app, timer_id)
            refuse_changed(timer, version)
            if not timer.definition.is_enabled:
                return timer
            self._totals.move(sql, app, Total(1) - counted(timer), now)
            disabled = change(sql, _with_past(sql, timer, plan_past), now, TimerStatus.DISABLED)
            note_changes(sql, now, [switch_of(timer.definition.status, disabled)])
            first.keep([disabled])
            return disabled

        return self._database.write(work, FailPoint.SQL_DISABLE)

    def delete(
        self,
        app: str,
        timer_id: int,
        now: int,
        plan_past: PlanPart | None = None,
        name: str | None = None,
        version: int | None = None,
    ) -> Timer:
        """Delete a timer: it fires no more, its name is free, its history stays. Errors as for `enable`.

        With a `name`, a timer that has another name by now is unknown.
        """
        first = FirstTry()
        gone: list[Timer] = []

        def work(sql: Connection) -> Timer:
            if first.applied(sql):
                return gone[0]
            timer = locked_timer(sql, app, timer_id)
            refuse_changed(timer, version)
            if name not in (None, timer.name):
                raise UnknownTimer(app, repr(name))
            self._totals.move_down(sql, [timer], is_deleted=True)
            planned = _with_past(sql, timer, plan_past)
            _change_tags(sql, timer, ())
            deleted = change(sql, planned, now, TimerStatus.DELETED, tombstone=timer.id)
            note_changes(sql, now, [switch_of(timer.definition.status, deleted)])
            gone[:] = [deleted]
            first.keep([deleted])
            return deleted

        return self._database.write(work, FailPoint.SQL_DELETE)

    def to_plan(self, before: int, limit: int, without: Collection[int] = ()) -> Readable[int, Timer]:
        """Return enabled timers that must be planned by a moment up to `before`, those planned least far first.

        Their calls, which may be large, are not read. The timers `without` are left out before `limit` counts, so that
        none of them takes another's place.
        """
        return self._enabled(timers.c.plan_by, timers.c.plan_by <= before, limit, without)

    def unplanned(
        self, before: int, limit: int, after: int = 0, without: Collection[int] = ()
    ) -> Readable[int, Timer]:
        """Return enabled timers whose next unplanned moment is after `after` and up to `before`, nearest first.

        The timers `without` are left out as above.
        """
        mark = timers.c.next_fire_at
        return self._enabled(mark, and_(mark > after, mark <= before), limit, without)

    @while_unchanged
    def first_unplanned(self) -> int | None:
        """Return the nearest moment of an enabled timer that is not planned yet, ms UTC; None where there is none."""
        return self._first(timers.c.next_fire_at, timers.c.next_fire_at > 0)

    @while_unchanged
    def first_plan_by(self) -> int | None:
        """Return by when the first enabled timer must be planned, ms UTC; None where there is none."""
        return self._first(timers.c.plan_by, timers.c.plan_by.is_not(None))

    def _first(self, mark: ColumnElement[Any], is_set: ColumnElement[bool]) -> int | None:
        query = select(mark).where(timers.c.status == TimerStatus.ENABLED.value, is_set)
        query = by_index(query, _ALONG[str(mark.key)], timers).order_by(mark).limit(1)
        return self._database.read(lambda sql: sql.execute(query).scalar())

    def _enabled(
        self, mark: ColumnElement[Any], lies_there: ColumnElement[bool], limit: int, without: Collection[int]
    ) -> Readable[int, Timer]:
        wanted = and_(timers.c.status == TimerStatus.ENABLED.value, lies_there)
        if without:
            # As numbers in the text: SQLite binds 32,766 values at most.
            others: BindParameter[Any] = bindparam(
                "without", sorted(without), expanding=True, literal_execute=True
            )
            wanted = and_(wanted, timers.c.id.not_in(others))
        query = by_index(select(*_TO_PLAN).where(wanted), _ALONG[str(mark.key)], timers)
        query = query.order_by(mark, timers.c.id).limit(limit)
        # What was overtaken is found out when it is written.
        return self._read(query, timer_of, may_be_stale=True)

    def commit_plans(
        self, plans: list[Plan], firings: list[Firing]
    ) -> tuple[list[Plan], list[Firing], set[int]]:
        """Insert the plans' firings and move their timers' marks, in one transaction.

        `firings` are those of all plans, sorted by key. A plan whose timer is no longer as it was read (version,
        planned_until, enabled) is left out whole, and so is one whose timer somebody else holds: nobody waits for it.
        Returns the plans that hold, which firings wait, and the ids of the timers that others hold, or that are gone.
        """

        def work(sql: Connection) -> tuple[list[Plan], list[Firing], set[int]]:
            free = _locked_marks(sql, [a_plan.timer.id for a_plan in plans])
            held = [
                a_plan
                for a_plan in plans
                if free.get(a_plan.timer.id)
                == (a_plan.timer.definition.version, a_plan.timer.planned_until, TimerStatus.ENABLED.value)
            ]
            ids = {a_plan.timer.id for a_plan in held}
            pending = insert_missing(sql, [firing for firing in firings if firing.timer_id in ids])
            move_marks(sql, held)
            return held, pending, {a_plan.timer.id for a_plan in plans} - free.keys()

        return self._database.write(work, FailPoint.SQL_PLAN, waits_for_locks=False)

    def definitions(self, timer_ids: set[int]) -> Readable[int, Definition]:
        """Return the definitions of these timers, deleted ones included; unknown ids are absent."""
        query = by_index(select(timers).where(timers.c.id.in_(sorted(timer_ids))), "PRIMARY", timers)
        return self._read(query, definition_of)

    def refuse_unknown(self, app: str, timer_id: int) -> None:
        """Raise `UnknownTimer` if the app has no such timer; a deleted one counts."""
        query = select(timers.c.id).where(timers.c.id == timer_id, timers.c.app == app)
        if self._database.read(lambda sql: sql.execute(query).scalar_one_or_none()) is None:
            raise UnknownTimer(app, timer_id)

    def versions(self, timer_ids: set[int]) -> dict[int, int]:
        """Return the versions of these timers' definitions, deleted ones included; unknown ids are absent."""
        query = select(timers.c.id, timers.c.version).where(timers.c.id.in_(sorted(timer_ids)))
        query = by_index(query, "PRIMARY", timers)
        return self._database.read(lambda sql: {row.id: row.version for row in sql.execute(query)})

    def known(self, timer_ids: Iterable[int]) -> set[int]:
        """Return the ids that belong to timers, deleted ones included."""
        ids = sorted(set(timer_ids))
        query = by_index(select(timers.c.id).where(timers.c.id.in_(ids)), "PRIMARY", timers)
        return self._database.read(lambda sql: set(sql.execute(query).scalars())) if ids else set()

    def changed_behind(self, key: tuple[int, int], limit: int) -> list[ChangedTimer]:
        """Return the latest change of each timer that changed after a key, oldest first; deleted ones included."""
        columns = (timers.c.updated_at, timers.c.id, timers.c.version)
        order = (timers.c.updated_at, timers.c.id)
        query = by_index(select(*columns), "timer_updated", timers)
        return [ChangedTimer(*row) for row in changed_rows(self._database, query, order, key, limit)]

    def purge(self, before: int, limit: int) -> int:
        """Forget timers deleted before `before` (ms UTC), at most `limit`; return how many."""
        gone = and_(timers.c.status == TimerStatus.DELETED.value, timers.c.updated_at < before)
        oldest = select(timers.c.id).where(gone).order_by(timers.c.updated_at).limit(limit)
        oldest = by_index(oldest, "timer_deleted", timers)

        def work(sql: Connection) -> int:
            ids = list(sql.execute(oldest).scalars())
            return delete_rows(sql, timers, ("id",), [(timer_id,) for timer_id in ids])

        return self._database.write(work, FailPoint.SQL_PURGE_TIMERS, waits_for_locks=False)

    def _read(
        self, query: Select[Any], read: Callable[[Any], Row], may_be_stale: bool = False
    ) -> Readable[int, Row]:
        """Read rows, and note those that cannot be; of a server that takes writes, unless they `may_be_stale`."""
        from_sql = self._database.read if may_be_stale else self._database.read_current
        found = from_sql(lambda sql: read_rows(sql.execute(query).mappings(), read))
        if found.bad:
            self._bad_timers.note(found.bad)
        return found

    def _standing(self, timer_id: int) -> Timer | None:
        query = select(timers).where(timers.c.id == timer_id)
        row = self._database.read(lambda sql: sql.execute(query).mappings().one_or_none())
        return None if row is None else timer_of(row)


def _call_terms(timer: Timer) -> tuple[object, ...]:
    """Return what a named target has to fit."""
    return timer.definition.notify, timer.definition.timeouts, timer.definition.form


def _insert(
    sql: Connection,
    hold: Callable[[Connection], None],
    totals: AppTotals | None,
    row: dict[str, Any],
    made: Timer,
    firings: list[Firing],
    keep: ToKeep | None,
) -> list[Firing]:
    """Insert a timer with its firings and tags, `hold` its target; return which firings wait to be fired."""
    hold(sql)
    if totals is not None:
        own = counted(made) + Total(bytes=bytes_of_row(row))
        totals.move(sql, made.definition.app, own, made.created_at)
    row["calendar_at"] = calendar_mark(sql, made.definition.app, made.definition.schedule)
    inserting(sql.dialect).run(sql, [row], written_row)
    _add_tags(sql, made.definition.app, made.id, made.tags)
    if keep is not None:
        keep_answer(sql, keep.asked, keep.answer(made), made.created_at)
    note_changes(sql, made.created_at, [creation_of(made)])
    return insert_missing(sql, firings)


def enabled_at_once(near: Plan) -> Timer:
    """Return a new timer that is enabled from the start, at its first version."""
    definition = near.timer.definition._replace(status=TimerStatus.ENABLED)
    return marked(replace(near.timer, definition=definition), near)


def _growth(timer: Timer, revision: Revision) -> Total:
    """Return by how much the totals of a timer's app grow through a revision of it."""
    definition = revision.timer.definition._replace(status=revision.status)
    bytes_more = bytes_of(revision.timer) - bytes_of(timer)
    return counted(replace(revision.timer, definition=definition)) - counted(timer) + Total(bytes=bytes_more)


def _is_same(standing: Timer, made: Timer) -> bool:
    """Tell whether a timer of this id was made by this very request."""
    now, then = standing.definition, made.definition
    return (now.app, standing.name, standing.created_at) == (then.app, made.name, made.created_at)


def new_row(new: NewTimer, timer_id: int, now: int, seals: Seals) -> dict[str, Any]:
    """Return the row of a timer that is made at `now` (ms UTC), its secrets sealed; raises `InvalidInput`."""
    seals.refuse_new(new.notify)
    sealed = seals.seal(new.notify, new.app, timer_id)
    return terms(new if sealed is new.notify else replace(new, notify=sealed)) | {
        "id": timer_id,
        "app": new.app,
        "name": new.name,
        "status": TimerStatus.DISABLED.value,
        "followed_from": 0,
        "followed_to": 0,
        "version": 1,
        "edited_before_at": 0,
        "edited_at": 0,
        "calendar_at": 0,
        "disabled_at": 0,
        "planned_until": now,
        "next_fire_at": new.schedule.first_after(now),
        "plan_by": 0,
        "created_at": now,
        "updated_at": now,
    }


def name_taken(app: str, name: str, taken_by: int | None) -> NameInUse:
    """Return the error that the app has a timer of this name, with its id; None: it is gone by now."""
    which = "" if taken_by is None else f", {taken_by}"
    return NameInUse(
        "key",
        f"app {app!r} already has a timer named {name!r}{which}",
        "choose another name, or delete that timer first",
        taken_by,
    )


def refuse_changed(timer: Timer, version: int | None) -> None:
    """Raise `Conflict` if a version is given and somebody changed the timer since."""
    if version is not None and not timer.is_at(version):
        raise VersionChanged(
            "version",
            f"this timer is at version {timer.definition.version}, not {version}: somebody changed it",
            "read it again, and repeat the change where it still makes sense",
        )


def refuse_used_up(planned: Timer | Plan, near: list[Firing], pending: list[Firing]) -> None:
    """Raise `Conflict` if no firing of a timer is left: `near` are its near ones, `pending` those that wait."""
    if near and not pending and planned.next_fire_at is None:
        raise Conflict(
            "id",
            "this timer's last moment has its outcome already",
            "see its firings; give it another moment: PATCH or PUT it with at or a delay",
            about=Subject.TIMER,
        )


def locked_timer(sql: Connection, app: str, timer_id: int) -> Timer:
    """Return the app's living timer, its row locked until the transaction ends; raises `UnknownTimer`."""
    return _living(sql, app, timer_id, _LIVING_TO_CHANGE)


def _living(sql: Connection, app: str, timer_id: int, query: Select[Any] = _LIVING) -> Timer:
    row = sql.execute(query, {"app": app, "timer_id": timer_id}).mappings().one_or_none()
    if row is None:
        raise UnknownTimer(app, timer_id)
    return one_timer_of(row)


def change(
    sql: Connection,
    timer: Timer,
    now: int,
    status: TimerStatus,
    tombstone: int = 0,
    was: Timer | None = None,
) -> Timer:
    """Write a living timer's status, marks, and terms where they differ from what it `was`; return how it stands."""
    changed = changed_to(status, timer, now)
    columns: dict[str, Any] = marks_of(changed) | {
        "version": changed.definition.version,
        "disabled_at": changed.definition.disabled_at,
        "tombstone": tombstone,
        "updated_at": now,
    }
    if was is not None and was.terms != timer.terms:
        definition = timer.definition
        columns |= terms(timer) | {"name": timer.name, "edited_at": definition.edited_at}
        columns["edited_before_at"] = definition.edited_before_at
        columns["calendar_at"] = calendar_mark(sql, definition.app, definition.schedule)
        _change_tags(sql, was, timer.tags)
    if status is TimerStatus.DELETED:
        columns |= EMPTIED
    sql.execute(_UPDATE, columns | {"timer_id": timer.id})
    return changed


def marks_of(timer: Timer) -> dict[str, Any]:
    """Return the columns that say whether and from when a timer is to be planned."""
    return {
        "status": timer.definition.status.value,
        "planned_until": timer.planned_until,
        "next_fire_at": timer.next_fire_at,
        "plan_by": timer.next_fire_at,
    }


def changed_definition(was: Definition, now: int, status: TimerStatus) -> Definition:
    """Return a definition as it stands after a change of its timer."""
    is_switched_off = was.is_enabled and status is not TimerStatus.ENABLED
    disabled_at = now if is_switched_off else was.disabled_at
    return was._replace(version=was.version + 1, status=status, disabled_at=disabled_at)


def _with_past(sql: Connection, timer: Timer, plan_past: PlanPart | None) -> Timer:
    """Insert the firings that came due unplanned while the timer was enabled; return it with its new marks."""
    if plan_past is None or not timer.definition.is_enabled:
        return timer
    past, firings = plan_past(timer)
    if past.planned_until == timer.planned_until:
        return timer
    insert_missing(sql, firings)
    return marked(timer, past)


def changed_to(status: TimerStatus, timer: Timer, now: int) -> Timer:
    """Return the timer as it stands at its next version, with this status."""
    return replace(timer, definition=changed_definition(timer.definition, now, status), updated_at=now)


def marked(timer: Timer, planned: Plan) -> Timer:
    """Return the timer with the marks of its plan."""
    return replace(timer, planned_until=planned.planned_until, next_fire_at=planned.next_fire_at)


def _locked_marks(sql: Connection, timer_ids: Iterable[int]) -> dict[int, _Marks]:
    """Lock timers and return what a plan goes by; absent are those that somebody else holds, or that are gone."""
    columns = (timers.c.id, timers.c.version, timers.c.planned_until, timers.c.status)
    query = by_index(select(*columns).where(timers.c.id.in_(sorted(timer_ids))), "PRIMARY", timers)
    rows = sql.execute(query.order_by(timers.c.id).with_for_update(skip_locked=True))
    return {row.id: (row.version, row.planned_until, row.status) for row in rows}


def _change_tags(sql: Connection, timer: Timer, tags: tuple[str, ...]) -> None:
    if tags == timer.tags:
        return
    if timer.tags:
        remove_tags(sql, [timer.id])
    _add_tags(sql, timer.definition.app, timer.id, tags)


def remove_tags(sql: Connection, ids: Sequence[int]) -> None:
    """Forget all tags of these timers."""
    delete_rows(sql, timer_tags, ("timer_id",), [(timer_id,) for timer_id in ids], "timer_tag_of_timer")


def _add_tags(sql: Connection, app: str, timer_id: int, tags: tuple[str, ...]) -> None:
    if tags:
        sql.execute(insert(timer_tags), [{"app": app, "tag": tag, "timer_id": timer_id} for tag in tags])
