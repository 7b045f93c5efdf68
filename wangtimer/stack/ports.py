"""Ports to listen on."""

import random
import socket

HOST = "127.0.0.1"
# Below the range from which Linux takes local ports of outgoing connections (32768 and up): a port of that range may be
# taken between the check and the server's own bind, or while the server is away.
# Test processes that run side by side each take a part of it.
PORTS = range(10_000, 32_000)
# Not the seeded one: two test processes with the same seed would meet at the same port.
_RANDOM = random.SystemRandom()


def free_port() -> int:
    """Return a port of this machine that nothing listens on; raises `OSError` when a thousand are taken."""
    for _ in range(1_000):
        port = _RANDOM.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        return port
    raise OSError(f"no free port of {HOST} found between {PORTS[0]} and {PORTS[-1]}")
