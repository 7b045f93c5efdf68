"""One request with its moment, and the listeners that learn its result."""

import logging
from typing import Protocol

from wangtimer.callback.permits import Permit
from wangtimer.callback.reply import Reply
from wangtimer.callback.request import Request
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.call_options import Timeouts

_logger = logging.getLogger(__name__)


class Call(Protocol):
    """A prepared request to send at `due_at_ms` (the deployment's clock), never before.

    `timeouts` are time-outs of its own; what they leave open is as the engine has it.

    Every submitted call ends in exactly one of: `on_reply`, `on_held_back`, `on_no_room`, being returned by the
    engine's `stop`. Its methods run in the engine's thread, so all calls wait for them: at most a millisecond, no
    I/O. Errors they raise are logged, and go no further. The listeners get the call itself.

    `may_send` is asked when the connection is open, right before the request is written. If it returns False or raises,
    nothing is sent, `on_held_back` is called, and the engine forgets the call.

    `permits` are those that it was pulled with, or got from the engine, which gives them back. `has_waited`: it was
    pulled from a lane. Unless it `is_counted` no limit applies to it, and it waits for pauses alone.
    """

    permits: tuple[Permit, ...]

    @property
    def has_waited(self) -> bool:
        """Whether it has waited in a lane."""

    @property
    def is_counted(self) -> bool:
        """Whether limits count it."""

    @property
    def request(self) -> Request:
        """What to send."""

    @property
    def due_at_ms(self) -> float:
        """When."""

    @property
    def timeouts(self) -> Timeouts:
        """How long it may take."""

    def may_send(self) -> bool:
        """Tell whether it may be sent now."""

    def on_written(self) -> None:
        """Learn that its request is wholly written, if it has time-outs of its own: what it holds may go."""

    def on_held_back(self, call: "Call", /) -> None:
        """Learn that nothing was sent."""

    def on_no_room(self, call: "Call", lane: SharedLane, /) -> None:
        """Learn that nothing was sent, because there was no room: the call is to wait in this lane."""

    def on_reply(self, call: "Call", reply: Reply, /) -> None:
        """Learn the reply."""


def is_allowed(call: Call) -> bool:
    """Ask a call whether it may be sent; False if it raises."""
    try:
        return call.may_send()
    except Exception:
        _logger.exception("callback.may_send_raised")
        return False
