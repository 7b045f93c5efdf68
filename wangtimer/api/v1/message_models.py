"""What v1's callers may say of a target that sends messages, or gives its firings to consumers."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.notify_rules import check_url
from wangtimer.api.http.refusals import Refused, bad_value, of_pattern
from wangtimer.api.v1.words_of_targets import (
    ELSEWHERE_THAN_CELERY_QUEUES,
    ELSEWHERE_THAN_QUEUES,
    OF_CELERY_QUEUES,
    OF_CONSUMERS,
    OF_QUEUES,
)
from wangtimer.core.messages.consumer_group import GROUP_CHARACTERS, GROUP_PATTERN
from wangtimer.core.messages.message_place import (
    BROKER_CHARACTERS,
    PLACE_CHARACTERS,
    MessagePlace,
    PlaceKind,
    consumers_place,
)
from wangtimer.core.timers.secret_parts import masked_url

PLACE_BYTES = PLACE_CHARACTERS
MOST_STREAM_LENGTH = 1_000_000_000
# It stands, percent-encoded, in the place as it is stored.
MOST_FALLBACK_CHARACTERS = 1_000
_BROKER = r"^[a-z][a-z0-9_-]*$"
_BROKER_IN_WORDS = "the name that the operator gave it: a small letter, then small letters, digits, _ and -"
_GROUP_IN_WORDS = "a letter or digit of ASCII, then letters, digits, _ . and -, as in reports"
_Broker = Annotated[
    str,
    Field(
        min_length=1,
        max_length=BROKER_CHARACTERS,
        description="a broker that the operator named",
        examples=["orders"],
        json_schema_extra={"pattern": _BROKER},
    ),
    AfterValidator(of_pattern(_BROKER, _BROKER_IN_WORDS)),
]
_Name = Annotated[str | None, Field(max_length=PLACE_CHARACTERS, pattern=r"^[^\x00-\x1f\x7f]*$")]


class MessageQueue(Given):
    """Where messages go: an exchange with a routing key (RabbitMQ), a stream or a list (Redis)."""

    words_here: ClassVar[Mapping[str, str]] = OF_QUEUES
    meant_elsewhere: ClassVar[Mapping[str, str]] = ELSEWHERE_THAN_QUEUES
    example: ClassVar[str] = '{"broker": "orders", "exchange": "shop.events", "routingKey": "order.expired"}'

    broker: _Broker
    exchange: Annotated[_Name, Field(description='"": the routing key is the name of the queue')] = None
    routing_key: _Name = None
    """with exchange"""
    stream: _Name = None
    """key of a stream"""
    max_length: Annotated[int | None, Field(ge=1, le=MOST_STREAM_LENGTH)] = None
    """with stream: about how many of the newest entries it keeps; all by default"""
    list_: Annotated[_Name, Field(alias="list")] = None
    """key of a list; messages go to its right end"""

    def place(self) -> MessagePlace:
        """Return where that is; raises `Refused`."""
        given = {"exchange": self.exchange, "stream": self.stream, "list": self.list_}
        named = {kind: name for kind, name in given.items() if name is not None}
        if len(named) != 1:
            mend = "give exactly one of exchange, stream and list"
            raise bad_value("queue", "it is not clear where messages go", mend)
        ((kind, name),) = named.items()
        place = MessagePlace(self.broker, PlaceKind(kind), name, self.routing_key or "", self.max_length)
        if not name and (kind != "exchange" or not place.routing_key):
            raise bad_value(f"queue.{kind}", "it is empty", "write a name")
        _refuse_long(name, f"queue.{kind}")
        _refuse_long(place.routing_key, "queue.routingKey")
        of_one_kind = (("routingKey", self.routing_key, "exchange"), ("maxLength", self.max_length, "stream"))
        for field, value, of in of_one_kind:
            if value is not None and kind != of:
                raise bad_value(f"queue.{field}", f"a {kind} has none", "leave it out")
        return place


def _refuse_long(name: str, field: str) -> None:
    """Raise `Refused` for a name that AMQP cannot say."""
    if len(name.encode()) > PLACE_BYTES or not name.isprintable():
        reason = f"it has more than {PLACE_BYTES} bytes in UTF-8, or a character that is not printable"
        raise bad_value(field, reason, "use a shorter name of printable characters")


class CeleryQueue(Given):
    """Which of the app's own Celery workers run the tasks of timers."""

    words_here: ClassVar[Mapping[str, str]] = OF_CELERY_QUEUES
    meant_elsewhere: ClassVar[Mapping[str, str]] = ELSEWHERE_THAN_CELERY_QUEUES
    example: ClassVar[str] = '{"broker": "orders", "queue": "celery"}'

    broker: _Broker
    queue: Annotated[str, Field(min_length=1, max_length=PLACE_CHARACTERS)] = "celery"
    """celery is Celery's own default"""

    def place(self) -> MessagePlace:
        """Return where that is."""
        _refuse_long(self.queue, "celery.queue")
        return MessagePlace(self.broker, PlaceKind.CELERY, self.queue)


