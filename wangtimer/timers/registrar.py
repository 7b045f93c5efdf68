"""What business services ask for: create, edit, enable, disable, delete a timer."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import structlog

from wangtimer.core.errors import (
    Conflict,
    InvalidSchedule,
    NameInUse,
    StoreAway,
    Subject,
    TooMuchWork,
    UnknownTimer,
    Unplannable,
    VersionChanged,
    WangTimerError,
)
from wangtimer.core.flow.firing import Chunk, Firing
from wangtimer.core.flow.planning import Plan, count_by_minute, firings_of, plan
from wangtimer.core.flow.slicing import BucketRule
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.schedule import Schedule, as_bounded
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.schedule_edits import cancelled_by_present_rules, still_cancelled, still_spread
from wangtimer.core.timers.timer import Definition, NewTimer, Timer, TimerStatus
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.window import MinuteLoad, planned_before
from wangtimer.store.sql.calendar_followers import Following
from wangtimer.store.sql.kept_answers import ToKeep
from wangtimer.store.sql.timers import Revision, TimerStore, refuse_changed

log = structlog.get_logger()

# Turns a timer as it stands into the timer it is to be: its name, schedule, ending, call, policy and tags.
Change = Callable[[Timer], Timer]

# A one-shot may be created or enabled this long after its moment; it then fires at once.
LATE_ONCE_MS = 60_000
# `put` looks its timer up so often: each time somebody else created, deleted or renamed it in between.
PUT_TRIES = 5
# Moments planned at most when a timer is switched off after planning was away: about a second's work for SQL.
MOST_PAST = 100_000


@dataclass(frozen=True, slots=True)
class NearRule:
    """What enabling plans within the request: `near_ms` ahead, at most `most` moments; `soon_ms` is armed at once."""

    near_ms: int
    most: int
    soon_ms: int


@dataclass(frozen=True, slots=True)
class Registrar:
    """Each change is committed to SQL first; Redis then learns of it, or the sweep tells it later."""

    timers: TimerStore
    hot: HotStore
    definitions: DefinitionStore
    load: MinuteLoad
    clock: Clock
    near: NearRule
    buckets: BucketRule
    send_chunk: Callable[[Chunk], None]

    def create(self, new: NewTimer, keep: ToKeep | None = None) -> Timer:
        """Store a disabled timer, and the answer `keep` makes of it.

        Raises `InvalidInput` for a moment more than a minute past, `Conflict` for a name or an answer's key in use,
        `StoreAway`.
        """
        now = int(self.clock.now_ms())
        refuse_past(new.schedule, now)
        return self.timers.create(new, now, keep)

    def create_enabled(self, new: NewTimer, keep: ToKeep | None = None) -> Timer:
        """Store an enabled timer, its near part, and the answer that `keep` makes of it, in one commit.

        A one-shot up to a minute late fires at once. Raises as `create` and `enable` do.
        """
        now = int(self.clock.now_ms())
        refuse_past(new.schedule, now)
        timer, firings = self.timers.create_enabled(
            new, now, lambda made: self._with_firings(self.first_plan(made, now)), keep
        )
        return _noting(timer, self.tell_of_new([timer.definition], firings, now))

    def enable(self, app: str, timer_id: int, version: int | None = None) -> Timer:
        """Enable a timer and plan its near part; a one-shot up to a minute late fires at once.

        Raises `UnknownTimer`, `Conflict` for a one-shot longer past or with an outcome already, and where the timer is
        not at `version` any more, `Unplannable`, `StoreAway`.
        """
        now = int(self.clock.now_ms())
        timer, firings = self.timers.enable(
            app, timer_id, now, lambda read: self._with_firings(self.first_plan(read, now)), version
        )
        return self._told(timer, firings, now)

    def edit(
        self,
        app: str,
        timer_id: int,
        change: Change,
        version: int | None = None,
        enabled: bool | None = None,
    ) -> Timer:
        """Change a timer by `change`; from now on it fires at its new moments, and no more at its old ones.

        `enabled` tells whether it is enabled afterwards, in the same commit; None: as it was. `change` may raise to
        refuse. Raises `Conflict` where the timer is not at `version` any more, or its new name is in use; other errors
        as for `enable`.
        """
        now = int(self.clock.now_ms())
        timer, firings = self.timers.edit(
            app, timer_id, now, lambda read: self._revise(read, change, version, now, enabled)
        )
        return self._told(timer, firings, now)

    def put(
        self,
        app: str,
        name: str,
        new: Callable[[], NewTimer],
        change: Change,
        version: int | None = None,
        *,
        enabled: bool,
        must_exist: bool = False,
    ) -> tuple[Timer, bool]:
        """Edit the app's timer of this name, or create `new()` where there is none; tell whether it was created.

        `enabled` tells whether the timer is enabled afterwards. If others create, delete or rename it meanwhile, it is
        looked up again. Errors as for `create` and `edit`; `Conflict` if there is no such timer, and it `must_exist`.
        """
        taken_by: int | None = None
        for _ in range(PUT_TRIES):
            timer_id = self.timers.id_of(app, name)
            if timer_id is None and must_exist:
                reason = f"app {app!r} has no timer named {name!r}"
                raise VersionChanged("version", reason, "leave the condition on its version out")
            with suppress(UnknownTimer, _Renamed):
                if timer_id is not None:
                    return self.edit(app, timer_id, _if_named(name, change), version, enabled), False
                try:
                    return self.create_enabled(new()) if enabled else self.create(new()), True
                except NameInUse as error:
                    taken_by = error.existing_id
                    log.info("created_by_somebody_else", app=app, name=name)
        raise NameInUse(
            "key",
            "it is created and deleted again and again",
            "repeat it where it is still wanted",
            taken_by,
        )

    def disable(self, app: str, timer_id: int, version: int | None = None) -> Timer:
        """Disable a timer: moments over `counts_within_ms` away are not called. Unplanned past ones are planned.

        Raises `UnknownTimer`, `Conflict` where the timer is not at `version` any more, `StoreAway`.
        """
        now = int(self.clock.now_ms())
        timer = self.timers.disable(app, timer_id, now, lambda read: self._plan_past(read, now), version)
        return self._told(timer, [], 0)

    def delete(self, app: str, timer_id: int, name: str | None = None, version: int | None = None) -> Timer:
        """Delete a timer and free its name; its firings stay on record.

        Raises as `disable`; `UnknownTimer` also where a `name` is given that is not the timer's.
        """
        now = int(self.clock.now_ms())
        timer = self.timers.delete(app, timer_id, now, lambda read: self._plan_past(read, now), name, version)
        return self._told(timer, [], 0)

    def _revise(
        self, timer: Timer, change: Change, version: int | None, now: int, enabled: bool | None
    ) -> Revision:
        definition = timer.definition
        refuse_changed(timer, version)
        status = _status(definition.status, enabled)
        past, past_firings = self._plan_past(timer, now) if definition.is_enabled else (None, [])
        if past is not None:
            timer = replace(timer, planned_until=past.planned_until, next_fire_at=past.next_fire_at)
        edited = self._still_spread(change(timer), definition.schedule, now)
        edited = still_cancelled(edited, definition.schedule, now, self.near.soon_ms)
        if edited.definition.schedule == definition.schedule and edited.ending == timer.ending:
            return self._switched(edited, past_firings, now, status)
        refuse_past(edited.definition.schedule, now)
        return self._replan(edited, past_firings, now, status)

    def replanned(self, timer: Timer, edited: Timer, now: int) -> Following | None:
        """Return an edited timer whose rule stayed, and the first part of its new plan, from `now` (ms UTC) on.

        None where its schedule stayed too. The caller must know that no moment of it came due unplanned.
        """
        was = timer.definition.schedule
        edited = still_cancelled(self._still_spread(edited, was, now), was, now, self.near.soon_ms)
        return None if edited.definition.schedule == was else self._planned_from(edited, now)

    def planned_anew(self, timer: Timer, planned: Collection[int], now: int) -> Following | None:
        """Return a timer planned from `now` (ms UTC) on by the present rules of its zone, and its new plan.

        `planned` are its coming moments up to its mark that have a row. None where they are right, and so is what is
        stored. Moments that came due unplanned are left to the migrator, which goes on from the mark by these rules.
        """
        definition = timer.definition
        schedule = timer.ending.applied_to(cancelled_by_present_rules(definition.schedule))
        stands = schedule == definition.schedule
        if definition.is_enabled:
            if timer.next_fire_at is not None and timer.next_fire_at <= now:
                return None
            stands = stands and _is_planned(timer, planned, now)
        if stands:
            return None
        if any(moment > now for moment in as_bounded(schedule).cancelled):
            log.warning("cancelled_moments_by_new_rules", timer_id=timer.id)
        return self._planned_from(replace(timer, definition=definition._replace(schedule=schedule)), now)

    def _planned_from(self, edited: Timer, now: int) -> Following:
        definition = edited.definition.with_schedule(edited.definition.schedule, now)
        replanned = replace(edited, definition=definition, planned_until=now)
        if definition.is_enabled:
            near = plan(replanned, now + self.near.near_ms, self.near.most)
        else:
            near = Plan(replanned, (), now, definition.schedule.first_after(now))
        marks = replace(replanned, planned_until=near.planned_until, next_fire_at=near.next_fire_at)
        return Following(marks, near)

    def _still_spread(self, edited: Timer, was: Schedule, now: int) -> Timer:
        schedule = still_spread(edited.definition.schedule, was, now, self.near.soon_ms)
        return replace(edited, definition=edited.definition._replace(schedule=schedule))

    def _switched(self, edited: Timer, past: list[Firing], now: int, status: TimerStatus) -> Revision:
        """Plan the near part of a timer whose schedule stays, if the edit enables it."""
        if edited.definition.is_enabled or status is not TimerStatus.ENABLED:
            return Revision(edited, past, [], status)
        near, firings = self._with_firings(self.first_plan(edited, now))
        timer = replace(near.timer, planned_until=near.planned_until, next_fire_at=near.next_fire_at)
        return Revision(timer, past, firings, status)

    def _replan(self, edited: Timer, past: list[Firing], now: int, status: TimerStatus) -> Revision:
        """Plan a timer's new schedule from now on; firings of the old one are skipped when their moments come."""
        schedule = edited.ending.applied_to(edited.definition.schedule)
        definition = edited.definition.with_schedule(schedule, now)
        timer = replace(
            edited, definition=definition, planned_until=now, next_fire_at=schedule.first_after(now)
        )
        if status is not TimerStatus.ENABLED:
            return Revision(timer, past, [], status)
        near, firings = self._with_firings(self._plan_near(timer, now))
        timer = replace(near.timer, planned_until=near.planned_until, next_fire_at=near.next_fire_at)
        return Revision(timer, past, firings, status)

    def first_plan(self, timer: Timer, now: int) -> Plan:
        """Return the first near part of a timer's plan. Raises `Conflict` where no moment is left, `Unplannable`."""
        with _telling_faults(timer):
            _refuse_finished(timer.definition.schedule, now)
            return self._plan_near(timer, now)

    def _plan_near(self, timer: Timer, now: int) -> Plan:
        timer = _counted(timer, now)
        schedule = timer.definition.schedule
        start = max(timer.planned_until, now)
        if schedule.only_moment is not None and schedule.only_moment <= now:
            _refuse_if_long_past(schedule.only_moment, now)
            start = schedule.only_moment - 1
        return plan(timer.planned_from(start), max(now + self.near.near_ms, start), self.near.most)

    def _plan_past(self, timer: Timer, now: int) -> tuple[Plan, list[Firing]]:
        """Plan the moments that came due while nobody planned; the sweep fires them, or records why not.

        A timer that cannot be planned here (a zone this node does not know) can be switched off all the same.
        """
        try:
            past = plan(timer, max(now, timer.planned_until), MOST_PAST)
        except TooMuchWork:
            raise
        except Exception as error:
            log.warning("timer_cannot_be_planned", timer_id=timer.id, error=repr(error))
            past = Plan(timer, (), timer.planned_until, timer.next_fire_at)
        return self._with_firings(past)

    def _with_firings(self, part: Plan) -> tuple[Plan, list[Firing]]:
        return part, self.firings_of([part])

    def firings_of(self, plans: list[Plan]) -> list[Firing]:
        """Return the plans' firings sorted by key, each with its bucket."""
        return firings_of(plans, planned_before(self.load, count_by_minute(plans)), self.buckets)

    def _told(self, timer: Timer, firings: list[Firing], now: int) -> Timer:
        return _noting(timer, self.tell_redis([timer.definition], firings, now))

    def tell_of_new(self, definitions: list[Definition], firings: list[Firing], now: int) -> bool:
        """Tell Redis of new timers with firings, and of no others, of which it holds nothing; False as `tell_redis`."""
        near = {firing.timer_id for firing in firings}
        return not near or self.tell_redis(
            [definition for definition in definitions if definition.timer_id in near], firings, now
        )

    def tell_redis(self, definitions: list[Definition], firings: list[Firing], now: int) -> bool:
        """Tell Redis what is committed; False where it did not take the definitions: then the sweep tells it."""
        soon = [firing for firing in firings if firing.due_at < now + self.near.soon_ms]
        is_told = False
        try:
            self.definitions.put([definition.stored for definition in definitions], may_be_far=True)
            is_told = True
            self.hot.add([firing for firing in firings if firing.due_at >= now + self.near.soon_ms])
            for chunk in self.hot.arm_now(soon):
                self.send_chunk(chunk)
        except StoreAway as error:
            ids = [definition.timer_id for definition in definitions[:9]]
            log.warning("change_not_in_redis_yet", timer_ids=ids, error=str(error))
        return is_told


