"""How many connections the rules of egress refused, over all callback processes: a count in Redis for `/metrics`."""

from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys


class RefusalCount:
    """It begins anew where Redis loses its data."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._key = keys.refusals

    def add(self, number: int) -> None:
        """Count so many more; raises `StoreAway`."""
        self._connection.command(lambda client: client.incrby(self._key, number))

    def total(self) -> int:
        """Return the count; raises `StoreAway`."""
        return int(self._connection.command(lambda client: client.get(self._key)) or 0)
