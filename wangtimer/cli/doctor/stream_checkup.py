"""The check-up of the stream: a process listens where firings are for consumers that connect to us."""

from collections.abc import Iterator
from contextlib import closing

from redis.exceptions import NoPermissionError

from wangtimer.cli.doctor.findings import Finding, Part, asked_of_sql
from wangtimer.core.errors import StoreAway
from wangtimer.core.messages.message_place import CONSUMERS_BROKER, is_message_url, place_from
from wangtimer.settings import Settings
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.consumers import stream_listeners
from wangtimer.store.redis.keys import Keys
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.target_store import TargetChangeKey, TargetStore

PART = Part("stream")
PAGE = 1_000
START = (
    "start one: python -m wangtimer.stream (the Procfile has it), with the WANGTIMER_STORE_URL of the others"
)


def check_stream(settings: Settings) -> Iterator[Finding]:
    """Yield whether a stream process listens, and what is missing; nothing where Redis is away."""
    with closing(RedisConnection(settings.store_url)) as connection:
        try:
            listeners = stream_listeners(connection, Keys(settings.key_prefix))
        except StoreAway:
            return
        except NoPermissionError:
            mend = "take the ACL file that deploy/make-accounts writes now: it allows PUBSUB NUMSUB"
            yield PART.warning("this account may not ask the store whether a stream process listens", mend)
            return
    if listeners:
        yield PART.ok(f"stream processes that listen: {listeners}")
    else:
        yield from asked_of_sql(settings, needed)


def needed(database: Database) -> Iterator[Finding]:
    """Yield what it means that no stream process listens."""
    target = _target_for_consumers(TargetStore(database, NO_KEYS))
    if target is None:
        yield PART.ok("no stream process listens, and no target is for consumers")
        return
    said = f"no stream process listens: what is for consumers fails, as for target {target[1]} of app {target[0]}"
    yield PART.error(said, START)


def _target_for_consumers(store: TargetStore) -> tuple[str, str] | None:
    key: TargetChangeKey | None = (-1, "", "")
    while key is not None:
        found, key = store.changed_behind(key, PAGE)
        for name, target in found.items():
            url = target.call.url
            if is_message_url(url) and place_from(url).broker == CONSUMERS_BROKER:
                return name
    return None