@contextmanager
def _telling_faults(timer: Timer) -> Iterator[None]:
    """Raise `Unplannable` for any other error than `WangTimerError`, say a zone that this node does not know."""
    try:
        yield
    except WangTimerError:
        raise
    except Exception as error:
        log.warning("timer_cannot_be_planned", timer_id=timer.id, error=repr(error))
        raise Unplannable(timer.id) from error


def _noting(timer: Timer, is_told: bool) -> Timer:
    return timer if is_told == timer.is_told else replace(timer, is_told=is_told)


def _status(was: TimerStatus, enabled: bool | None) -> TimerStatus:
    if enabled is None:
        return was
    return TimerStatus.ENABLED if enabled else TimerStatus.DISABLED


class _Renamed(Exception):
    """The timer has another name by now."""


def _if_named(name: str, change: Change) -> Change:
    """Return the change, which then raises `_Renamed` for a timer of another name."""

    def changed(timer: Timer) -> Timer:
        if timer.name != name:
            raise _Renamed
        return change(timer)

    return changed


def refuse_past(schedule: Schedule, now: int) -> None:
    """Raise `InvalidInput` if the schedule is one moment, more than a minute past at `now` (ms UTC)."""
    moment = schedule.only_moment
    if moment is not None and moment < now - LATE_ONCE_MS:
        late_s = (now - moment) // 1_000
        raise InvalidSchedule(
            "schedule.at", f"this moment passed {late_s} s ago", "give a moment in the future"
        )


