"""What to do with a firing that is found long after its moment, say after an outage."""

from dataclasses import dataclass
from enum import StrEnum

from wangtimer.core.schedules.schedule import Schedule

MISSED = "missed"
COALESCED = "coalesced"


class MisfirePolicy(StrEnum):
    """`fire_all`: make every missed firing; `fire_latest`: one only if no later moment has come; `skip`: none."""

    FIRE_ALL = "fire_all"
    FIRE_LATEST = "fire_latest"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class MisfireRule:
    """A firing is missed once it is `grace_ms` late without a first attempt, or `window_ms` if that is sooner.

    One that is more than `window_ms` late is never made, whatever the policy (0: no such bound).
    """

    policy: MisfirePolicy = MisfirePolicy.FIRE_ALL
    grace_ms: int = 60_000
    window_ms: int = 0

    def is_missed(self, fire_at: int, now: float) -> bool:
        """Tell whether a firing that was never attempted is missed by now."""
        late_ms = now - fire_at
        return late_ms > self.grace_ms or 0 < self.window_ms < late_ms

    def why_not(
        self, schedule: Schedule, fire_at: int, now: float, *, edited_at: int = 0, has_waited: bool = False
    ) -> str:
        """Return why a firing never attempted is not to be made; "": it is. `has_waited`: the window alone counts.

        The schedule stands since `edited_at` (ms UTC): earlier moments of it were never planned.
        """
        if has_waited:
            return MISSED if 0 < self.window_ms < now - fire_at else ""
        if not self.is_missed(fire_at, now):
            return ""
        late_ms = now - fire_at
        if self.policy is MisfirePolicy.SKIP or (self.window_ms and late_ms > self.window_ms):
            return MISSED
        if self.policy is MisfirePolicy.FIRE_LATEST:
            later = schedule.first_after(max(fire_at, edited_at))
            return COALESCED if later is not None and later <= now else ""
        return ""


# The rule of a timer that names no policy.
USUAL = MisfireRule()
