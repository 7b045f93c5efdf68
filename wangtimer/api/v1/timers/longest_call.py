"""No timer or target may have a time-out longer than the deployment gives its calls: leases last for that long."""

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused
from wangtimer.api.v1.durations import show_duration
from wangtimer.core.timers.timer import NewTimer, Timer


def new_within(new: NewTimer, most_ms: int) -> NewTimer:
    """Return the timer to make; raises `Refused` where its calls may take longer than `most_ms`."""
    refuse_longer(new.timeout_ms, most_ms)
    return new


def edited_within(edited: Timer, was: Timer, most_ms: int) -> Timer:
    """Return the timer as it is to be; raises `Refused` for a new time-out that is longer than `most_ms`.

    One that it had before stays: where the deployment's was made shorter since, that one ends its calls.
    """
    timeout_ms = edited.definition.timeout_ms
    if timeout_ms != was.definition.timeout_ms:
        refuse_longer(timeout_ms, most_ms)
    return edited


def refuse_longer(timeout_ms: int | None, most_ms: int) -> None:
    """Raise `Refused` for a time-out that is longer than `most_ms`."""
    if timeout_ms is None or timeout_ms <= most_ms:
        return
    most = show_duration(most_ms)
    raise Refused(
        ErrorCode.BAD_VALUE,
        "target.timeout",
        f"it is {show_duration(timeout_ms)}, and a call of this deployment may take {most} "
        "(WANGTIMER_CALLBACK_TIMEOUT_MS)",
        f"write {most} or less, or leave it out",
    )
