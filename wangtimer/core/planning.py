"""Which moments of a timer become firings next."""

from dataclasses import dataclass
from itertools import groupby

from wangtimer.core.firing import Firing
from wangtimer.core.slicing import MINUTE_MS, BucketRule
from wangtimer.core.timer import Timer


@dataclass(frozen=True, slots=True)
class Plan:
    """The next moments of one timer, and the planning marks the timer has once they are rows.

    It holds only while the timer is as it was read: same version, same `planned_until`, enabled.
    """

    timer: Timer
    moments: tuple[int, ...]
    planned_until: int
    next_fire_at: int | None


def plan(timer: Timer, until: int, most: int) -> Plan:
    """Expand `(planned_until, until]`, at most `most` moments; what is left over is the next plan's.

    A schedule that is over is planned until its last moment, and no further: from then on its timer is finished.
    """
    schedule = timer.definition.schedule
    moments = schedule.moments(timer.planned_until, until, most)
    last = moments[-1] if moments else timer.planned_until
    planned_until = last if len(moments) == most else max(until, timer.planned_until)
    following = schedule.first_after(planned_until)
    return Plan(timer, tuple(moments), last if following is None else planned_until, following)


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

    They go round all the buckets that their minute has by then, in the order of their moments: so every bucket has
    work all through the minute, and what is due together is armed by several triggers. `planned_before` says for
    each minute how many firings were planned into it before these.
    """
    keys = sorted((moment, a_plan.timer.id) for a_plan in plans for moment in a_plan.moments)
    firings: list[Firing] = []
    for minute, of_minute in groupby(keys, lambda key: key[0] // MINUTE_MS):
        together = list(of_minute)
        before = planned_before.get(minute, 0)
        buckets = rule.buckets_for(before + len(together))
        firings += [
            Firing.planned(timer_id, moment, ordinal % buckets)
            for ordinal, (moment, timer_id) in enumerate(together, before)
        ]
    return firings
