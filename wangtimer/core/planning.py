"""Which moments of a timer become firings next."""

from dataclasses import dataclass

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
    """Expand `(planned_until, until]`, at most `most` moments; what is left over is the next plan's."""
    schedule = timer.definition.schedule
    moments = schedule.moments(timer.planned_until, until, most)
    planned_until = moments[-1] if len(moments) == most else max(until, timer.planned_until)
    return Plan(timer, tuple(moments), planned_until, schedule.first_after(planned_until))


def count_by_minute(plans: list[Plan]) -> dict[int, int]:
    """Return how many firings the plans put into each minute."""
    counts: dict[int, int] = {}
    for a_plan in plans:
        for moment in a_plan.moments:
            minute = moment // MINUTE_MS
            counts[minute] = counts.get(minute, 0) + 1
    return counts


def firings_of(plans: list[Plan], first_ordinals: dict[int, int], rule: BucketRule) -> list[Firing]:
    """Return the plans' firings sorted by key, each with its bucket.

    `first_ordinals` says for each minute how many firings were planned into it before these.
    """
    ordinals = dict(first_ordinals)
    firings = []
    for a_plan in plans:
        for moment in a_plan.moments:
            minute = moment // MINUTE_MS
            ordinal = ordinals.get(minute, 0)
            ordinals[minute] = ordinal + 1
            firings.append(Firing.planned(a_plan.timer.id, moment, rule.bucket_of(ordinal)))
    firings.sort(key=lambda firing: (firing.fire_at, firing.timer_id))
    return firings
