"""When the first byte of each request left its caller, as the kernel saw it on the wire, over TLS too."""

import re
from collections.abc import Mapping

# A record of TLS begins with its type, two bytes of version and two of length.
_HEAD_BYTES, _DATA = 5, 0x17
# The client's end of a handshake comes as data of 69 bytes at most. A request has more.
_SHORTEST_REQUEST = 128


class FirstBytes:
    """Listens to a `Distant` in front of TLS targets: `left()` has the ms UTC of each host name's first request.

    A host is called under the name that its ClientHello shows; names are those of `name`, a pattern with one group.
    """

    def __init__(self, name: re.Pattern[bytes]) -> None:
        self._name = name
        self._names: dict[int, str] = {}
        self._left: dict[str, float] = {}

    def hear(self, connection: int, data: bytes, came_at: float) -> None:
        """Take in what a caller sent at once."""
        if connection not in self._names:
            found = self._name.search(data)
            self._names[connection] = found[1].decode() if found else ""
        elif _has_request(data):
            self._left.setdefault(self._names[connection], came_at)

    def left(self) -> Mapping[str, float]:
        """Return all of them so far."""
        return dict(self._left)


def _has_request(data: bytes) -> bool:
    at = 0
    while at + _HEAD_BYTES <= len(data):
        length = int.from_bytes(data[at + 3 : at + _HEAD_BYTES])
        if data[at] == _DATA and length > _SHORTEST_REQUEST:
            return True
        at += _HEAD_BYTES + length
    return False
