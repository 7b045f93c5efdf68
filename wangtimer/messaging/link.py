"""A connection to one broker, as the engine of messages uses it; one thread."""

from typing import NamedTuple, Protocol

from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.errors import WangTimerError
from wangtimer.messaging.message import Message


class LinkBroken(WangTimerError):
    """The connection to a broker cannot be made, or is no more."""


class Confirm(NamedTuple):
    """What a broker says of the message with this number; `error` is "" if it has taken it."""

    number: int
    answer: BrokerAnswer
    error: str = ""


class Link(Protocol):
    """Sends many messages without waiting for each; every method but `open` and `flush` is quick.

    Errors of the connection are `LinkBroken`: then what is not confirmed is unknown.
    """

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""

    @property
    def why_blocked(self) -> str:
        """Why the broker takes no messages for now; "" if it takes them."""

    def open(self) -> int | None:
        """Connect; return the descriptor that becomes readable when there are confirms, None if `flush` brings them."""

    def prepare(self, message: Message) -> None:
        """Write a message ahead of its moment, if that saves time at it."""

    def send(self, number: int, message: Message) -> None:
        """Send a message, or keep it for `flush`; raises ValueError for one that cannot be sent at all."""

    def flush(self) -> None:
        """Send what is kept."""

    def confirms(self) -> list[Confirm]:
        """Return the confirms that came since the last time, also after `close`, which connects to nothing."""

    def close(self) -> None:
        """Close the connection; never raises."""
