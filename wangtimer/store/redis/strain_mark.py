"""The word of strain: callback processes tell it, and the migrator plans more slowly while it counts."""

from contextlib import suppress

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.strain import COUNTS_MS
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys


class StrainMark:
    """A key that expires. While Redis is away nobody tells, and nothing is strained."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._key = keys.strain

    def tell(self) -> None:
        """Let it count from now for `COUNTS_MS`."""
        with suppress(StoreAway):
            self._connection.command(lambda client: client.set(self._key, 1, px=COUNTS_MS))

    def counts(self) -> bool:
        """Tell whether some process is strained."""
        try:
            return bool(self._connection.command(lambda client: client.exists(self._key)))
        except StoreAway:
            return False
