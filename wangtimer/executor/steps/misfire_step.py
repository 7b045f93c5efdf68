"""Misfires: a firing that comes late is made or skipped as its timer's policy says."""

from dataclasses import dataclass

from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import reason_of
from wangtimer.core.timers.overlap import Overlap, given_way_to
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.case import Case
from wangtimer.executor.verdicts import Skip
from wangtimer.executor.verifier import Verifier


@dataclass(frozen=True, slots=True)
class MisfireStep:
    """A step about late first attempts.

    One that waited for room missed nothing, but is not sent past its catch-up window; one that waited for a pause to
    end was missed as after any outage. Where a newer one is to cancel it, it is not made once that one has come due:
    those of other minutes are in other chunks, and each would be called. What this node cannot work out waits, and at
    last fails.
    """

    verifier: Verifier
    clock: Clock

    concerns = None

    def rule(self, case: Case) -> None:
        """Skip those that are no longer to be made."""
        stands_in = case.claim.stands_in
        has_waited = isinstance(stands_in, SharedLane) and stands_in.paused is None
        now = self.clock.now_ms()
        for due, row, definition in case.going():
            if not row.may_misfire:
                continue
            try:
                reason = definition.misfire.why_not(
                    definition.schedule,
                    due.member.fire_at,
                    now,
                    has_waited=has_waited or row.has_queued,
                ) or _why_older(definition, due.member.fire_at, now)
            except Exception as error:
                why = reason_of("its moments cannot be worked out", error)
                case.verdicts[due.member] = self.verifier.unjudged(due, why, row)
            else:
                if reason:
                    case.verdicts[due.member] = Skip(reason, row)


def _why_older(definition: Definition, fire_at: int, now: float) -> str:
    """Return why a firing gives way to a newer one that is due by now; "" if it does not."""
    if definition.overlap is not Overlap.CANCEL_OLDER or now <= fire_at:
        return ""
    # Moments up to an edit were planned by the schedule before it.
    later = definition.misfire.later_due(definition.schedule, max(fire_at, definition.edited_at), now)
    return "" if later is None else given_way_to(later)
