"""The timer table in memory; it shares its server with `MemoryFirings`."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from tests.fakes.memory_firings import insert_missing
from wangtimer.core.errors import UnknownTimer
from wangtimer.core.flow.firing import Firing
from wangtimer.core.flow.planning import Plan
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.timer import UNREAD, Definition, NewTimer, Timer, TimerStatus
from wangtimer.store.sql.kept_answers import ToKeep
from wangtimer.store.sql.timers import (
    ChangedTimer,
    PlanPart,
    Revision,
    changed_definition,
    name_taken,
    refuse_changed,
    refuse_used_up,
)
from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryTimers:
    """Tables `timers`: id -> timer, `put_off`: id -> ms; deleted ones stay, and have freed their name."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def create(self, new: NewTimer, now: int, keep: ToKeep | None = None) -> Timer:
        return self._create(new, now, keep, None)[0]

    def create_enabled(
        self, new: NewTimer, now: int, plan_near: PlanPart, keep: ToKeep | None = None
    ) -> tuple[Timer, list[Firing]]:
        return self._create(new, now, keep, plan_near)

    def _create(
        self, new: NewTimer, now: int, keep: ToKeep | None, plan_near: PlanPart | None
    ) -> tuple[Timer, list[Firing]]:
        assert keep is None, "answers are kept in real SQL only"

        def work() -> tuple[Timer, list[Firing]]:
            taken_by = [
                one.id for one in self._living() if (one.definition.app, one.name) == (new.app, new.name)
            ]
            if taken_by:
                raise name_taken(new.app, new.name, taken_by[0])
            ids = self._server.table("ids")
            timer_id = ids["timer"] = ids.get("timer", 0) + 1
            definition = Definition(timer_id, new.app, 1, TimerStatus.DISABLED, new.schedule, new.notify)
            first = new.schedule.first_after(now)
            made = Timer(definition, new.name, now, first, now, now, new.ending)
            made = made.with_values({field.name: new.value_of(field) for field in FIELDS})
            if plan_near is None:
                return self._store(made), []
            near, firings = plan_near(made)
            enabled = near.timer.definition._replace(status=TimerStatus.ENABLED)
            self._store(_moved(replace(near.timer, definition=enabled), near))
            return self._timers[timer_id], insert_missing(self._firings, firings)

        return self._server.call(work)

    def get(self, app: str, timer_id: int) -> Timer:
        return self._server.call(lambda: self._find(app, timer_id))

    def id_of(self, app: str, name: str) -> int | None:
        def work() -> int | None:
            found = [one.id for one in self._living() if (one.definition.app, one.name) == (app, name)]
            return found[0] if found else None

        return self._server.call(work)

    def page(self, app: str, after_id: int, limit: int) -> list[Timer]:
        def work() -> list[Timer]:
            found = [one for one in self._living() if one.definition.app == app and one.id > after_id]
            return sorted(found, key=lambda one: one.id)[:limit]

        return self._server.call(work)

    def enable(
        self, app: str, timer_id: int, now: int, plan_near: PlanPart, version: int | None = None
    ) -> tuple[Timer, list[Firing]]:
        def work() -> tuple[Timer, list[Firing]]:
            timer = self._find(app, timer_id)
            refuse_changed(timer, version)
            if timer.definition.is_enabled:
                return timer, []
            near, firings = plan_near(timer)
            refuse_used_up(near, firings, insert_missing(dict(self._firings), firings))
            enabled = _changed(near.timer, now, TimerStatus.ENABLED)
            self._store(_moved(enabled, near))
            return self._timers[timer_id], insert_missing(self._firings, firings)

        return self._server.call(work)

    def edit(
        self, app: str, timer_id: int, now: int, revise: Callable[[Timer], Revision]
    ) -> tuple[Timer, list[Firing]]:
        def work() -> tuple[Timer, list[Firing]]:
            timer = self._find(app, timer_id)
            revision = revise(timer)
            if (revision.timer.terms, revision.status) == (timer.terms, timer.definition.status):
                return timer, []
            name = revision.timer.name
            named = [one.id for one in self._living() if (one.definition.app, one.name) == (app, name)]
            if named not in ([], [timer_id]):
                raise name_taken(app, name, named[0])
            if revision.status is TimerStatus.ENABLED and not timer.definition.is_enabled:
                pending = insert_missing(dict(self._firings), revision.near)
                refuse_used_up(revision.timer, revision.near, pending)
            insert_missing(self._firings, revision.past)
            edited = self._store(_changed(revision.timer, now, revision.status))
            return edited, insert_missing(self._firings, revision.near)

        return self._server.call(work)

    def disable(
        self,
        app: str,
        timer_id: int,
        now: int,
        plan_past: PlanPart | None = None,
        version: int | None = None,
    ) -> Timer:
        def work() -> Timer:
            timer = self._find(app, timer_id)
            refuse_changed(timer, version)
            if not timer.definition.is_enabled:
                return timer
            return self._store(_changed(self._with_past(timer, plan_past), now, TimerStatus.DISABLED))

        return self._server.call(work)

    def delete(
        self,
        app: str,
        timer_id: int,
        now: int,
        plan_past: PlanPart | None = None,
        name: str | None = None,
        version: int | None = None,
    ) -> Timer:
        def work() -> Timer:
            timer = self._find(app, timer_id)
            refuse_changed(timer, version)
            if name not in (None, timer.name):
                raise UnknownTimer(app, repr(name))
            timer = self._with_past(timer, plan_past)
            gone = _changed(timer, now, TimerStatus.DELETED)
            self._store(replace(gone, definition=gone.definition.stored))
            return gone

        return self._server.call(work)

    def first_unplanned(self) -> int | None:
        return min((moment for moment, _, _ in self._server.call(self._unplanned)), default=None)

    def first_plan_by(self) -> int | None:
        return min((plan_by for plan_by, _, _ in self._server.call(self._by_plan_by)), default=None)

    def to_plan(self, before: int, limit: int, without: Collection[int] = ()) -> Readable[int, Timer]:
        def work() -> Readable[int, Timer]:
            due = [found for found in self._by_plan_by() if found[1] not in without]
            page = [timer for plan_by, _, timer in due[:limit] if plan_by <= before]
            return self._read({timer.id: _without_call(timer) for timer in page})

        return self._server.call(work)

    def unplanned(
        self, before: int, limit: int, after: int = 0, without: Collection[int] = ()
    ) -> Readable[int, Timer]:
        def work() -> Readable[int, Timer]:
            due = [found for found in self._unplanned() if found[0] > after and found[1] not in without]
            page = [timer for moment, _, timer in due[:limit] if moment <= before]
            return self._read({timer.id: _without_call(timer) for timer in page})

        return self._server.call(work)

    def purge(self, before: int, limit: int) -> int:
        def work() -> int:
            deleted = [
                timer.id
                for timer in self._timers.values()
                if timer.definition.status is TimerStatus.DELETED and timer.updated_at < before
            ]
            for timer_id in deleted[:limit]:
                del self._timers[timer_id]
            return len(deleted[:limit])

        return self._server.call(work)

    def _unplanned(self) -> list[tuple[int, int, Timer]]:
        """Return enabled timers with their next unplanned moments and ids, nearest first."""
        return sorted(
            (timer.next_fire_at, timer.id, timer)
            for timer in self._timers.values()
            if timer.definition.is_enabled and timer.next_fire_at is not None
        )

    def _by_plan_by(self) -> list[tuple[int, int, Timer]]:
        """Return the same with by when they must be planned."""
        return sorted(
            (moment + self._put_off.get(timer_id, 0), timer_id, timer)
            for moment, timer_id, timer in self._unplanned()
        )

    def commit_plans(
        self, plans: list[Plan], firings: list[Firing]
    ) -> tuple[list[Plan], list[Firing], set[int]]:
        def work() -> tuple[list[Plan], list[Firing], set[int]]:
            held = [
                a_plan for a_plan in plans if _is_as_read(self._timers.get(a_plan.timer.id), a_plan.timer)
            ]
            ids = {a_plan.timer.id for a_plan in held}
            for a_plan in held:
                self._store(_moved(self._timers[a_plan.timer.id], a_plan))
                self._put_off[a_plan.timer.id] = a_plan.put_off_ms
            pending = insert_missing(self._firings, [one for one in firings if one.timer_id in ids])
            gone = {a_plan.timer.id for a_plan in plans} - self._timers.keys()
            return held, pending, gone

        return self._server.call(work)

    def definitions(self, timer_ids: set[int]) -> Readable[int, Definition]:
        def work() -> Readable[int, Definition]:
            found = self._read({one: self._timers[one] for one in timer_ids if one in self._timers})
            return Readable({one: timer.definition for one, timer in found.items()}, found.bad)

        return self._server.call(work)

    def _read(self, found: dict[int, Timer]) -> Readable[int, Timer]:
        """Leave out what a test put into the table `unreadable`: timer id -> why."""
        bad = self._server.table("unreadable")
        readable = {one: timer for one, timer in found.items() if one not in bad}
        return Readable(readable, {one: bad[one] for one in found if one in bad})

    def versions(self, timer_ids: set[int]) -> dict[int, int]:
        def work() -> dict[int, int]:
            known = timer_ids & self._timers.keys()
            return {timer_id: self._timers[timer_id].definition.version for timer_id in known}

        return self._server.call(work)

    def known(self, timer_ids: Iterable[int]) -> set[int]:
        return self._server.call(lambda: set(timer_ids) & set(self._timers))

    def changed_behind(self, key: tuple[int, int], limit: int) -> list[ChangedTimer]:
        def work() -> list[ChangedTimer]:
            changes = (
                ChangedTimer(one.updated_at, one.id, one.definition.version) for one in self._timers.values()
            )
            return sorted(change for change in changes if change[:2] > key)[:limit]

        return self._server.call(work)

    def _with_past(self, timer: Timer, plan_past: PlanPart | None) -> Timer:
        if plan_past is None or not timer.definition.is_enabled:
            return timer
        past, firings = plan_past(timer)
        insert_missing(self._firings, firings)
        return _moved(timer, past)

    def _find(self, app: str, timer_id: int) -> Timer:
        for timer in self._living():
            if timer.id == timer_id and timer.definition.app == app:
                return timer
        raise UnknownTimer(app, timer_id)

    def _living(self) -> list[Timer]:
        deleted = TimerStatus.DELETED
        return [timer for timer in self._timers.values() if timer.definition.status is not deleted]

    def _store(self, timer: Timer) -> Timer:
        self._timers[timer.id] = timer
        self._put_off.pop(timer.id, None)
        return timer

    @property
    def _timers(self) -> dict[int, Timer]:
        return self._server.table("timers")

    @property
    def _put_off(self) -> dict[int, int]:
        """How much later than by their next moment timers are planned again, ms."""
        return self._server.table("put_off")

    @property
    def _firings(self) -> dict:
        return self._server.table("firings")


def living(timers: dict[int, Timer], app: str, timer_id: int) -> Timer:
    """Return the app's living timer; raises `UnknownTimer`."""
    timer = timers.get(timer_id)
    if timer is None or timer.definition.app != app or timer.definition.status is TimerStatus.DELETED:
        raise UnknownTimer(app, timer_id)
    return timer


def _changed(timer: Timer, now: int, status: TimerStatus) -> Timer:
    return replace(timer, definition=changed_definition(timer.definition, now, status), updated_at=now)


def _moved(timer: Timer, marks: Plan) -> Timer:
    return replace(timer, planned_until=marks.planned_until, next_fire_at=marks.next_fire_at)


def _without_call(timer: Timer) -> Timer:
    return replace(timer, definition=timer.definition._replace(notify=UNREAD))


def _is_as_read(timer: Timer | None, read: Timer) -> bool:
    if timer is None or not timer.definition.is_enabled:
        return False
    now, then = timer, read
    return (now.definition.version, now.planned_until) == (then.definition.version, then.planned_until)