def _refuse_finished(schedule: Schedule, now: int) -> None:
    if schedule.only_moment is None and schedule.first_after(now) is None:
        raise Conflict(
            "id",
            "this timer has no moment left",
            "edit its schedule, endAt or maxFirings first",
            about=Subject.TIMER,
        )


def following(timer: Timer, calendar: Calendar) -> Timer:
    """Return a timer that names this calendar with the calendar's present days; any other timer as it is."""
    schedule = as_bounded(timer.definition.schedule)
    if schedule.excluded is None or schedule.excluded.name != calendar.name:
        return timer
    followed = timer.ending.applied_to(replace(schedule, excluded=calendar))
    return replace(timer, definition=timer.definition._replace(schedule=followed))


def _is_planned(timer: Timer, with_rows: Collection[int], now: int) -> bool:
    """Tell whether a timer's coming moments have rows up to its mark, and the mark is right.

    A row of another moment is superseded when that comes, but only if the schedule was ever edited.
    """
    schedule = timer.definition.schedule
    planned = set(with_rows) - as_bounded(schedule).cancelled
    wanted = set(schedule.moments(now, timer.planned_until, len(planned) + 1))
    is_right = wanted <= planned if timer.definition.edited_at else wanted == planned
    return is_right and timer.next_fire_at == schedule.first_after(max(now, timer.planned_until))


def _counted(timer: Timer, now: int) -> Timer:
    """Return the timer with its moments counted from now on, unless counting has begun."""
    if not timer.ending.must_be_counted:
        return timer
    ending = replace(timer.ending, counted_from=now)
    schedule = ending.applied_to(timer.definition.schedule)
    return replace(timer, ending=ending, definition=timer.definition._replace(schedule=schedule))


def _refuse_if_long_past(moment: int, now: int) -> None:
    late_ms = now - moment
    if late_ms > LATE_ONCE_MS:
        raise Conflict(
            "id",
            f"this timer's one moment passed {late_ms // 1_000} s ago, more than the {LATE_ONCE_MS // 1_000} s allowed",
            "give it another moment: PATCH or PUT it with at or a delay",
            about=Subject.TIMER,
        )
