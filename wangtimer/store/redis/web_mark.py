"""The mark of web processes: that one is there, which the broker knows of no web process."""

import time
from secrets import token_hex

from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

# s. A process that is there writes the mark so often, and the mark of one that has ended stays so long.
TELL_EVERY_S, STAYS_S = 2.0, 6.0
LOOK_EVERY_S = 0.2


def tell_web(connection: RedisConnection, keys: Keys) -> None:
    """Say that a web process is there; raises `StoreAway`."""
    connection.command(lambda client: client.set(keys.web, token_hex(8), px=int(STAYS_S * 1_000)))


def web_runs(connection: RedisConnection, keys: Keys) -> bool:
    """Tell whether a web process writes the mark. It waits until the mark changes or is gone; raises `StoreAway`."""
    first = found = _read(connection, keys)
    while found is not None and found == first:
        time.sleep(LOOK_EVERY_S)
        found = _read(connection, keys)
    return found is not None


def _read(connection: RedisConnection, keys: Keys) -> object:
    return connection.command(lambda client: client.get(keys.web))
