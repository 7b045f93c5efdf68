"""Whether switching a timer off came in time for its next moment."""

from enum import StrEnum
from typing import NamedTuple

from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.schedules.schedule import Schedule


class StopState(StrEnum):
    """What switching a timer off means for one moment."""

    CANCELLED = "cancelled"
    IN_FLIGHT = "in_flight"
    ALREADY_FIRED = "already_fired"


class StoppedMoment(NamedTuple):
    """A moment (ms UTC) of a timer that was switched off, and whether that came in time."""

    timer_id: int
    at_ms: int
    state: StopState


def stopped_moment(
    timer_id: int, schedule: Schedule, latest: Firing | None, was_sent: bool, now: int, reach_ms: int
) -> StoppedMoment | None:
    """Return what becomes of the next moment of a timer that was switched off by `now` (ms UTC).

    `latest` is the last scheduled firing up to now; `was_sent`: an attempt of it went out. A firing may be on its way
    from `reach_ms` before its moment, a retry from `reach_ms` before its due moment. The moment returned is, in order:

    * that of `latest`, if no attempt of it has ended
    * the schedule's next
    * that of `latest`

    None: there is no such moment, or `latest` has failed and nothing of it was ever sent.
    """
    is_pending = latest is not None and latest.status is FiringStatus.PENDING
    if latest is not None and is_pending and latest.attempt == 1:
        return StoppedMoment(timer_id, latest.fire_at, StopState.IN_FLIGHT)
    following = schedule.first_after(now)
    if following is not None:
        is_near = following <= now + reach_ms
        return StoppedMoment(timer_id, following, StopState.IN_FLIGHT if is_near else StopState.CANCELLED)
    state = None if latest is None else _state_of_last(latest, was_sent, now + reach_ms)
    return None if latest is None or state is None else StoppedMoment(timer_id, latest.fire_at, state)


def _state_of_last(latest: Firing, was_sent: bool, reach: int) -> StopState | None:
    """Return what switching off means for the last moment, of which an attempt has ended; None: nothing."""
    if was_sent:
        return StopState.ALREADY_FIRED
    if latest.status is FiringStatus.PENDING:
        return StopState.IN_FLIGHT if latest.due_at <= reach else StopState.CANCELLED
    return StopState.CANCELLED if latest.status is FiringStatus.SKIPPED else None
