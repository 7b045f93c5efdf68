"""RabbitMQ: messages are published one behind the other, and their confirms are read as they come.

py-amqp by itself waits for each confirm. A message that is not routed to a queue comes back (`mandatory`) before its
confirm: https://www.rabbitmq.com/docs/confirms#when-publishes-are-confirmed
"""

import socket
import ssl
from typing import Any

import amqp
import certifi
from amqp import spec
from kombu.connection import Connection as Asked
from kombu.transport.pyamqp import Channel, Connection, Transport

from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.messages.message_place import PlaceKind
from wangtimer.messaging.celery_message import celery_parts
from wangtimer.messaging.link import Confirm, LinkBroken
from wangtimer.messaging.message import Message

PERSISTENT = 2
# The broker closes a connection of which it hears nothing for so long, and we do.
HEARTBEAT_S = 30
# A channel for each exchange: an exchange that is not there costs the messages of no other. RabbitMQ has 2,047 at most.
MOST_CHANNELS = 500


class _ConfirmingChannel(Channel):
    """A channel of one exchange in confirm mode; once the broker has closed it, it is not opened again."""

    was_closed = False

    def _do_revive(self) -> None:
        self.was_closed = True
        self.is_open = False


class _Content(amqp.Message):  # type: ignore[misc]
    """A message whose properties may be written ahead."""

    _ahead: bytes | None = None

    def write_ahead(self) -> None:
        self._ahead = super()._serialize_properties()

    def _serialize_properties(self) -> bytes:
        written: bytes = super()._serialize_properties() if self._ahead is None else self._ahead
        return written


class _Publishing:
    """What was published on a channel and is not confirmed: our numbers by the broker's."""

    def __init__(self, channel: _ConfirmingChannel) -> None:
        self.channel = channel
        self.last_tag = 0
        self.numbers: dict[int, tuple[int, str]] = {}  # with the id of the message
        self.returned: dict[str, str] = {}  # why, by the id of the message
        self.confirms: list[Confirm] = []
        channel.confirm_select()
        channel.events["basic_ack"].add(self._note_ack)
        channel.events["basic_nack"].add(self._note_nack)
        channel.events["basic_return"].add(self._note_return)

    def _note_return(self, error: Exception, _exchange: str, _key: str, message: Any) -> None:
        said = getattr(error, "reply_text", "") or "NO_ROUTE"
        self.returned[str(message.properties.get("message_id"))] = str(said)

    def _note_ack(self, tag: int, multiple: bool) -> None:
        for number, message_id in self._taken_out(tag, multiple):
            why = self.returned.pop(message_id, None) if self.returned else None
            if why is None:
                self.confirms.append(Confirm(number, BrokerAnswer.TAKEN))
            else:
                error = f"the broker routed the message to no queue ({why})"
                self.confirms.append(Confirm(number, BrokerAnswer.REJECTED, error))

    def _note_nack(self, tag: int, multiple: bool) -> None:
        error = "the broker did not take the message (nack): a queue is full, or its disk failed"
        self.confirms += [
            Confirm(number, BrokerAnswer.REJECTED, error) for number, _ in self._taken_out(tag, multiple)
        ]

    def _taken_out(self, tag: int, multiple: bool) -> list[tuple[int, str]]:
        if not multiple:
            one = self.numbers.pop(tag, None)
            return [] if one is None else [one]
        taken = []
        for each in list(self.numbers):  # in the order of publishing
            if tag and each > tag:
                break
            taken.append(self.numbers.pop(each))
        return taken


