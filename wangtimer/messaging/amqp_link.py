"""RabbitMQ: messages are published one behind the other, and their confirms are read as they come.

py-amqp by itself waits for each confirm. A message that is not routed to a queue comes back (`mandatory`) before its
confirm: https://www.rabbitmq.com/docs/confirms#when-publishes-are-confirmed
"""

import logging
import os
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

import amqp
import certifi
from amqp import spec
from kombu.connection import Connection as Asked
from kombu.transport.pyamqp import Channel, Connection, Transport

from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.messages.message_place import ROUTING_HEADERS, PlaceKind
from wangtimer.messaging.celery_message import celery_parts
from wangtimer.messaging.link import Confirm, LinkBroken
from wangtimer.messaging.message import Message

_logger = logging.getLogger(__name__)

PERSISTENT = 2
# The broker closes a connection of which it hears nothing for so long, and we do.
HEARTBEAT_S = 30
# A channel for each app and exchange: RabbitMQ closes it for one bad message. Its own bound of them is 2,047.
MOST_CHANNELS = 500
MOST_BUSY_CHANNELS = 2_000
# s. A channel that the broker closed is not opened again before: that takes two of its answers.
CLOSED_FOR_S = 1.0
# AMQP's bound of names.
_NAME_BYTES = 255
# An app, and an exchange that it sends to.
_Way = tuple[str, str]


class _ConfirmingChannel(Channel):
    """A channel of one app to one exchange in confirm mode; once the broker has closed it, it is not opened again.

    It is opened and let go without a wait for the broker, which takes what comes on a connection in its order.
    py-amqp waits, reads for others meanwhile, and raises the end of any channel in whatever is read then.
    """

    why_closed = ""

    def open(self) -> None:
        self.send_method(spec.Channel.Open, "s", ("",))
        self.confirm_select(nowait=True)
        self.is_open = True

    def let_go(self) -> None:
        """Close it; its number is free once the broker has said so."""
        self.is_closing = True
        self.send_method(spec.Channel.Close, "BsBB", (0, "", 0, 0))

    def _on_close(self, reply_code: int, reply_text: str, _class_id: int, _method_id: int) -> None:
        self.is_open = False
        self.why_closed = f"{reply_code} {_first_words(reply_text)}"
        self.send_method(spec.Channel.CloseOk)
        _logger.warning("broker.channel_closed", extra={"said": reply_text[:300]})


class _Content(amqp.Message):  # type: ignore[misc]
    """A message whose properties are written ahead: what cannot be written touches no connection."""

    def write_ahead(self) -> None:
        self._ahead: bytes = super()._serialize_properties()

    def _serialize_properties(self) -> bytes:
        return self._ahead


class _Publishing:
    """What was published on a channel and is not confirmed: our numbers by the broker's."""

    def __init__(self, channel: _ConfirmingChannel) -> None:
        self.channel = channel
        self.last_tag = 0
        self.numbers: dict[int, tuple[int, str]] = {}  # with the id of the message
        # Why, by the id of the message: once for each of its attempts that came back.
        self.returned: dict[str, list[str]] = {}
        self.confirms: list[Confirm] = []
        channel.events["basic_ack"].add(self._note_ack)
        channel.events["basic_nack"].add(self._note_nack)
        channel.events["basic_return"].add(self._note_return)

    @property
    def is_idle(self) -> bool:
        """Whether nothing stands on it, and the broker has not closed it."""
        return not (self.numbers or self.confirms or self.channel.why_closed)

    def _note_return(self, error: Exception, _exchange: str, _key: str, message: Any) -> None:
        said = getattr(error, "reply_text", "") or "NO_ROUTE"
        self.returned.setdefault(str(message.properties.get("message_id")), []).append(str(said))

    def _note_ack(self, tag: int, multiple: bool) -> None:
        for number, message_id in self._taken_out(tag, multiple):
            why = self._why_returned(message_id) if self.returned else None
            if why is None:
                self.confirms.append(Confirm(number, BrokerAnswer.TAKEN))
            else:
                error = f"the broker routed the message to no queue ({why})"
                self.confirms.append(Confirm(number, BrokerAnswer.REJECTED, error))

    def _note_nack(self, tag: int, multiple: bool) -> None:
        error = "the broker did not take the message (nack): a queue is full, or its disk failed"
        for number, message_id in self._taken_out(tag, multiple):
            self._why_returned(message_id)
            self.confirms.append(Confirm(number, BrokerAnswer.REJECTED, error))

    def _why_returned(self, message_id: str) -> str | None:
        """Return why one attempt of a message came back, and forget it; two may stand once the first is given up."""
        if message_id not in self.returned:
            return None
        whys = self.returned[message_id]
        why = whys.pop()
        if not whys:
            del self.returned[message_id]
        return why

    def _taken_out(self, tag: int, multiple: bool) -> list[tuple[int, str]]:
        if not multiple:
            sent = self.numbers.pop(tag, None)
            return [] if sent is None else [sent]
        taken = []
        for each in list(self.numbers):  # in the order of publishing
            if tag and each > tag:
                break
            taken.append(self.numbers.pop(each))
        return taken


