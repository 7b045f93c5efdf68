"""Any other transport of kombu, by its URL: a message at a time, to named queues; tried with SQL alone."""

from typing import Any

from kombu.connection import Connection
from kombu.messaging import Producer

from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.messages.message_place import PlaceKind
from wangtimer.messaging.celery_message import celery_parts
from wangtimer.messaging.link import Confirm, LinkBroken
from wangtimer.messaging.message import Message


class KombuLink:
    """What kombu's `publish` returns from is taken: how much that promises depends on the transport."""

    why_blocked = ""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._asked: Any = Connection(url, connect_timeout=timeout_s)  # type: ignore[no-untyped-call]
        self._producer: Any = None
        self._confirms: list[Confirm] = []

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._producer is not None

    def open(self) -> int | None:
        """Connect."""
        try:
            self._asked.connect()
            self._producer = Producer(self._asked.channel(), auto_declare=False)  # type: ignore[no-untyped-call]
        except Exception as error:
            self.close()
            raise LinkBroken(f"could not connect to the broker: {type(error).__name__}") from None
        return None

    def prepare(self, message: Message) -> None:
        """Do nothing: kombu writes it."""

    def send(self, number: int, message: Message) -> None:
        """Publish."""
        place, extra = message.place, {"message_id": message.firing_id}
        if place.kind is PlaceKind.CELERY:
            routing_key, headers, body, properties = celery_parts(message)
            exchange = ""
        else:
            exchange, routing_key, headers, body = place.name, place.routing_key, message.fields, message.body
            encoding = "utf-8" if _is_text(body) else "binary"
            properties = {"content_type": message.content_type, "content_encoding": encoding}
        try:
            self._producer.publish(
                body, exchange=exchange, routing_key=routing_key, headers=headers, **properties, **extra
            )
        except Exception as error:
            self.close()
            raise LinkBroken(f"the connection to the broker broke off: {type(error).__name__}") from None
        self._confirms.append(Confirm(number, BrokerAnswer.TAKEN))

    def flush(self) -> None:
        """Do nothing: all was sent."""

    def confirms(self) -> list[Confirm]:
        """Return what was published since the last time."""
        confirms, self._confirms = self._confirms, []
        return confirms

    def close(self) -> None:
        """Close the connection."""
        self._producer = None
        self._asked.collect()


def _is_text(body: bytes) -> bool:
    """Tell whether readers that decode bodies as UTF-8 can read it."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
