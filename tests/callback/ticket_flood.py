"""A target that sends new session tickets of TLS 1.3 without end: no data for the caller, and work for its OpenSSL."""

import contextlib
import hashlib
import hmac
import socket
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_TICKET = struct.pack(">IIBBH", 7200, 1, 1, 0, 1) + b"x" + b"\0\0"
_MESSAGES = (b"\x04" + len(_TICKET).to_bytes(3, "big") + _TICKET) * 750
_DATA, _HANDSHAKE = 23, 22


class TicketFlood:
    """Answers each request with `answer`, if any, and goes on with tickets until the caller closes the connection."""

    def __init__(self, context: ssl.SSLContext, key_log: Path, answer: bytes = b"") -> None:
        context.num_tickets = 0
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.keylog_filename = str(key_log)
        self._context, self._key_log, self._answer = context, key_log, answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.was_closed = Event()
        self._is_over = Event()
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._is_over.set()
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError), self._listener.accept()[0] as connection:
            self._read_request(connection)
            records = self._records()
            next(records)
            if self._answer:
                connection.sendall(records.send((self._answer, _DATA)))
            while not self._is_over.is_set():
                connection.sendall(records.send((_MESSAGES, _HANDSHAKE)))
        self.was_closed.set()

    def _read_request(self, connection: socket.socket) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self._context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.do_handshake()
                tls.read()
                return
            connection.sendall(outgoing.read())
            incoming.write(connection.recv(65_536))

    def _records(self) -> Iterator[bytes]:
        """Encrypt what is sent in, with the keys that OpenSSL wrote down (RFC 8446, 5.2 and 7.3)."""
        lines = [line.split() for line in self._key_log.read_text().splitlines()]
        secret = next(bytes.fromhex(line[2]) for line in lines if line[0] == "SERVER_TRAFFIC_SECRET_0")
        cipher = AESGCM(_expanded(secret, b"key", 32))
        fixed = int.from_bytes(_expanded(secret, b"iv", 12), "big")
        number, record = 0, b""
        while True:
            content, kind = yield record
            inner = content + bytes([kind])
            head = b"\x17\x03\x03" + struct.pack(">H", len(inner) + 16)
            record = head + cipher.encrypt((fixed ^ number).to_bytes(12, "big"), inner, head)
            number += 1


def _expanded(secret: bytes, label: bytes, length: int) -> bytes:
    name = b"tls13 " + label
    info = struct.pack(">HB", length, len(name)) + name + b"\0\1"
    return hmac.new(secret, info, hashlib.sha384).digest()[:length]
