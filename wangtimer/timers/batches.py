"""Many timers of one app at once: each has its own result; SQL and Redis get a few calls for all."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from wangtimer.core.errors import (
    Conflict,
    InvalidInput,
    LimitReached,
    StoreAway,
    TooMuchWork,
    WangTimerError,
)
from wangtimer.core.flow.planning import Plan
from wangtimer.core.schedules.schedule import Schedule, bounds_in, rule_of
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.core.work_budget import is_over
from wangtimer.store.sql.timer_batches import Draft, NameTaken, Stored, TimerBatches, Versions, draft
from wangtimer.store.sql.timers import name_taken
from wangtimer.timers.registrar import Registrar, refuse_past


class ChangeOne(Protocol):
    """Changes one timer, of that version if one is given."""

    def __call__(self, app: str, timer_id: int, *, version: int | None) -> Timer:
        """Return the timer as it then stands; raises `WangTimerError`."""


# How a timer stands afterwards, or why it was not made or changed.
Result = Timer | WangTimerError
# By the timer's id.
Results = dict[int, Result]

# Rows and timers that one transaction creates, enables or switches off: it holds locks for a fraction of a second.
ROWS_A_TRANSACTION = 10_000
TIMERS_A_TRANSACTION = 500
# A timer with a calendar counts as so many: 100 with 4,000 days each, none seen before, take 0.25 s of CPU.
CALENDAR_WEIGHS = 5
# s of CPU for each unit of weight switched off: to read from Redis whether it came in time, and to answer.
ANSWER_S = 0.00006
# Moments that one request plans at most: about 0.4 s of CPU, 0.6 where each is put off.
MOMENTS_A_REQUEST = 30_000


@dataclass(frozen=True, slots=True)
class Batches:
    """Does what the registrar does, for many timers together; timers that cannot go together go one by one.

    Enabling, disabling and deleting end between two transactions once the request's work budget is over. The last
    timers, in the order given, then have no result, and stay as they were. At least one timer has a result.
    """

    registrar: Registrar
    timer_batches: TimerBatches
    clock: Clock

    def create(self, app: str, new: Sequence[NewTimer], enable: Sequence[bool]) -> list[Result]:
        """Store timers, enabled where `enable` has True at the same place; results are in that order too.

        An enabled timer is committed with its near part, some hundred timers in one transaction. A refused timer spoils
        no other; one that cannot be enabled is refused. Raises `StoreAway` and `Conflict` if nothing is stored; later
        ones are the errors of the timers that are left.
        """
        now = int(self.clock.now_ms())
        made: list[Result] = []
        for drafts in self._drafts(new, enable, now):
            try:
                made += self._store(app, drafts, now)
            except (StoreAway, Conflict) as error:
                if not any(isinstance(result, Timer) for result in made):
                    raise
                made += [error if isinstance(new_timer, Draft) else new_timer for new_timer in drafts]
                return made + [error] * (len(new) - len(made))
        return made

    def enable(self, timers: Sequence[Timer], as_read: bool = False) -> Results:
        """Enable timers; return by id how each stands, or why not. `as_read`: one changed since is refused."""
        results: Results = {timer.id: timer for timer in timers if timer.definition.is_enabled}
        timers = [timer for timer in timers if timer.id not in results]
        now = int(self.clock.now_ms())
        for plans in self._plans(timers, now, results):
            try:
                together = self._enable_together(plans, now)
            except StoreAway as error:
                return results | _all_left(timers, results, error)
            results |= together
            rest = [a_plan.timer for a_plan in plans if a_plan.timer.id not in together]
            results |= _one_by_one(rest, self.registrar.enable, as_read)
        return results

    def how_many_to_enable(self, schedules: Iterable[Schedule]) -> int:
        """Return how many of these, from the first on, one request may enable; at least one of several."""
        now, near = int(self.clock.now_ms()), self.registrar.near
        moments = number = 0
        for schedule in schedules:
            # By the rule alone: its bounds only leave moments out, and are costly to ask.
            # A schedule that cannot be planned on this node counts as none; enabling it raises.
            with suppress(Exception):
                moments += len(rule_of(schedule).moments(now, now + near.near_ms, near.most))
            if number and moments > MOMENTS_A_REQUEST:
                break
            number += 1
        return number

    def disable(self, timers: Sequence[Timer], as_read: bool = False) -> Results:
        """Disable timers, as they were read; return by id how each stands, or why it was not disabled."""
        return self._switch_off(timers, self._disable_together, self.registrar.disable, as_read)

    def disable_unread(self, ids: Sequence[int]) -> None:
        """Disable timers whose rows cannot be read here; Redis forgets them, at the next sweep if it is away."""
        self.timer_batches.disable_unread(ids, int(self.clock.now_ms()))
        with suppress(StoreAway):
            self.registrar.definitions.forget(ids)

    def delete(self, timers: Sequence[Timer], as_read: bool = False) -> Results:
        """Delete timers; return by id how each was left, or why it was not deleted."""
        return self._switch_off(timers, self._delete_together, self.registrar.delete, as_read)

    def _disable_together(self, timers: Sequence[Timer], now: int, as_read: bool) -> list[Timer]:
        """Disable the enabled timers; return them, and those that are off already."""
        enabled = [timer for timer in timers if timer.definition.is_enabled]
        off = [timer for timer in timers if not timer.definition.is_enabled]
        if not enabled:
            return off
        return off + self.timer_batches.disable(
            [timer.id for timer in enabled], now, _versions(enabled, as_read)
        )

    def _delete_together(self, timers: Sequence[Timer], now: int, as_read: bool) -> list[Timer]:
        return self.timer_batches.delete([timer.id for timer in timers], now, _versions(timers, as_read))

    def _switch_off(
        self,
        timers: Sequence[Timer],
        together: Callable[[Sequence[Timer], int, bool], list[Timer]],
        alone: ChangeOne,
        as_read: bool,
    ) -> Results:
        """Switch timers off `together`; those that changed, are gone or have unplanned due moments, `alone`."""
        now = int(self.clock.now_ms())
        results: Results = {}
        answer_s = 0.0
        for part in _transactions(timers):
            if results and is_over(answer_s):
                break
            answer_s += sum(map(_weight, part)) * ANSWER_S
            try:
                changed = together(part, now, as_read)
            except StoreAway as error:
                return results | _all_left(timers, results, error)
            results |= self._told(changed)
            results |= _one_by_one([timer for timer in part if timer.id not in results], alone, as_read)
        return results

    def _told(self, timers: Sequence[Timer]) -> Results:
        """Tell Redis how timers stand, also those off already: who switched those off may have died before telling."""
        is_told = self.registrar.tell_redis([timer.definition for timer in timers], [], 0)
        return {timer.id: replace(timer, is_told=is_told) for timer in timers}

    def _drafts(
        self, new: Sequence[NewTimer], enable: Sequence[bool], now: int
    ) -> Iterator[list[Draft | WangTimerError]]:
        """Yield the timers' drafts, or why they are refused, in order, as many as make one transaction."""
        drafts: list[Draft | WangTimerError] = []
        rows = weight = 0
        for timer, is_enabled in zip(new, enable, strict=True):
            drafts.append(found := self._draft_of(timer, is_enabled, now))
            if isinstance(found, Draft):
                rows += len(found.moments)
                weight += _weight(found.timer)
            if rows >= ROWS_A_TRANSACTION or weight >= TIMERS_A_TRANSACTION:
                yield drafts
                drafts, rows, weight = [], 0, 0
        if drafts:
            yield drafts

    def _draft_of(self, new: NewTimer, is_enabled: bool, now: int) -> Draft | WangTimerError:
        try:
            refuse_past(new.schedule, now)
            self.timer_batches.seals.refuse_new(new.notify)
            disabled = draft(new, self.timer_batches.ids.next(now), now, self.timer_batches.seals)
            if not is_enabled:
                return disabled
            return disabled.enabled_by(self.registrar.first_plan(disabled.timer, now))
        except WangTimerError as error:
            return error

    def _store(self, app: str, wanted: Sequence[Draft | WangTimerError], now: int) -> list[Result]:
        drafts = [new_timer for new_timer in wanted if isinstance(new_timer, Draft)]
        if not drafts:
            return [new_timer for new_timer in wanted if not isinstance(new_timer, Draft)]
        created = self.timer_batches.create(app, drafts, now, self.registrar.firings_of)
        enabled = [
            timer.definition
            for timer in created.timers
            if isinstance(timer, Timer) and timer.definition.is_enabled
        ]
        is_told = self.registrar.tell_of_new(enabled, created.pending, now)
        stored = iter(created.timers)
        return [
            _made(next(stored), new_timer, is_told) if isinstance(new_timer, Draft) else new_timer
            for new_timer in wanted
        ]

    def _plans(self, timers: Sequence[Timer], now: int, refused: Results) -> Iterator[list[Plan]]:
        """Yield the timers' first plans, as many as make one transaction; no more once the budget is over."""
        plans: list[Plan] = []
        rows = weight = 0
        for number, timer in enumerate(timers):
            if number and not plans and is_over():
                break
            try:
                plans.append(self.registrar.first_plan(timer, now))
            except TooMuchWork as error:
                if number:
                    break
                refused[timer.id] = error
                continue
            except WangTimerError as error:
                refused[timer.id] = error
                continue
            rows += len(plans[-1].moments)
            weight += _weight(timer)
            if rows >= ROWS_A_TRANSACTION or weight >= TIMERS_A_TRANSACTION:
                yield plans
                plans, rows, weight = [], 0, 0
        if plans:
            yield plans

    def _enable_together(self, plans: list[Plan], now: int) -> Results:
        """Enable timers in one transaction; return those that nobody changed meanwhile."""
        enabled = self.timer_batches.enable(plans, self.registrar.firings_of(plans), now)
        definitions = [timer.definition for timer in enabled.timers]
        is_told = self.registrar.tell_redis(definitions, enabled.pending, now)
        made: Results = {timer.id: replace(timer, is_told=is_told) for timer in enabled.timers}
        return made | enabled.refused


