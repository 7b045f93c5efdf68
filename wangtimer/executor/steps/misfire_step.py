"""Misfires: a firing that comes late is made or skipped as its timer's policy says."""

from dataclasses import dataclass

from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import reason_of
from wangtimer.executor.case import Case
from wangtimer.executor.verdicts import Skip
from wangtimer.executor.verifier import Verifier


@dataclass(frozen=True, slots=True)
class MisfireStep:
    """A step about late first attempts.

    One that waited for room missed nothing, but is not sent past its catch-up window; one that waited for a pause to
    end was missed as after any outage. What this node cannot work out waits, and at last fails.
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
                    edited_at=definition.edited_at,
                    has_waited=has_waited or row.has_queued,
                )
            except Exception as error:
                why = reason_of("its moments cannot be worked out", error)
                case.verdicts[due.member] = self.verifier.unjudged(due, why, row)
            else:
                if reason:
                    case.verdicts[due.member] = Skip(reason, row)
