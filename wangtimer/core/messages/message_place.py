"""Where a message goes: to an exchange, a stream, a list or Celery's queue at a broker that an operator has named, or
to consumers that connect to us.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from operator import methodcaller
from urllib.parse import parse_qs, urlencode, urlsplit

from wangtimer.core.errors import InvalidInput

# As long as `https://`: whoever looks for the path of a URL looks behind so many characters.
SCHEME = "queue://"
BROKER_CHARACTERS = 64
# AMQP's bound of a name; ours for names in Redis too.
PLACE_CHARACTERS = 255
# RabbitMQ reads further routing keys from headers of exactly these names, past the rights of the app. A text in place
# of an array makes it close the channel: https://www.rabbitmq.com/docs/sender-selected
ROUTING_HEADERS = ("CC", "BCC")
_BROKER_HOST = "broker:"
# What stands for our own Redis, through which consumers get their firings; no broker of an operator has this name.
CONSUMERS_BROKER = "consumers"


class PlaceKind(StrEnum):
    """What takes the message."""

    EXCHANGE = "exchange"
    STREAM = "stream"
    LIST = "list"
    CELERY = "celery"
    CONSUMERS = "consumers"


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """`name` is that of the exchange, the stream, the list, Celery's queue or the group of consumers.

    `routing_key` is for an exchange. `most` is about how many entries a stream keeps; None: all. `fallback` is the URL
    that is called while no consumer of the group is connected; "": none.
    """

    broker: str
    kind: PlaceKind
    name: str
    routing_key: str = ""
    most: int | None = None
    fallback: str = ""

    @property
    def url(self) -> str:
        """The place as targets are stored; no parameter has a name that would be taken for a secret's."""
        said: dict[str, str | int] = {"name": self.name}
        if self.routing_key:
            said["route"] = self.routing_key
        if self.most is not None:
            said["most"] = self.most
        if self.fallback:
            said["otherwise"] = self.fallback
        return f"{SCHEME}{self.broker}/{self.kind}?{urlencode(said)}"


# Tells of a URL whether it is a place for messages. Each firing asks it: no call of Python is made for it.
is_message_url: Callable[[str], bool] = methodcaller("startswith", SCHEME)


@lru_cache(maxsize=1_024)
def place_from(url: str) -> MessagePlace:
    """Read back what `MessagePlace.url` wrote; raises ValueError."""
    parts = urlsplit(url)
    said = {
        name: values[0]
        for name, values in parse_qs(parts.query, keep_blank_values=True, strict_parsing=True).items()
    }
    if not is_message_url(url) or said.keys() - {"name", "route", "most", "otherwise"} or "name" not in said:
        raise ValueError("this version does not know such a place for messages")
    most = said.get("most")
    return MessagePlace(
        parts.netloc,
        PlaceKind(parts.path.removeprefix("/")),
        said["name"],
        said.get("route", ""),
        None if most is None else int(most),
        said.get("otherwise", ""),
    )


def consumers_place(group: str, fallback: str = "") -> MessagePlace:
    """Return the place of a group of consumers; groups are an app's own."""
    return MessagePlace(CONSUMERS_BROKER, PlaceKind.CONSUMERS, group, fallback=fallback)


def broker_host(broker: str) -> str:
    """Return the one name of a broker towards users, where others have a host: in answers, records, alerts, metrics."""
    return f"{_BROKER_HOST}{broker}"


def shown_host(origin: str) -> str:
    """Return a scheme, host and port as users see it; of a broker, which is stored as `queue://orders`, its name."""
    return broker_host(origin.removeprefix(SCHEME)) if is_message_url(origin) else origin


def origin_of(shown: str) -> str:
    """Return what `shown_host` was given."""
    name = shown.removeprefix(_BROKER_HOST)
    return shown if name == shown else f"{SCHEME}{name}"


def refuse_call_parts(path: str, method: str, has_secret_query: bool) -> None:
    """Raise `InvalidInput` for what only a call over HTTP has, in a timer whose target is a place for messages."""
    for field, given in (("path", path), ("method", method), ("secretQuery", has_secret_query)):
        if given:
            reason = "the target sends messages, which have none"
            raise InvalidInput(
                f"target.{field}", reason, "leave it out; body and headers go with each message"
            )