def _transactions(timers: Sequence[Timer]) -> Iterator[list[Timer]]:
    """Yield the timers in order, as many as make one transaction."""
    part: list[Timer] = []
    weight = 0
    for timer in timers:
        part.append(timer)
        weight += _weight(timer)
        if weight >= TIMERS_A_TRANSACTION:
            yield part
            part, weight = [], 0
    if part:
        yield part


def _weight(timer: Timer) -> int:
    bounds = bounds_in(timer.definition.schedule)
    return 1 if bounds is None or bounds.excluded is None else CALENDAR_WEIGHS


def _all_left(timers: Sequence[Timer], results: Results, error: StoreAway) -> Results:
    """Return the error for timers without a result: asking a store that is away once for each part takes minutes."""
    return {timer.id: error for timer in timers if timer.id not in results}


def _versions(timers: Sequence[Timer], as_read: bool) -> Versions | None:
    return {timer.id: timer.definition.version for timer in timers} if as_read else None


def _one_by_one(timers: Sequence[Timer], change: ChangeOne, as_read: bool) -> Results:
    """Change timers one by one; return how each stands, or why it is refused."""
    results: Results = {}
    for timer in timers:
        try:
            version = timer.definition.version if as_read else None
            results[timer.id] = change(timer.definition.app, timer.id, version=version)
        except WangTimerError as error:
            results[timer.id] = error
    return results


def _made(stored: Stored, wanted: Draft, is_told: bool) -> Result:
    if isinstance(stored, InvalidInput | LimitReached):
        return stored
    if isinstance(stored, NameTaken):
        return name_taken(wanted.new.app, wanted.new.name, stored.by)
    return replace(stored, is_told=is_told)