class ConsumersOf(Given):
    """A group of consumers that connect to us: each firing goes to one of them."""

    words_here: ClassVar[Mapping[str, str]] = OF_CONSUMERS
    example: ClassVar[str] = '{"group": "reports"}'

    group: Annotated[
        str,
        Field(
            min_length=1,
            max_length=GROUP_CHARACTERS,
            examples=["reports"],
            json_schema_extra={"pattern": GROUP_PATTERN},
        ),
        AfterValidator(of_pattern(GROUP_PATTERN, _GROUP_IN_WORDS)),
    ]
    """a name that is the app's own; it needs no setting up"""
    fallback_url: Annotated[
        str | None, Field(max_length=MOST_FALLBACK_CHARACTERS, examples=["https://app.example/expire"])
    ] = None
    """is called by POST while no consumer of the group has been connected for 10 s"""

    def place(self) -> MessagePlace:
        """Return where that is; raises `Refused`."""
        if self.fallback_url is None:
            return consumers_place(self.group)
        try:
            fallback = check_url(self.fallback_url)
        except Refused as error:
            raise Refused(error.code, "consumers.fallbackUrl", error.reason, error.mend) from None
        if masked_url(fallback) != fallback:
            reason, mend = "its query has a secret", "send that in a header of the target"
            raise bad_value("consumers.fallbackUrl", reason, mend)
        return consumers_place(self.group, fallback)


def _shown(description: str, example: object, alias: str | None = None) -> Any:
    """Return the description of a part of a place that is shown where it has one."""
    return Field(description=description, examples=[example], serialization_alias=alias)


ShownBroker = Annotated[str, Field(description="the broker that the operator named", examples=["orders"])]


class ShownQueue(Sent):
    """Where messages go."""

    broker: ShownBroker
    exchange: Annotated[str | None, _shown("an exchange of RabbitMQ", "shop.events")] = None
    routing_key: Annotated[str | None, _shown("with which routing key", "order.expired", "routingKey")] = None
    stream: Annotated[str | None, _shown("the key of a stream of Redis", "shop:events")] = None
    max_length: Annotated[
        int | None,
        _shown("about how many of the newest entries it keeps; not there: all", 100_000, "maxLength"),
    ] = None
    list_: Annotated[str | None, _shown("the key of a list of Redis", "shop:work", "list")] = None


class ShownCelery(Sent):
    """Which Celery workers run tasks."""

    broker: ShownBroker
    queue: Annotated[str, Field(description="the workers' queue", examples=["shop.tasks"])]


class ShownConsumers(Sent):
    """Which consumers get firings."""

    group: Annotated[str, Field(description="the group of the consumers", examples=["reports"])]
    fallback_url: Annotated[
        str | None, _shown("is called while none is connected", "https://app.example/expire", "fallbackUrl")
    ] = None


def place_fields(place: MessagePlace) -> dict[str, Any]:
    """Return the place as a target shows it."""
    if place.kind is PlaceKind.CELERY:
        return {"celery": ShownCelery(broker=place.broker, queue=place.name)}
    if place.kind is PlaceKind.CONSUMERS:
        return {"consumers": ShownConsumers(group=place.name, fallback_url=place.fallback or None)}
    if place.kind is PlaceKind.EXCHANGE:
        shown = ShownQueue(broker=place.broker, exchange=place.name, routing_key=place.routing_key)
    elif place.kind is PlaceKind.STREAM:
        shown = ShownQueue(broker=place.broker, stream=place.name, max_length=place.most)
    else:
        shown = ShownQueue(broker=place.broker, list_=place.name)
    return {"queue": shown}
