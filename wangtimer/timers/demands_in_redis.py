"""What is asked for of single firings, in Redis: in which buckets it stands, and that it is told there."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk, Firing
from wangtimer.core.flow.slicing import MINUTE_MS, BucketRule
from wangtimer.core.timers.timer import Definition
from wangtimer.store.hot import HotStore
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.window import MinuteLoad, planned_before

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class DemandsInRedis:
    """Redis learns of demands once SQL has them, or by the sweep."""

    hot: HotStore
    definitions: DefinitionStore
    load: MinuteLoad
    buckets: BucketRule
    send_chunk: Callable[[Chunk], None]

    def buckets_of(self, app: str, dues: Sequence[int]) -> list[int]:
        """Return a bucket for each of these due moments: in turn, over all buckets its minute needs by then."""
        counts = Counter(due_at // MINUTE_MS for due_at in dues)
        before = planned_before(self.load, dict(counts))
        numbers = Counter(before)
        first = self.buckets.first_of(app)
        chosen = []
        for due_at in dues:
            minute = due_at // MINUTE_MS
            buckets = self.buckets.buckets_for(before.get(minute, 0) + counts[minute])
            chosen.append(first + numbers[minute] % buckets)
            numbers[minute] += 1
        return chosen

    def tell(
        self, definitions: Sequence[Definition], firings: Sequence[Firing], soon: Sequence[Firing] = ()
    ) -> bool:
        """Tell Redis what is committed; False where it is away: then the sweep tells it, seconds later."""
        try:
            self.definitions.put(definitions)
            self.hot.add(firings)
            for chunk in self.hot.arm_now(soon):
                self.send_chunk(chunk)
        except StoreAway as error:
            log.warning("demand_not_in_redis_yet", firings=len(firings) + len(soon), error=str(error))
            return False
        return True
