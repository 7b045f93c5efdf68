"""Ports to listen on."""

import random
import socket

HOST = "127.0.0.1"
# Below the range from which Linux takes local ports of outgoing connections (32768 and up): a port of that range may be
# taken between the check and the server's own bind, or while the server is away.
# Even ones: each is given with the port behind it, on which the embedded service has its stream.
PORTS = range(10_000, 32_000, 2)
# Not the seeded one: two test processes with the same seed would meet at the same port.
_RANDOM = random.SystemRandom()


def free_port() -> int:
    """Return an even port, free as the next one is, which nobody else gets. Raises `OSError` after a thousand."""
    for _ in range(1_000):
        port = _RANDOM.choice(PORTS)
        if all(map(_is_free, (port, port + 1))):
            return port
    raise OSError(f"no free port of {HOST} found between {PORTS[0]} and {PORTS[-1]}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
