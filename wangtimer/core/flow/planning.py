"""Which moments of a timer become firings next."""

from dataclasses import dataclass, replace
from itertools import groupby

from wangtimer.core.flow.firing import TO_BE_NUMBERED, Firing
from wangtimer.core.flow.slicing import MINUTE_MS, BucketRule
from wangtimer.core.timers.timer import Timer


@dataclass(frozen=True, slots=True)
class Plan:
    """The next moments of one timer, and the planning marks the timer has once they are rows.

    It holds only while the timer is as it was read: same version, same `planned_until`, enabled. The timer is planned
    again `put_off_ms` later than others.
    """

    timer: Timer
    moments: tuple[int, ...]
    planned_until: int
    next_fire_at: int | None
    put_off_ms: int = 0

    @property
    def plan_by(self) -> int | None:
        """The timer is planned far enough while this moment is a step ahead."""
        return None if self.next_fire_at is None else self.next_fire_at + self.put_off_ms


@dataclass(frozen=True, slots=True)
class Ahead:
    """How far ahead timers are planned: two steps; a dense timer `dense_moments`, but at least `least_ms`.

    At most `most_moments` of one timer are planned at once.
    """

    step_ms: int
    most_moments: int
    dense_moments: int
    least_ms: int


def plan(timer: Timer, until: int, most: int) -> Plan:
    """Expand `(planned_until, until]`, at most `most` moments; the rest is left to the next plan.

    A schedule that ends is planned until its last moment: after that its timer is finished.
    """
    schedule = timer.definition.schedule
    moments = schedule.moments(timer.planned_until, until, most)
    last = moments[-1] if moments else timer.planned_until
    planned_until = last if len(moments) == most else max(until, timer.planned_until)
    following = schedule.first_after(planned_until)
    return Plan(timer, tuple(moments), last if following is None else planned_until, following)


def plan_ahead(timer: Timer, now: int, ahead: Ahead) -> Plan:
    """Expand up to two steps ahead; a dense timer by count, so that its neighbours need not wait for 7,200 rows.

    A dense timer is planned again when half of its reach is left.
    """
    far = plan(timer, now + 2 * ahead.step_ms, ahead.most_moments)
    if len(far.moments) < max(2, ahead.most_moments):
        return far
    interval_ms = (far.moments[-1] - far.moments[0]) / (len(far.moments) - 1)
    reach_ms = max(int(interval_ms * ahead.dense_moments), ahead.least_ms)
    if reach_ms >= 2 * ahead.step_ms:
        return far
    return replace(_until(far, now + reach_ms), put_off_ms=ahead.step_ms - reach_ms // 2)


def _until(far: Plan, until: int) -> Plan:
    """Return the part of a plan up to `until`, but not less than is planned already."""
    if far.planned_until <= until:
        return far
    near = tuple(moment for moment in far.moments if moment <= until)
    following = far.moments[len(near)] if len(near) < len(far.moments) else far.next_fire_at
    return Plan(far.timer, near, max(until, far.timer.planned_until), following)


def count_by_minute(plans: list[Plan]) -> dict[int, int]:
    """Return how many firings the plans put into each minute."""
    counts: dict[int, int] = {}
    for a_plan in plans:
        for moment in a_plan.moments:
            minute = moment // MINUTE_MS
            counts[minute] = counts.get(minute, 0) + 1
    return counts


def firings_of(plans: list[Plan], planned_before: dict[int, int], rule: BucketRule) -> list[Firing]:
    """Return the plans' firings sorted by key, each with its bucket.

    In the order of their moments they take turns over all buckets that their minute needs by then. So every bucket has
    work throughout the minute, and several triggers arm firings that are due together. `planned_before` says for each
    minute how many firings were planned into it before these. An app with a queue of its own has buckets of that queue.
    Firings of numbered timers are to be numbered when they are inserted.
    """
    keys = sorted((moment, a_plan.timer.id) for a_plan in plans for moment in a_plan.moments)
    firsts = {a_plan.timer.id: rule.first_of(a_plan.timer.definition.app) for a_plan in plans}
    numbered = {a_plan.timer.id: TO_BE_NUMBERED for a_plan in plans if a_plan.timer.definition.form.numbered}
    firings: list[Firing] = []
    for minute, of_minute in groupby(keys, lambda key: key[0] // MINUTE_MS):
        together = list(of_minute)
        before = planned_before.get(minute, 0)
        buckets = rule.buckets_for(before + len(together))
        firings += [
            Firing.planned(timer_id, moment, firsts[timer_id] + ordinal % buckets, numbered.get(timer_id))
            for ordinal, (moment, timer_id) in enumerate(together, before)
        ]
    return firings
