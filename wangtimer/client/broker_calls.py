"""The operation on message brokers: which an app may use."""

from typing import Literal, NotRequired, TypedDict

from .calls import Calls

BROKERS = "/v1/brokers"

BrokerKind = Literal["rabbitmq", "redis", "other"]


class BrokerRight(TypedDict):
    """What an app may send, by patterns; without a field nothing of its kind.

    Without `routingKeys` any key to a named exchange, and without `celeryTasks` any task.
    """

    exchanges: NotRequired[list[str]]
    routingKeys: NotRequired[list[str]]
    streams: NotRequired[list[str]]
    lists: NotRequired[list[str]]
    celeryQueues: NotRequired[list[str]]
    celeryTasks: NotRequired[list[str]]


class Broker(TypedDict):
    """A broker that an operator named; a message has to fit one of `allowed` as a whole."""

    name: str
    kind: BrokerKind
    allowed: list[BrokerRight]


class Brokers(TypedDict):
    """The brokers that the app may use, by name."""

    items: list[Broker]


class BrokerCalls(Calls):
    """Read where an app may send messages. The method raises `ClientError`."""

    def get_brokers(self) -> Brokers:
        """Return the message brokers that the app may use, and what it may send there."""
        return self._get(BROKERS).typed(Brokers, "items")
