"""Counts what clients ask Redis servers of a deployment."""

import threading

import redis

from tests.e2e.deployment import Deployment
from tests.servers.redis_server import RedisServer


class CommandCounter:
    """Counts by MONITOR, in a thread of its own; what a script does is its one command."""

    def __init__(self, server: RedisServer) -> None:
        self._client = redis.Redis.from_url(server.url(), socket_timeout=None)
        self._count = 0
        self._stopping = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Return how many commands came."""
        self._stopping = True
        return self._count

    def _listen(self) -> None:
        with self._client.monitor() as monitor:
            for seen in monitor.listen():
                if self._stopping:
                    return
                self._count += seen["client_type"] != "lua"


def commands_a_second(deployment: Deployment, seconds: float) -> dict[str, float]:
    """Let a deployment run; return what its store and its broker were asked."""
    servers = {"store": deployment.store, "broker": deployment.broker}
    counters = {name: CommandCounter(server) for name, server in servers.items()}
    deployment.tend_for(seconds)
    return {name: round(counter.stop() / seconds, 2) for name, counter in counters.items()}
