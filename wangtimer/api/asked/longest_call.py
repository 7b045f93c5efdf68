"""No time-out of a timer or a target may be longer than the operator allows: a call that hangs holds a connection."""

from flask import has_app_context

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused
from wangtimer.api.http.request_context import settings_in_use
from wangtimer.core.time.durations import show_duration
from wangtimer.core.timers.timeouts import AS_DEPLOYED, Timeouts

# In the order of `Timeouts`, the first three of them.
CALL_FIELDS = ("target.timeout", "target.connectTimeout", "target.firstByteTimeout")
ACK_FIELD = "target.ackTimeout"


def refuse_longer(given: Timeouts, was: Timeouts = AS_DEPLOYED) -> None:
    """Raise `Refused` for a time-out that is longer than this deployment allows.

    One that was there before stays, although the deployment may allow less since. A file of timers is checked without a
    deployment, and so without its settings.
    """
    if given == AS_DEPLOYED or not has_app_context():
        return
    settings = settings_in_use()
    most_ms = settings.callback_longest_timeout_ms
    if given.ack_ms is not None and given.ack_ms != was.ack_ms and not settings.secret_key_ring:
        raise Refused(
            ErrorCode.BAD_VALUE,
            ACK_FIELD,
            "this deployment has no key, by which targets could say that they are done",
            "let its operator set WANGTIMER_SECRET_KEYS_FILE (`wangtimer secrets key` makes a key)",
        )
    # While a target works on what it has accepted, no connection is held.
    for field, timeout_ms, before in zip(CALL_FIELDS, given, was, strict=False):
        if timeout_ms is None or timeout_ms <= most_ms or timeout_ms == before:
            continue
        most = show_duration(most_ms)
        raise Refused(
            ErrorCode.BAD_VALUE,
            field,
            f"it is {show_duration(timeout_ms)}, and this deployment allows {most} "
            "(WANGTIMER_CALLBACK_LONGEST_TIMEOUT_MS)",
            f"write {most} or less, or leave it out",
        )
