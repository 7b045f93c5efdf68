"""Fail points: before and after every step that leaves a process, a test may let the process die or the step fail.

Off unless `WANGTIMER_FAIL_POINT` names one; a step then costs one more comparison.
"""

import os
import signal
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count

from wangtimer.core.errors import BadSetting, StoreAway


class FailPoint(StrEnum):
    """Every step that leaves a process."""

    # Scripts of the store, by the names of their files.
    ADD = "add"
    AGENDA_ADD = "agenda_add"
    AGENDA_CLOSE = "agenda_close"
    AGENDA_RAISE = "agenda_raise"
    ARM_NOW = "arm_now"
    CLAIM = "claim"
    DEFINE = "define"
    DEFINE_READ = "define_read"
    FEED_DONE = "feed_done"
    FEED_KEEP = "feed_keep"
    FEED_NARROW = "feed_narrow"
    FEED_NEXT = "feed_next"
    FORGET_PARKED = "forget_parked"
    LANE_ADD = "lane_add"
    LANE_FED = "lane_fed"
    LANE_FEED = "lane_feed"
    LANE_FORGET = "lane_forget"
    LANE_PULL = "lane_pull"
    LOOK = "look"
    PERMITS = "permits"
    PUT_BACK = "put_back"
    RELEASE = "release"
    RENEW = "renew"
    SIGNING_PUT = "signing_put"
    TALLY = "tally"
    TRY_APART = "try_apart"
    TURN = "turn"
    UNLOCK = "unlock"

    # Transactions in SQL.
    SQL_CREATE = "sql_create"
    SQL_CREATE_MANY = "sql_create_many"
    SQL_ENABLE = "sql_enable"
    SQL_ENABLE_MANY = "sql_enable_many"
    SQL_EDIT = "sql_edit"
    SQL_DISABLE = "sql_disable"
    SQL_DISABLE_MANY = "sql_disable_many"
    SQL_DELETE = "sql_delete"
    SQL_DELETE_MANY = "sql_delete_many"
    SQL_CLAIM_KEY = "sql_claim_key"
    SQL_END_CLAIM = "sql_end_claim"
    SQL_SIGNING = "sql_signing"
    SQL_CHANGE_TARGET = "sql_change_target"
    SQL_REMOVE_TARGET = "sql_remove_target"
    SQL_FIRE_NOW = "sql_fire_now"
    SQL_REPLAY = "sql_replay"
    SQL_CANCEL = "sql_cancel"
    SQL_BACKFILL = "sql_backfill"
    SQL_PUT_CALENDAR = "sql_put_calendar"
    SQL_FOLLOW_CALENDAR = "sql_follow_calendar"
    SQL_REMOVE_CALENDAR = "sql_remove_calendar"
    SQL_PLAN = "sql_plan"
    SQL_SETTLE = "sql_settle"
    SQL_ACKNOWLEDGE = "sql_acknowledge"
    SQL_PROLONG = "sql_prolong"
    SQL_END_ACCEPTED = "sql_end_accepted"
    SQL_JUDGE_OVERLAP = "sql_judge_overlap"
    SQL_END_OVERLAP = "sql_end_overlap"
    SQL_NOTE_LANE = "sql_note_lane"
    SQL_JUDGE_ALERTS = "sql_judge_alerts"
    SQL_END_TROUBLES = "sql_end_troubles"
    SQL_TAKE_ALERTS = "sql_take_alerts"
    SQL_END_ALERT = "sql_end_alert"
    SQL_PUT_OFF_ALERT = "sql_put_off_alert"
    SQL_PURGE = "sql_purge"
    SQL_PURGE_TIMERS = "sql_purge_timers"
    SQL_PURGE_ANSWERS = "sql_purge_answers"
    SQL_PURGE_AUDIT = "sql_purge_audit"
    SQL_PURGE_FINISHED = "sql_purge_finished"
    SQL_PURGE_DEAD_LETTERS = "sql_purge_dead_letters"
    SQL_FORGET_CONTROLS = "sql_forget_controls"

    # Messages, by the names of their tasks.
    PUBLISH_SCHEDULE = "wangtimer.schedule"
    PUBLISH_MIGRATE = "wangtimer.migrate"
    PUBLISH_SWEEP = "wangtimer.sweep"
    PUBLISH_JUDGE_ALERTS = "wangtimer.judge_alerts"
    PUBLISH_RECONCILE = "wangtimer.reconcile"
    PUBLISH_PURGE = "wangtimer.purge"
    PUBLISH_FEED = "wangtimer.feed"
    PUBLISH_FEED_LANES = "wangtimer.feed_lanes"
    PUBLISH_FOLLOW = "wangtimer.follow"
    PUBLISH_CONTROLS = "wangtimer.apply_controls"
    PUBLISH_TRIGGER = "wangtimer.trigger"
    PUBLISH_CALLBACK = "wangtimer.callback"

    # The callback itself: just before the request, and just after its answer.
    SEND = "send"


class Side(StrEnum):
    """Before a step: it has no effect. After a step: it has its effect, but the process does not learn of it."""

    BEFORE = "before"
    AFTER = "after"


class Harm(StrEnum):
    """`kill`: the process dies as by SIGKILL. `raise`: the step ends with an error, as of a lost connection."""

    KILL = "kill"
    RAISE = "raise"


class FailPointRaised(StoreAway, OSError):
    """A fail point raised: the step may or may not have been applied."""

    def __init__(self, step: FailPoint, side: Side) -> None:
        super().__init__("fail point", f"{step}.{side}")


@dataclass(slots=True)
class ArmedFailPoint:
    """Harms a process the `nth` time (from 1) it comes to this side of the step, and only then."""

    step: FailPoint
    side: Side
    harm: Harm
    nth: int
    _passed: "count[int]" = field(default_factory=lambda: count(1))

    @classmethod
    def parse(cls, text: str) -> "ArmedFailPoint":
        """Read `<step>.<side>:<kill|raise>:<nth>`; raises `BadSetting`."""
        try:
            place, harm, nth = text.split(":")
            step, _, side = place.rpartition(".")
            return cls(FailPoint(step), Side(side), Harm(harm), int(nth))
        except ValueError as error:
            raise BadSetting(
                f"WANGTIMER_FAIL_POINT={text!r}: {error}; write for example claim.after:kill:3"
            ) from None

    def __str__(self) -> str:
        return f"{self.step}.{self.side}:{self.harm}:{self.nth}"

    def reach(self, step: str, side: Side) -> None:
        """Do the harm if this is the place and the time."""
        if step != self.step or side is not self.side or next(self._passed) != self.nth:
            return
        # Not by the log, which a kill would cut off: the test must see that the point was reached.
        os.write(2, f"\nfail point {self} reached\n".encode())
        if self.harm is Harm.KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        raise FailPointRaised(self.step, side)


_armed: ArmedFailPoint | None = None


def arm(text: str) -> None:
    """Set this process's fail point; an empty text sets none. Raises `BadSetting`."""
    global _armed  # noqa: PLW0603 -- one a process, as its environment says
    _armed = ArmedFailPoint.parse(text) if text else None


def is_armed() -> bool:
    """Tell whether this process has a fail point."""
    return _armed is not None


def before(step: str) -> None:
    """Call before a step, named as in `FailPoint`; does nothing unless a test wants harm here."""
    if _armed is not None:
        _armed.reach(step, Side.BEFORE)


def after(step: str) -> None:
    """Call after a step, named as in `FailPoint`; does nothing unless a test wants harm here."""
    if _armed is not None:
        _armed.reach(step, Side.AFTER)
