"""Members and outcomes as tests write them."""

from wangtimer.core.flow.dead_letter import NOT_MADE, Failure
from wangtimer.core.flow.firing import DueMember, Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome


def due_at(moment: float, timer_id: int = 1, attempt: int = 1, fire_at: float | None = None) -> DueMember:
    """Return a member due at a moment; on the first attempt that is its own."""
    own = int(moment if fire_at is None else fire_at)
    return DueMember(Member(timer_id, own, attempt), int(moment))


def many_due_at(moment: float, number: int) -> list[DueMember]:
    """Return that many members, one a timer, due at one moment."""
    return [due_at(moment, timer_id) for timer_id in range(1, number + 1)]


def outcome_of(
    member: Member, status: FiringStatus = FiringStatus.SUCCEEDED, moment: int = 0, **fields: object
) -> Outcome:
    """Return an outcome; `moment` is the next attempt's, where it is a retry."""
    return Outcome(member, 0, status, moment or member.fire_at, **fields)


def failed_of(
    member: Member,
    reason: str = NOT_MADE,
    host: str = "",
    failed_at: int | None = None,
    **fields: object,
) -> Outcome:
    """Return the outcome of a firing that failed for good."""
    return outcome_of(member, FiringStatus.FAILED, **fields).with_note(Failure(reason, host, failed_at).note)


def row_at(moment: int, timer_id: int = 1, bucket: int = 0) -> Firing:
    """Return a planned firing."""
    return Firing.planned(timer_id, moment, bucket)
