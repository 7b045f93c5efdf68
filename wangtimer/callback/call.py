"""One request with its moment, and whom to tell what became of it."""

from collections.abc import Callable
from dataclasses import dataclass

from wangtimer.callback.reply import Reply
from wangtimer.callback.request import Request


@dataclass(slots=True, eq=False)
class Call:
    """A prepared request to send at `due_at_ms` (the deployment's clock), never before.

    Every submitted call ends in exactly one of: `on_reply`, `on_held_back`, being returned by the engine's
    `stop`. The three functions run in the engine's thread, so all calls wait for them: a millisecond at the
    most, no I/O. What they raise is logged, and goes no further.

    `may_send` is asked when the connection is open and the next thing is to write the request; False (or an
    exception) means nothing is sent, `on_held_back` is told, and the engine forgets the call.
    """

    request: Request
    due_at_ms: float
    may_send: Callable[[], bool]
    on_held_back: Callable[["Call"], None]
    on_reply: Callable[["Call", Reply], None]