class AmqpLink:
    """A connection to RabbitMQ. `timeout_s` bounds connecting, and each write while the broker reads nothing."""

    def __init__(self, url: str, timeout_s: float, ca_file: str | None) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._ca_file = ca_file
        self._connection: Connection | None = None
        self._by_way: dict[_Way, _Publishing] = {}  # the one used last is the last
        self._used_last: _Publishing | None = None
        self._closed: dict[_Way, tuple[float, str]] = {}  # until when, and why
        self._ready: list[Confirm] = []
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
            # Else a broker that freezes while a channel is closed would hold this thread for ever.
            self._connection.sock.settimeout(self._timeout_s)
        except Exception as error:
            self.close()
            raise LinkBroken(f"could not connect to the broker: {_said(error)}") from None
        return int(self._connection.sock.fileno())

    def prepare(self, message: Message) -> None:
        """Write its properties, which take half of the time that publishing takes."""
        message.written = _written(message)

    def send(self, number: int, message: Message) -> None:
        """Publish, and wait for nothing."""
        exchange, routing_key, content = message.written or _written(message)
        message.written = None
        way = (message.app, exchange)
        try:
            publishing = self._publishing(way)
            # Not `basic_publish`: it looks for an event of the broker before each message, 15 µs.
            publishing.channel.send_method(
                spec.Basic.Publish, "Bssbb", (0, exchange, routing_key, True, False), content
            )
        except ValueError:
            raise
        except Exception as error:
            # What came before is known.
            with suppress(Exception):
                self._read()
            raise self._broken(error) from None
        publishing.last_tag += 1
        publishing.numbers[publishing.last_tag] = (number, message.firing_id)

    def flush(self) -> None:
        """Answer the broker's heartbeats."""
        try:
            if self._connection is not None:
                # After a long pause what it sent is still to be read: it is not silent.
                self._read()
                self._connection.heartbeat_tick()
        except Exception as error:
            raise self._broken(error) from None

    def confirms(self) -> list[Confirm]:
        """Read what came."""
        try:
            self._read()
        except Exception as error:
            raise self._broken(error) from None
        confirms, self._ready = self._ready, []
        return confirms

    def close(self) -> None:
        """Close the connection at once: what is not confirmed is unknown."""
        self._gather()
        connection, self._connection = self._connection, None
        self._by_way, self._closed, self._used_last = {}, {}, None
        if connection is not None:
            connection.collect()

    def _read(self) -> None:
        """Read what came; raises what ends the connection, and keeps the confirms before it."""
        try:
            while self._connection is not None:
                self._connection.drain_events(timeout=0)
        except (TimeoutError, BlockingIOError):
            pass
        finally:
            self._gather()

    def _gather(self) -> None:
        """Keep the confirms that were read, and end what stands on channels that the broker closed."""
        closed: list[_Way] = []
        for way, publishing in self._by_way.items():
            if publishing.confirms:
                self._ready += publishing.confirms
                publishing.confirms = []
            if publishing.channel.why_closed:
                closed.append(way)
        for way in closed:
            publishing = self._by_way.pop(way)
            why = f"the broker refuses exchange {way[1]!r}: {publishing.channel.why_closed}"
            self._ready += (
                Confirm(number, BrokerAnswer.REJECTED, why) for number, _ in publishing.numbers.values()
            )
            if len(self._closed) >= MOST_CHANNELS:
                self._closed.clear()
            self._closed[way] = (time.monotonic() + CLOSED_FOR_S, why)
            publishing.channel.collect()

    def _publishing(self, way: _Way) -> _Publishing:
        """Return its channel, as the one used last; raises ValueError where it was closed, or there is none left."""
        held = self._by_way.get(way)
        if held is not None and held is self._used_last and not held.channel.why_closed:
            return held  # as most are: it stands last already
        self._by_way.pop(way, None)
        if held is None:
            self._refuse_closed(way)
            held = self._opened()
        self._by_way[way] = self._used_last = held
        if held.channel.why_closed:
            # The broker's word was read as another channel was let go: what is published on it ends the connection.
            self._gather()
            self._refuse_closed(way)
        return held

    def _refuse_closed(self, way: _Way) -> None:
        """Raise ValueError while the channel was closed a moment ago."""
        until, why = self._closed.get(way, (0.0, ""))
        if time.monotonic() < until:
            raise ValueError(why)
        self._closed.pop(way, None)

    def _opened(self) -> _Publishing:
        connection = self._connection
        assert connection is not None, "the link is not open"
        if len(self._by_way) >= min(MOST_CHANNELS, connection.channel_max):
            self._let_one_go(connection)
        return _Publishing(connection.channel())

    def _let_one_go(self, connection: Connection) -> None:
        """Close the channel that was idle the longest; wait for the broker's word only where no number is free.

        Where none is idle there may be more than usual. Raises ValueError where there is no number left for one.
        """
        most = min(MOST_BUSY_CHANNELS, connection.channel_max)
        for _ in range(2):
            idle = next((way for way, channel in self._by_way.items() if channel.is_idle), None)
            has_free = len(connection.channels) <= most  # with the connection's own
            if idle is not None:
                channel = self._by_way.pop(idle).channel
                channel.let_go() if has_free else channel.close()
                return
            if has_free:
                return
            self._read()  # confirms, and the broker's word on those that were let go
        raise ValueError(f"messages to {most} exchanges of apps wait for the broker's confirm")

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


