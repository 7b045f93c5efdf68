"""Brokers over v1: those that an operator named, and what the app may send there."""

from typing import Annotated, Any

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.core.messages.named_broker import BrokerKind, BrokerRight, NamedBroker


def _patterns(description: str, example: str) -> Any:
    return Field(description=description, examples=[[example]])


class ShownBrokerRight(Sent):
    """What the app may send: patterns of names, where `*` is any text. Without a field nothing of its kind."""

    exchanges: Annotated[
        list[str] | None, _patterns('names; "": the default one, where the key names a queue', "shop.*")
    ] = None
    routing_keys: Annotated[
        list[str] | None, _patterns("with these alone; not there: with any, to a named exchange", "order.*")
    ] = None
    streams: Annotated[list[str] | None, _patterns("keys of streams", "shop:*")] = None
    lists: Annotated[list[str] | None, _patterns("keys of lists", "shop:*")] = None
    celery_queues: Annotated[
        list[str] | None, _patterns("queues of the app's own Celery workers", "shop.tasks")
    ] = None
    celery_tasks: Annotated[
        list[str] | None, _patterns("these tasks alone; not there: any", "shop.tasks.*")
    ] = None


class ShownNamedBroker(Sent):
    """A broker that the app may send messages to."""

    name: Annotated[str, Field(examples=["orders"])]
    """a target names it so, as `broker`"""
    kind: Annotated[BrokerKind, Field(examples=["rabbitmq"])]
    """other: it has queues only; `exchange` of a target is "", and `routingKey` the queue"""
    allowed: list[ShownBrokerRight]
    """what the app may send there; a message has to fit one of these as a whole"""


class Brokers(Sent):
    """The brokers that the app may send messages to, by name."""

    items: list[ShownNamedBroker]


class BrokerResource(Resource):
    """The operation on brokers."""

    @Route("get", "/brokers", "getBrokers")
    def show(self, header: AppHeader) -> Brokers:
        """Show the message brokers that the app may use, and what it may send there.

        An operator names them in a file, which the service reads when it starts. Where they are is not shown.
        """
        named = sorted(self.wiring().settings.named_brokers.items())
        found = [(broker, broker.rights_of(header.app)) for _, broker in named]
        return Brokers(items=[_shown(broker, rights) for broker, rights in found if rights])


def _shown(broker: NamedBroker, rights: list[BrokerRight]) -> ShownNamedBroker:
    allowed = [
        ShownBrokerRight(**{name: list(patterns) for name, patterns in right.patterns.items()})
        for right in rights
    ]
    return ShownNamedBroker(name=broker.name, kind=broker.kind, allowed=allowed)
