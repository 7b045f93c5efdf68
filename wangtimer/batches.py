"""Many timers of one app at once: each has its own result; SQL and Redis get a few calls for all."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from wangtimer.core.errors import StoreAway, TooMuchWork, WangTimerError
from wangtimer.core.flow.planning import Plan
from wangtimer.core.schedules.schedule import Schedule, bounds_in, rule_of
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.core.work_budget import is_over
from wangtimer.registrar import Registrar, refuse_past
from wangtimer.store.sql.timer_batches import NameTaken, TimerBatches, Versions
from wangtimer.store.sql.timers import name_taken


class ChangeOne(Protocol):
    """Changes one timer, of that version if one is given."""

    def __call__(self, app: str, timer_id: int, *, version: int | None) -> Timer:
        """Return the timer as it then stands; raises `WangTimerError`."""


# How a timer stands afterwards, or why it was not changed, by its id.
Results = dict[int, Timer | WangTimerError]

# Rows and timers that one transaction enables or switches off: it holds locks for a fraction of a second.
ROWS_A_TRANSACTION = 10_000
TIMERS_A_TRANSACTION = 500
# A timer with a calendar counts as so many: 100 with 4,000 days each, none seen before, take 0.25 s of CPU.
CALENDAR_WEIGHS = 5
# s of CPU for each unit of weight switched off: to read from Redis whether it came in time, and to answer.
ANSWER_S = 0.00006
# Moments that one request plans at most: about 0.4 s of CPU, 0.6 where each is put off.
MOMENTS_A_REQUEST = 30_000


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a timer that was to be created: `timer` if it was, `error` if not.

    Both are set where it was created but could not be enabled.
    """

    timer: Timer | None = None
    error: WangTimerError | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    """Does what the registrar does, for many timers together; timers that cannot go together go one by one.

    Enabling, disabling and deleting end between two transactions once the request's work budget is over. The last
    timers, in the order given, then have no result, and stay as they were. At least one timer has a result.
    """

    registrar: Registrar
    timers: TimerBatches
    clock: Clock

    def create(self, app: str, new: Sequence[NewTimer], enable: Sequence[bool]) -> list[Made]:
        """Store timers, and enable those for which `enable` has True at the same place; results are in that order too.

        A refused timer spoils no other. Raises `StoreAway`.
        """
        now = int(self.clock.now_ms())
        refused = [_refusal(one, now) for one in new]
        good = [one for one, error in zip(new, refused, strict=True) if error is None]
        stored = iter(self.timers.create(app, good, now))
        made = [
            _made(next(stored), one) if error is None else Made(error=error)
            for one, error in zip(new, refused, strict=True)
        ]
        to_enable = [one.timer for one, asked in zip(made, enable, strict=True) if asked and one.timer]
        results = self.enable(to_enable, is_whole=True)
        return [
            one
            if one.timer is None or one.timer.id not in results
            else _enabled(one.timer, results[one.timer.id])
            for one in made
        ]

    def enable(self, timers: Sequence[Timer], as_read: bool = False, is_whole: bool = False) -> Results:
        """Enable timers, as they were read; return by id how each stands, or why it was not enabled.

        `as_read`: a timer that somebody changed since it was read is refused. `is_whole`: the budget does not count.
        """
        results: Results = {timer.id: timer for timer in timers if timer.definition.is_enabled}
        timers = [timer for timer in timers if timer.id not in results]
        now = int(self.clock.now_ms())
        for plans in self._plans(timers, now, results, is_whole):
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

    def delete(self, timers: Sequence[Timer], as_read: bool = False) -> Results:
        """Delete timers; return by id how each was left, or why it was not deleted."""
        return self._switch_off(timers, self._delete_together, self.registrar.delete, as_read)

    def _disable_together(self, timers: Sequence[Timer], now: int, as_read: bool) -> list[Timer]:
        """Disable the enabled timers; return them, and those that are off already."""
        enabled = [timer for timer in timers if timer.definition.is_enabled]
        off = [timer for timer in timers if not timer.definition.is_enabled]
        if not enabled:
            return off
        return off + self.timers.disable([one.id for one in enabled], now, _versions(enabled, as_read))

    def _delete_together(self, timers: Sequence[Timer], now: int, as_read: bool) -> list[Timer]:
        return self.timers.delete([timer.id for timer in timers], now, _versions(timers, as_read))

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
        for some in _transactions(timers):
            if results and is_over(answer_s):
                break
            answer_s += sum(map(_weight, some)) * ANSWER_S
            try:
                changed = together(some, now, as_read)
            except StoreAway as error:
                return results | _all_left(timers, results, error)
            results |= self._told(changed)
            results |= _one_by_one([timer for timer in some if timer.id not in results], alone, as_read)
        return results

    def _told(self, timers: Sequence[Timer]) -> Results:
        """Tell Redis how timers stand, also those off already: who switched those off may have died before telling."""
        is_told = self.registrar.tell_redis([timer.definition for timer in timers], [], 0)
        return {timer.id: replace(timer, is_told=is_told) for timer in timers}

    def _plans(
        self, timers: Sequence[Timer], now: int, refused: Results, is_whole: bool
    ) -> Iterator[list[Plan]]:
        """Yield the timers' first plans, as many as make one transaction; no more once the budget is over."""
        plans: list[Plan] = []
        rows = weight = 0
        for number, timer in enumerate(timers):
            if number and not plans and is_over() and not is_whole:
                break
            try:
                plans.append(self.registrar.first_plan(timer, now))
            except TooMuchWork as error:
                if number and not is_whole:
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
        enabled = self.timers.enable(plans, self.registrar.firings_of(plans), now)
        definitions = [timer.definition for timer in enabled.timers]
        is_told = self.registrar.tell_redis(definitions, enabled.pending, now)
        return {timer.id: replace(timer, is_told=is_told) for timer in enabled.timers}


def _transactions(timers: Sequence[Timer]) -> Iterator[list[Timer]]:
    """Yield the timers in order, as many as make one transaction."""
    some: list[Timer] = []
    weight = 0
    for timer in timers:
        some.append(timer)
        weight += _weight(timer)
        if weight >= TIMERS_A_TRANSACTION:
            yield some
            some, weight = [], 0
    if some:
        yield some


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


def _refusal(new: NewTimer, now: int) -> WangTimerError | None:
    try:
        refuse_past(new.schedule, now)
    except WangTimerError as error:
        return error
    return None


def _made(stored: Timer | NameTaken, new: NewTimer) -> Made:
    return (
        Made(error=name_taken(new.app, new.name, stored.by))
        if isinstance(stored, NameTaken)
        else Made(stored)
    )


def _enabled(created: Timer, result: Timer | WangTimerError) -> Made:
    return Made(result) if isinstance(result, Timer) else Made(created, result)