class AmqpLink:
    """A connection to RabbitMQ. `timeout_s` bounds connecting, and each write while the broker reads nothing."""

    def __init__(self, url: str, timeout_s: float, ca_file: str | None = None) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._ca_file = ca_file
        self._connection: Connection | None = None
        self._by_exchange: dict[str, _Publishing] = {}
        self.why_blocked = ""

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._connection is not None

    def open(self) -> int | None:
        """Connect; the descriptor is readable when there are confirms."""
        self.why_blocked = ""
        try:
            asked: Any = Asked(  # type: ignore[no-untyped-call]
                self._url.replace("pyamqp://", "amqp://", 1),
                connect_timeout=self._timeout_s,
                heartbeat=HEARTBEAT_S,
                ssl=self._tls() if self._url.startswith("amqps://") else False,
                transport_options={
                    "on_blocked": self._note_blocked,
                    "on_unblocked": self._note_unblocked,
                    "write_timeout": self._timeout_s,
                    "client_properties": {"product": "WangTimer"},
                },
            )
            self._connection = Transport(asked).establish_connection()  # type: ignore[no-untyped-call]
            self._connection.Channel = _ConfirmingChannel
            # Else a broker that freezes while a channel is opened would hold this thread for ever.
            self._connection.sock.settimeout(self._timeout_s)
        except Exception as error:
            self.close()
            raise LinkBroken(f"could not connect to the broker: {_said(error)}") from None
        return int(self._connection.sock.fileno())

    def prepare(self, message: Message) -> None:
        """Write its properties, which take half of the time that publishing takes."""
        message.written = _written(message)
        message.written[2].write_ahead()

    def send(self, number: int, message: Message) -> None:
        """Publish, and wait for nothing."""
        exchange, routing_key, content = message.written or _written(message)
        message.written = None
        try:
            publishing = self._publishing(exchange)
            # Not `basic_publish`: it looks for an event of the broker before each message, 15 µs.
            publishing.channel.send_method(
                spec.Basic.Publish, "Bssbb", (0, exchange, routing_key, True, False), content
            )
        except Exception as error:
            raise self._broken(error) from None
        publishing.last_tag += 1
        publishing.numbers[publishing.last_tag] = (number, message.firing_id)

    def flush(self) -> None:
        """Answer the broker's heartbeats."""
        try:
            if self._connection is not None:
                self._connection.heartbeat_tick()
        except Exception as error:
            raise self._broken(error) from None

    def confirms(self) -> list[Confirm]:
        """Read what came."""
        confirms: list[Confirm] = []
        connection = self._connection
        while connection is not None:
            try:
                connection.drain_events(timeout=0)
            except (TimeoutError, BlockingIOError):
                break
            except Exception as error:
                closed = self._closed_channels()
                if not closed:
                    raise self._broken(error) from None
                confirms += (one for each in closed for one in _closed(each, error))
        for publishing in self._by_exchange.values():
            if publishing.confirms:
                confirms += publishing.confirms
                publishing.confirms = []
        return confirms

    def close(self) -> None:
        """Close the connection at once: what is not confirmed is unknown."""
        connection, self._connection = self._connection, None
        self._by_exchange = {}
        if connection is not None:
            connection.collect()

    def _publishing(self, exchange: str) -> _Publishing:
        held = self._by_exchange.get(exchange)
        if held is not None:
            return held
        assert self._connection is not None, "the link is not open"
        if len(self._by_exchange) >= MOST_CHANNELS:
            for name in [
                name for name, one in self._by_exchange.items() if not one.numbers and not one.confirms
            ]:
                self._by_exchange.pop(name).channel.close()
        made = self._by_exchange[exchange] = _Publishing(self._connection.channel())
        return made

    def _closed_channels(self) -> list[_Publishing]:
        closed = {name: one for name, one in self._by_exchange.items() if one.channel.was_closed}
        for name, one in closed.items():
            del self._by_exchange[name]
            one.channel.collect()
        return list(closed.values())

    def _broken(self, error: Exception) -> LinkBroken:
        self.close()
        return LinkBroken(f"the connection to the broker broke off: {_said(error)}")

    def _tls(self) -> dict[str, Any]:
        return {
            "cert_reqs": ssl.CERT_REQUIRED,
            "ca_certs": self._ca_file or certifi.where(),
            "server_hostname": None,
        }

    def _note_blocked(self, _reason: str) -> None:
        self.why_blocked = "it is low on memory or disk (connection.blocked)"

    def _note_unblocked(self) -> None:
        self.why_blocked = ""


def _closed(publishing: _Publishing, error: Exception) -> list[Confirm]:
    """Return what became of the messages on a channel that the broker closed: its exchange is missing or forbidden."""
    why = f"the broker closed the channel: {_said(error)}"
    left = [Confirm(number, BrokerAnswer.REJECTED, why) for number, _ in publishing.numbers.values()]
    return publishing.confirms + left


def _written(message: Message) -> tuple[str, str, _Content]:
    place = message.place
    properties: dict[str, Any] = {
        "delivery_mode": PERSISTENT,
        "message_id": message.firing_id,
        "timestamp": message.fire_at // 1_000,
    }
    if place.kind is PlaceKind.CELERY:
        queue, headers, body, extra = celery_parts(message)
        return "", queue, _Content(body, application_headers=headers, **properties, **extra)
    content = _Content(
        message.body,
        application_headers=message.fields,
        content_type=message.content_type,
        **properties,
    )
    return place.name, place.routing_key, content


def _said(error: Exception) -> str:
    """Return what an error says, without a URL: py-amqp names none, and the socket's errors neither."""
    if isinstance(error, TimeoutError | socket.timeout):
        return "timed out"
    return str(error)[:300] or type(error).__name__
