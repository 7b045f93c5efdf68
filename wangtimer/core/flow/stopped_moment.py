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
    timer_id: int, schedule: Schedule, latest: Firing | None, was_sent: bool, now: int, reach: int
) -> StoppedMoment | None:
    """Return what becomes of the next moment, at `now`, of a timer that was switched off.

    `latest` is the last scheduled firing up to now; `was_sent`: an attempt of it went out. Firings up to the moment
    `reach` may be on their way, and retries that are due up to it; both in ms UTC. The moment returned is, in order:

    * that of `latest`, if no attempt of it has ended
    * the schedule's next
    * that of `latest`

    None: there is no such moment, or `latest` has failed and nothing of it was ever sent.
    """
    is_pending = latest is not None and latest.status is FiringStatus.PENDING
    if latest is not None and is_pending and latest.attempt == 1:
        return StoppedMoment(timer_id, latest.fire_at, _state_of(latest.fire_at, reach))
    following = schedule.first_after(now)
    if following is not None:
        return StoppedMoment(timer_id, following, _state_of(following, reach))
    state = None if latest is None else _state_of_last(latest, was_sent, reach)
    return None if latest is None or state is None else StoppedMoment(timer_id, latest.fire_at, state)


def _state_of(moment: int, reach: int) -> StopState:
    return StopState.IN_FLIGHT if moment <= reach else StopState.CANCELLED


def _state_of_last(latest: Firing, was_sent: bool, reach: int) -> StopState | None:
    """Return what switching off means for the last moment, of which an attempt has ended; None: nothing."""
    if was_sent:
        return StopState.ALREADY_FIRED
    if latest.status is FiringStatus.PENDING:
        return _state_of(latest.due_at, reach)
    return StopState.CANCELLED if latest.status is FiringStatus.SKIPPED else None
