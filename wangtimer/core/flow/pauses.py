"""What operators paused: no call of it is made until it goes on."""

from collections.abc import Iterator
from dataclasses import dataclass

from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.replica_kind import ReplicaKind

EVERYTHING = "all"
# Each callback process reads the names of all pauses every few seconds, and looks at their lanes.
MOST_PAUSES = 1_000
REASON_CHARACTERS = 255


@dataclass(frozen=True, slots=True)
class Pause:
    """What an operator paused `since`, ms UTC, and why; `app` is whose it is, None where of no single app."""

    name: str
    since: int
    app: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Pauses:
    """The names of what is paused: `all`; or `app:`, `host:` or `timer:` with an app, a host and port, or an id.

    What is paused waits in a lane of its pause, so that its record names the pause.
    """

    names: frozenset[str] = frozenset()

    def lane_of(self, app: str, host: str, timer_id: int | None = None) -> SharedLane | None:
        """Return the lane in which a call waits for its pause to end, the widest one; None if it is not paused."""
        if not self.names:
            return None
        asked = (EVERYTHING, f"app:{app}", f"host:{host}", f"timer:{timer_id}")
        return next((SharedLane.of_pause(name) for name in asked if name in self.names), None)

    def hold(self, lane: SharedLane) -> bool:
        """Tell whether all that waits in the lane is paused: nothing is to be taken from it."""
        if not self.names:
            return False
        return not self.names.isdisjoint(_names_for(lane))


def _names_for(lane: SharedLane) -> Iterator[str]:
    """Yield the names of the pauses that hold everything in a lane."""
    yield EVERYTHING
    if lane.paused is not None:
        yield lane.paused
        return
    if lane.app is not None:
        yield f"app:{lane.app}"
    if lane.host is not None:
        yield f"host:{lane.host}"


PAUSES = ReplicaKind(
    "pauses", lambda pauses: sorted(pauses.names), lambda told: Pauses(frozenset(map(str, told))), Pauses()
)
