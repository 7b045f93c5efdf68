"""The record of failing hosts in Redis: what callback processes see, for the API, `/metrics` and each other."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import structlog

from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.host_names import one_name
from wangtimer.core.flow.slicing import SharedLane, parted
from wangtimer.core.messages.message_place import broker_host, is_message_url
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()

# Failing hosts the record holds; those that no process has told of for longest go first.
MOST = 1_000
# A process tells of its failing hosts every few seconds. One not told of for so long is failing for no living process.
PRESENT_MS = 10_000
# Since when a host fails is kept for so long after the last word of it: its processes may have been restarted.
FORGOTTEN_AFTER_S = 7 * 86_400


@dataclass(frozen=True, slots=True)
class FailingHost:
    """A host, or a part of it (`origin`, as `HostKey` has it), that fails each call of an app; moments in ms UTC.

    It fails `since` the first failure that no answer followed, as far as its teller knows; `failed_at` is the last one
    so far, and `error` says what came. `told_at` is when a process last told of it.
    """

    app: str
    origin: str
    since: int
    failed_at: int
    error: str
    told_at: int

    @property
    def key(self) -> HostKey:
        """What it is: an app's calls to a host."""
        return self.app, self.origin

    @property
    def lanes(self) -> tuple[SharedLane, ...]:
        """Where its calls wait: for the host, or for a limit of calls to it."""
        host, part = _host_of(self.origin)
        return (
            SharedLane.of_way(self.app, host, part),
            SharedLane.of_host_limit(host),
            SharedLane.of_app_at_host(self.app, host),
        )


class FailingHostRecord:
    """A hash; all processes that see a host fail write the same entry. Every method raises `StoreAway`."""

    def __init__(self, redis: RedisConnection, keys: Keys, clock: Clock) -> None:
        self._connection = redis
        self._key = keys.failing_hosts
        self._clock = clock

    def tell(self, failing: Iterable[FailingHost], answering: Iterable[HostKey] = ()) -> None:
        """Write these hosts, and strike out those that answer."""
        texts = {_field(host.key): _text(host) for host in failing}
        struck = [_field(key) for key in answering]

        def write(client: Any) -> None:
            with client.pipeline(transaction=False) as pipe:
                if struck:
                    pipe.hdel(self._key, *struck)
                if texts:
                    pipe.hset(self._key, mapping=texts)
                    pipe.expire(self._key, FORGOTTEN_AFTER_S)
                pipe.execute()

        if texts or struck:
            self._connection.command(write)

    def entries(self) -> dict[HostKey, FailingHost]:
        """Return all entries, also those that no living process tells of; what cannot be read is left out."""

        def read(client: Any) -> Any:
            return client.hgetall(self._key)

        texts: dict[str, str] = self._connection.command(read)
        found = (_read(text) for text in texts.values())
        return {host.key: host for host in found if host is not None}

    def present(self) -> list[FailingHost]:
        """Return the hosts that some living process sees fail, the longest failing first."""
        told_since = self._clock.now_ms() - PRESENT_MS
        present = (host for host in self.entries().values() if host.told_at >= told_since)
        return sorted(present, key=lambda host: (host.since, host.key))


def surplus(entries: Sequence[FailingHost], now_ms: float) -> list[FailingHost]:
    """Return the entries that the record is to hold no longer: too old, or too many."""
    latest = sorted(entries, key=lambda host: host.told_at, reverse=True)
    kept = [host for host in latest[:MOST] if host.told_at >= now_ms - 1_000 * FORGOTTEN_AFTER_S]
    return latest[len(kept) :]


def _host_of(origin: str) -> tuple[str, str]:
    place, part = parted(origin.partition("://")[2])
    if is_message_url(origin):
        return broker_host(place), part
    name, _, port = place.rpartition(":")
    return f"{one_name(name.strip('[]'))}:{port}", part


def _field(key: HostKey) -> str:
    return json.dumps(key)


def _text(host: FailingHost) -> str:
    return json.dumps(asdict(host), ensure_ascii=False)


def _read(text: str) -> FailingHost | None:
    try:
        return FailingHost(**json.loads(text))
    except (ValueError, TypeError) as error:
        log.warning("failing_host_unread", error=str(error))
        return None
