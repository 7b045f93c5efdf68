"""What becomes of a firing whose moment comes while an earlier one of its timer is not done."""

from collections.abc import Sequence
from enum import Enum, StrEnum, auto
from typing import NamedTuple

from wangtimer.core.time.moment_text import show_moment

# So begins the error on record of a firing that was skipped or cancelled for another one of its timer.
OVERLAP = "overlap: "


class Overlap(StrEnum):
    """The policy of a timer.

    `allow`: its firings know nothing of each other. `skip`: the newer one is not made. `queueOne`: one waits until the
    older one is done, any further one is skipped. `cancelOlder`: the older one ends, and the newer one is made.
    """

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE_ONE = "queueOne"
    CANCEL_OLDER = "cancelOlder"

    def __init__(self, value: str) -> None:
        self.is_forbidden = value != "allow"  # an attribute: each firing is asked


class Begun(NamedTuple):
    """A firing that began and has no outcome yet, or waits until another one is done (`is_waiting`)."""

    fire_at: int
    is_waiting: bool = False


class Course(Enum):
    """What a firing is to do."""

    GO = auto()
    WAIT = auto()
    SKIP = auto()


class Ruling(NamedTuple):
    """The course of a firing, why, and the moments (ms UTC) of those that it cancels."""

    course: Course
    reason: str = ""
    cancelled: tuple[int, ...] = ()


GO = Ruling(Course.GO)


def judge(policy: Overlap, fire_at: int, own: Begun | None, others: Sequence[Begun]) -> Ruling:
    """Return what a scheduled firing is to do at its first attempt.

    `own` is what is on record of it; None: it was not judged before, or is not to begin yet. `others` are those of its
    timer that have begun or wait.
    """
    if policy is Overlap.ALLOW or (own is not None and not own.is_waiting):
        return GO
    running = [other.fire_at for other in others if not other.is_waiting]
    if policy is Overlap.CANCEL_OLDER:
        return _cancelling(fire_at, running, others)
    if policy is Overlap.SKIP:
        return Ruling(Course.SKIP, _not_done(max(running))) if running else GO
    return _queueing(fire_at, own, running, [other.fire_at for other in others if other.is_waiting])


def cancelled_by(fire_at: int) -> str:
    """Return the error on record of a firing that a newer one cancelled."""
    return f"{OVERLAP}cancelled, since the firing of {show_moment(fire_at)} began"


def _cancelling(fire_at: int, running: Sequence[int], others: Sequence[Begun]) -> Ruling:
    newest = max(running, default=fire_at)
    if newest > fire_at:
        return Ruling(Course.SKIP, f"{OVERLAP}the later firing of {show_moment(newest)} has begun")
    older = tuple(sorted(other.fire_at for other in others if other.fire_at < fire_at))
    return Ruling(Course.GO, cancelled=older)


def _queueing(fire_at: int, own: Begun | None, running: Sequence[int], waiting: Sequence[int]) -> Ruling:
    """Let it go, wait or be skipped: behind the one that is not done, one waits."""
    line = sorted(moment for moment in waiting if own is None or moment < fire_at)
    if running:
        ahead = max(running)
    elif line:
        ahead = line.pop(0)  # it goes at once
    else:
        return GO
    if line and own is None:
        return Ruling(Course.SKIP, f"{_not_done(ahead)}, and that of {show_moment(line[0])} waits for it")
    return Ruling(Course.WAIT)


def _not_done(fire_at: int) -> str:
    return f"{OVERLAP}the firing of {show_moment(fire_at)} is not done"
