"""Whether switching a timer off came in time for its next moment."""

from enum import StrEnum
from typing import NamedTuple

from wangtimer.core.firing import Firing, FiringStatus
from wangtimer.core.schedule import Schedule


class StopState(StrEnum):
    """What the switching off means for one moment."""

    CANCELLED = "cancelled"
    IN_FLIGHT = "in_flight"
    ALREADY_FIRED = "already_fired"


class StoppedMoment(NamedTuple):
    """A moment (ms UTC) of a timer that was switched off, and whether that came in time for it."""

    timer_id: int
    at_ms: int
    state: StopState


def stopped_moment(
    timer_id: int, schedule: Schedule, latest: Firing | None, now: int, reach_ms: int
) -> StoppedMoment | None:
    """Return what becomes of the next moment of a timer that was switched off by `now` (ms UTC).

    `latest` is its last scheduled firing up to now. Within `reach_ms` of its moment a firing may be on its way. The
    moment is that of `latest` where no attempt of it has ended; else the next of the schedule; else, where the schedule
    has none, that of `latest` again. None: there is no such moment at all.
    """
    is_pending = latest is not None and latest.status is FiringStatus.PENDING
    if latest is not None and is_pending and latest.attempt == 1:
        return StoppedMoment(timer_id, latest.fire_at, StopState.IN_FLIGHT)
    following = schedule.first_after(now)
    if following is not None:
        is_near = following <= now + reach_ms
        return StoppedMoment(timer_id, following, StopState.IN_FLIGHT if is_near else StopState.CANCELLED)
    if latest is None:
        return None
    was_skipped = latest.status is FiringStatus.SKIPPED
    state = StopState.CANCELLED if was_skipped else StopState.ALREADY_FIRED
    return StoppedMoment(timer_id, latest.fire_at, state)
