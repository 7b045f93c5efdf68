"""A firing that is ready to be sent."""

from typing import NamedTuple

from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import DueMember
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.claim import Held


class Ready(NamedTuple):
    """A member to be sent as its order says, not before `due_at` (ms UTC); `bucket` is its row's.

    `order` was made of `definition` and `target`, which is what the definition names, whole; None: none. `signing` is
    how its app's calls are signed. `continuity` is what a numbered timer's call tells; None: it tells nothing.
    """

    held: Held
    due_at: int
    order: CallOrder
    bucket: int
    definition: Definition
    target: NamedTarget | None
    signing: AppSigning
    continuity: Continuity | None = None

    @property
    def due(self) -> DueMember:
        """The member, and when it is due."""
        return DueMember(self.held.member, self.due_at)
