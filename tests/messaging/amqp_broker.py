"""A broker that speaks just enough AMQP to answer when and how a test says: real ones do so by chance."""

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Self

OPENED = "opened"


class ScriptedBroker:
    """`answer(broker, channel, event, tag)` is called for each channel that is opened and each message that comes.

    `event` is `OPENED`, with the tag 0, before the broker says that the channel is open, or the exchange's name.
    Like RabbitMQ it ends the connection for a message on a channel that is closed, or has too high a number.
    """

    def __init__(
        self, answer: Callable[["ScriptedBroker", int, str, int], None], most_channels: int = 2_047
    ) -> None:
        self._answer = answer
        self._most_channels = most_channels
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._client: socket.socket | None = None
        self.connections = 0
        self.published: list[str] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self._listener.getsockname()[1]}//"

    def give_back(self, channel: int, message_id: str) -> None:
        """Say that a message was routed to no queue."""
        head = struct.pack(">HHQH", 60, 0, 0, 1 << 7) + bytes([len(message_id)]) + message_id.encode()
        self._send(
            _method(channel, 60, 50, struct.pack(">H", 312) + b"\x08NO_ROUTE\x01e\x01k")
            + struct.pack(">BHI", 2, channel, len(head))
            + head
            + b"\xce"
        )

    def ack_up_to(self, channel: int, tag: int) -> None:
        self._send(_method(channel, 60, 80, struct.pack(">QB", tag, 1)))

    def ack(self, channel: int, *tags: int, then: bytes = b"") -> None:
        acks = (_method(channel, 60, 80, struct.pack(">QB", tag, 0)) for tag in tags)
        self._send(b"".join(acks) + then)

    def close_channel(self, channel: int, code: int, text: str) -> None:
        self._send(_method(channel, 20, 40, closing(code, text)))

    def _send(self, frames: bytes) -> None:
        assert self._client is not None
        self._client.sendall(frames)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._client = client
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        tags: dict[int, int] = {}
        with client, client.makefile("rb") as came:
            came.read(8)
            mechanisms = struct.pack(">I", 5) + b"PLAIN" + struct.pack(">I", 5) + b"en_US"
            client.sendall(_method(0, 10, 10, b"\0\x09" + struct.pack(">I", 0) + mechanisms))
            while len(head := came.read(7)) == 7:
                kind, channel, size = struct.unpack(">BHI", head)
                payload = came.read(size + 1)
                if kind == 1:
                    self._hear(channel, struct.unpack(">HH", payload[:4]), payload, tags)

    def _hear(self, channel: int, method: Any, payload: bytes, tags: dict[int, int]) -> None:
        match method:
            case (10, 11):  # start-ok
                self._send(_method(0, 10, 30, struct.pack(">HIH", self._most_channels, 131_072, 0)))
            case (10, 40):  # open
                self._send(_method(0, 10, 41, b"\0"))
            case (20, 10):  # channel.open
                if channel in tags or channel > self._most_channels:
                    self._send(closing_connection(504, "CHANNEL_ERROR"))
                tags[channel] = 0
                self._answer(self, channel, OPENED, 0)
                self._send(_method(channel, 20, 11, struct.pack(">I", 0)))
            case (20, 40):  # channel.close
                del tags[channel]
                self._send(_method(channel, 20, 41))
            case (20, 41):  # channel.close-ok
                del tags[channel]
            case (85, 10):  # confirm.select
                if not payload[4]:  # nowait
                    self._send(_method(channel, 85, 11))
            case (60, 40) if channel not in tags:  # basic.publish
                self._send(closing_connection(504, "CHANNEL_ERROR - expected 'channel.open'"))
            case (60, 40):
                tags[channel] += 1
                exchange = payload[7 : 7 + payload[6]].decode()
                self.published.append(exchange)
                self._answer(self, channel, exchange, tags[channel])


def closing(code: int, text: str) -> bytes:
    """Return the arguments of `close`."""
    return struct.pack(">H", code) + bytes([len(text)]) + text.encode() + struct.pack(">HH", 60, 40)


def closing_connection(code: int, text: str) -> bytes:
    return _method(0, 10, 50, closing(code, text))


def _method(channel: int, class_id: int, method_id: int, arguments: bytes = b"") -> bytes:
    payload = struct.pack(">HH", class_id, method_id) + arguments
    return struct.pack(">BHI", 1, channel, len(payload)) + payload + b"\xce"
