"""What the store's memory is used for: figures from counts and from what the server says of itself, without a scan."""

from dataclasses import dataclass

from wangtimer.core.flow.slicing import MINUTE_MS
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.lanes import BYTES_A_FIRING as BYTES_IN_A_LANE
from wangtimer.store.redis.lanes import LaneStore
from wangtimer.store.redis.outbox import Outbox
from wangtimer.store.redis.window import BYTES_A_FIRING, Window


@dataclass(frozen=True, slots=True)
class StoreMemory:
    """Reads it for a figure each."""

    redis: RedisConnection
    keys: Keys
    clock: Clock
    window: Window
    lanes: LaneStore
    outbox: Outbox

    def parts(self) -> dict[str, int]:
        """Return bytes by part, together what the server uses.

        What firings take is counted as the settings count it. `other_data` is what is left of the data: above all
        definitions, which nothing counts; what waits for consumers; copies of what timers share. `server` is what the
        server needs beside its data.
        """
        told = self.redis.command(lambda client: client.info("memory"))
        used, data = int(told["used_memory"]), int(told["used_memory_dataset"])
        counted = {
            "window": self._in_window() * BYTES_A_FIRING,
            "lanes": sum(self.lanes.waiting_in(list(self.lanes.index())).values()) * BYTES_IN_A_LANE,
            "outbox": self.outbox.bytes(),
        }
        rest = max(0, data - sum(counted.values()))
        server = max(0, used - rest - sum(counted.values()))
        return counted | {"other_data": rest, "server": server}

    def _in_window(self) -> int:
        """Return how many firings were planned into the minutes that Redis holds."""
        until, first = self.window.fed_until() or 0, int(self.clock.now_ms()) // MINUTE_MS
        planned = self.redis.command(lambda client: client.hgetall(self.keys.load))
        return sum(
            int(number) for minute, number in planned.items() if first <= int(minute) < until // MINUTE_MS
        )
