"""An attempt: one firing on its way, as the delivery engine sees it."""

from typing import Protocol

from wangtimer.callback import Call, Reply, Request
from wangtimer.callback.permits import Permit
from wangtimer.core import fail_points
from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.call_options import Timeouts
from wangtimer.executor.claim import Held
from wangtimer.executor.request_maker import Made
from wangtimer.messaging.message import Message

# The answer of a target that goes on to work.
ACCEPTED = 202


class Sending(Protocol):
    """What an attempt asks of the sender that made it, and tells it."""

    def may_send(self, held: Held, /) -> bool:
        """Tell whether the member is held, with a second of its lease surely left."""

    def pause_of(self, held: Held, app: str, host: str, /) -> SharedLane | None:
        """Return the lane of the pause that holds the member."""

    def signed_anew(self, member: Member, made: Made, /) -> Made:
        """Return the same request with a signature that is not old."""

    def ask_again(self, attempt: "Attempt", /) -> None:
        """Send it if its lease is renewed, or let it wait for a pause."""

    def move(self, held: Held, lane: SharedLane, due_at: int, /) -> None:
        """Let the member wait in a lane."""

    def take(self, attempt: "Attempt", reply: Reply, /) -> None:
        """Record what came of it."""


class Attempt:
    """The engine's call, one object a firing. `made` is of its `order`, `queue` its app's number."""

    __slots__ = (
        "_sender",
        "bucket",
        "due_at_ms",
        "held",
        "made",
        "order",
        "permits",
        "queue",
        "request",
        "timeouts",
    )

    def __init__(
        self,
        sender: Sending,
        held: Held,
        due_at_ms: int,
        bucket: int,
        order: CallOrder,
        queue: int,
        made: Made,
    ) -> None:
        self._sender = sender
        self.held = held
        self.due_at_ms = due_at_ms
        self.bucket = bucket
        self.order = order
        self.queue = queue
        self.made = made
        self.request: Request = made.request
        self.timeouts: Timeouts = order.timeouts
        self.permits: tuple[Permit, ...] = ()

    is_counted = True

    @property
    def has_waited(self) -> bool:
        """Whether it was pulled from a lane."""
        return isinstance(self.held.claim.stands_in, SharedLane)

    @property
    def place(self) -> AlertPlace:
        """Whose it is, and where it goes: a call to consumers may go elsewhere than its order says."""
        return AlertPlace(self.request.app, self.request.host, self.order.target)

    def is_accepted_by(self, reply: Reply) -> bool:
        """Whether its target is to say later that it is done; who gets a message says nothing else."""
        return isinstance(self.request, Message) or reply.http_status == ACCEPTED

    def may_send(self) -> bool:
        """Tell whether the member may be sent: its lease surely lasts, and it is not paused.

        A signature that is old by now is made anew.
        """
        fail_points.before(FailPoint.SEND)
        sender, held, made, request = self._sender, self.held, self.made, self.request
        if not sender.may_send(held) or sender.pause_of(held, request.app, request.host) is not None:
            return False
        if made.keys:
            anew = sender.signed_anew(held.member, made)
            if anew is not made:
                self.made, self.request = anew, anew.request
        return True

    def on_written(self) -> None:
        """Hold its body no longer: an answer may take minutes, and other apps' requests need the room."""
        self.held.claim.empty([self.held.member])
        self.request = self.request.without_body()
        self.made = self.made._replace(request=self.request)

    def on_held_back(self, _call: Call) -> None:
        """Check the lease again, then send; or let it wait for a pause to end."""
        self._sender.ask_again(self)

    def on_no_room(self, _call: Call, lane: SharedLane) -> None:
        """Let it wait in a lane."""
        self._sender.move(self.held, lane.in_queue(self.queue), self.due_at_ms)

    def on_reply(self, _call: Call, reply: Reply) -> None:
        """Record its outcome."""
        fail_points.after(FailPoint.SEND)
        self._sender.take(self, reply)
