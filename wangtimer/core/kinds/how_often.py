"""How often a schedule fires, as an estimate that limits are held against."""

from wangtimer.core.kinds.kinds import kind_of
from wangtimer.core.schedules.schedule import Schedule, rule_of


def firings_a_day(schedule: Schedule) -> int:
    """Return how many firings a day has on which the schedule's rule fires; 0 for a one-shot.

    Bounds and excluded days, which only leave firings out, do not count. A rule that this version cannot read is never
    planned, and counts as 0.
    """
    rule = rule_of(schedule)
    try:
        return kind_of(rule).firings_a_day(rule)
    except Exception:
        return 0