def _written(message: Message) -> tuple[str, str, _Content]:
    """Write a message for AMQP; raises ValueError for one that it cannot say."""
    place = message.place
    properties: dict[str, Any] = {
        "delivery_mode": PERSISTENT,
        "message_id": message.firing_id,
        "timestamp": message.fire_at // 1_000,
    }
    if place.kind is PlaceKind.CELERY:
        queue, headers, body, extra = celery_parts(message)
        exchange, routing_key = "", queue
        content = _Content(body, application_headers=headers, **properties, **extra)
    else:
        exchange, routing_key, headers = place.name, place.routing_key, message.fields
        content = _Content(
            message.body, application_headers=headers, content_type=message.content_type, **properties
        )
    names = {"exchange": exchange, "routing key or queue": routing_key, "content type": message.content_type}
    for what, name in (*names.items(), *(("name of a header", name) for name in headers)):
        if len(name.encode()) > _NAME_BYTES:
            raise ValueError(f"a {what} of more than {_NAME_BYTES} bytes is none of AMQP")
    for name in ROUTING_HEADERS:
        if name in headers:
            raise ValueError(f"a header must not be named {name}: RabbitMQ reads routing keys from it")
    try:
        content.write_ahead()
    except Exception as error:
        raise ValueError(f"the message cannot be written for AMQP: {type(error).__name__}") from None
    return exchange, routing_key, content


def _said(error: Exception) -> str:
    """Return what an error says to apps: no address, user or virtual host."""
    if isinstance(error, TimeoutError | socket.timeout):
        return "timed out"
    _logger.warning("broker.said", extra={"said": str(error)[:300]})
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    if isinstance(error, amqp.AMQPError) and error.reply_code:
        return f"{error.reply_code} {_first_words(str(error.reply_text))}"
    return type(error).__name__


def _first_words(reply_text: str) -> str:
    """Return the broker's word for an error: what follows it names users and virtual hosts."""
    return reply_text.partition(" - ")[0][:100]
