"""A `WangTimer` whose firings may have to wait: an operator pauses and limits, and a target that fails is tried seldom.

The one that users have holds up nobody: it has neither lanes nor limits.
"""

from collections.abc import Callable

from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.pauses import Pauses
from wangtimer.testing import WangTimer
from wangtimer.testing.doubles import MemoryEngine

# Lanes are looked at this often.
LOOK_MS = 1_000


class Operator:
    """Has a service's callback process work as in a deployment, and sets its rules."""

    def __init__(self, wangtimer: WangTimer) -> None:
        self._parts = parts = wangtimer._parts
        engine = MemoryEngine(
            parts.clock,
            parts.events.at,
            wangtimer._take,
            parts.settings.callback_timeout_ms,
            learns_from_failures=True,
            permits=parts.throttle,
        )
        vars(parts).update(engine=engine, deliveries=engine)
        parts.puller.fire_by(parts.executor.fire_pulled)
        parts.mover.loop.wake = self._soon(parts.mover.move_all)
        parts.throttle.loop.wake = self._soon(parts.throttle.carry_out)
        parts.puller.loop.wake = self._soon(self._pull)
        parts.throttle.read_rules()
        self._look()

    def pause(self, *names: str) -> None:
        """Let these be paused, and nothing else."""
        self._parts.pauses_replica.write(Pauses(frozenset(names)))
        self._parts.throttle.read_rules()

    def limit(self, limits: CallLimits) -> None:
        """Let these be the limits, and no others."""
        self._parts.limits_replica.write(limits)
        self._parts.throttle.read_rules()

    def _soon(self, work: Callable[[], object]) -> Callable[[], None]:
        return lambda: self._parts.events.soon(work)

    def _look(self) -> None:
        self._parts.keeper.renew_due()
        self._parts.puller.look()
        self._pull()
        self._parts.events.at(self._parts.steered.now_ms() + LOOK_MS, self._look)

    def _pull(self) -> None:
        while self._parts.puller.has_lanes_to_pull:
            self._parts.puller.pull_next()
