"""A DNS server on loopback that answers for the names a test gives it, and for `hang...` never."""

import contextlib
import socket
import struct
from collections.abc import Iterable
from threading import Thread, Timer
from typing import Any

A, AAAA = 1, 28
_NO_SUCH_NAME = 3


class NameServer:
    """`addresses` has the IPv4 addresses of each name; `asked` each question, as (name, type).

    Every answer takes `takes_s`, however many questions come meanwhile.
    """

    def __init__(self, ttl_s: int = 60, takes_s: float = 0.0) -> None:
        self.addresses: dict[str, list[str]] = {}
        self.asked: list[tuple[str, int]] = []
        self._ttl_s = ttl_s
        self._takes_s = takes_s
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> "NameServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def asked_for(self, name: str) -> int:
        """Count how often the IPv4 addresses of a name were asked for."""
        return self.asked.count((name, A))

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                query, caller = self._socket.recvfrom(4_096)
                if not query:  # closed
                    return
                name, kind, end = _question(query)
                self.asked.append((name, kind))
                if not name.startswith("hang"):
                    self._send_later(self._answer(query[:2], query[12:end], name, kind), caller)

    def _send_later(self, answer: bytes, caller: Any) -> None:
        if not self._takes_s:
            self._socket.sendto(answer, caller)
            return
        later = Timer(self._takes_s, self._send, (answer, caller))
        later.daemon = True
        later.start()

    def _send(self, answer: bytes, caller: Any) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendto(answer, caller)

    def _answer(self, number: bytes, question: bytes, name: str, kind: int) -> bytes:
        found = self.addresses.get(name)
        records = _records(found or [], self._ttl_s) if kind == A else []
        status = 0 if found else _NO_SUCH_NAME
        head = number + struct.pack("!HHHHH", 0x8180 | status, 1, len(records), 0, 0)
        return head + question + b"".join(records)


def _question(query: bytes) -> tuple[str, int, int]:
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode().lower())
        at += 1 + length
    (kind,) = struct.unpack("!H", query[at + 1 : at + 3])
    return ".".join(labels), kind, at + 5


def _records(addresses: Iterable[str], ttl_s: int) -> list[bytes]:
    return [
        struct.pack("!HHHIH", 0xC00C, A, 1, ttl_s, 4) + socket.inet_aton(address) for address in addresses
    ]
