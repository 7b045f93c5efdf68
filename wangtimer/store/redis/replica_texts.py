"""The texts of replicas in Redis: one key for each."""

from collections.abc import Sequence
from typing import Any

from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys


class ReplicaTexts:
    """Writes one, and reads many by one command; both raise `StoreAway`."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._keys = keys

    def write(self, name: str, text: str) -> None:
        """Replace the text of a replica."""
        self._connection.command(lambda client: client.set(self._keys.replica(name), text))

    def read(self, names: Sequence[str]) -> list[str | None]:
        """Return the text of each; None where Redis has none."""
        keys = [self._keys.replica(name) for name in names]

        def get(client: Any) -> Any:
            return client.mget(keys)

        found: list[str | None] = self._connection.command(get)
        return found
