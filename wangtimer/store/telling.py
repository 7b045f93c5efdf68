"""Copies definitions from SQL to Redis, a few at a time: each may have a large body."""

from collections.abc import Iterable

from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.sql.timers import TimerStore

# A page with bodies of 64 KB takes some 30 MB while it is copied.
PAGE = 100


def tell(
    timers: TimerStore, definitions: DefinitionStore, timer_ids: Iterable[int], may_be_far: bool = False
) -> set[int]:
    """Write the definitions of these timers to Redis, page by page; return which cannot be read. Raises `StoreAway`.

    `may_be_far`: their next moments may be.
    """
    ids = sorted(timer_ids)
    bad: set[int] = set()
    for start in range(0, len(ids), PAGE):
        found = timers.definitions(set(ids[start : start + PAGE]))
        definitions.put(found.values(), may_be_far)
        bad |= found.bad.keys()
    return bad
