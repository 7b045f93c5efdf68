"""The stream's connections to Redis: scripts, the clock, and what is told on channels; nothing blocks the thread."""

import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from wangtimer.core.errors import StoreAway
from wangtimer.store.redis.connection import RENEWED_FOR_S, ScriptCall, was_demoted

TIMEOUT_S = 3.0
# s; a subscription that is silent for so long is asked whether it lives.
HEALTH_CHECK_S = 5
CONNECTIONS = 16


class StreamRedis:
    """Raises `StoreAway`. Nothing is repeated: a script that may have run is not run again.

    Once the server says that it was demoted, all connections are opened anew, and what listens has to subscribe again.
    """

    def __init__(self, url: str) -> None:
        # A socket file has no such option.
        kept: dict[str, Any] = {} if url.startswith("unix:") else {"socket_keepalive": True}
        pool = BlockingConnectionPool.from_url(
            url,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
            max_connections=CONNECTIONS,
            # s; to wait for one of them.
            timeout=TIMEOUT_S,
            **kept,
        )
        self._client = Redis.from_pool(pool)
        self._listening = Redis.from_url(
            url,
            socket_timeout=None,
            socket_connect_timeout=TIMEOUT_S,
            health_check_interval=HEALTH_CHECK_S,
            retry=Retry(NoBackoff(), 0),
            **kept,
        )
        self._ahead_ms = 0.0
        self._renewed_at = float("-inf")

    def now_ms(self) -> int:
        """Return Redis' time, as it was last read and has gone on since by the stop-watch."""
        return int(time.monotonic() * 1_000 + self._ahead_ms)

    async def read_clock(self) -> None:
        """Read Redis' time."""
        sent_at = time.monotonic()
        seconds, microseconds = await self._ask("TIME")
        now = (sent_at + time.monotonic()) / 2
        self._ahead_ms = (int(seconds) - now) * 1_000 + int(microseconds) / 1_000

    async def run(self, call: ScriptCall) -> Any:
        """Run a script."""
        rest = (len(call.keys), *call.keys, *call.arguments)
        try:
            return await self._ask("EVALSHA", call.script.sha, *rest)
        except NoScriptError:
            return await self._ask("EVAL", call.script.text, *rest)

    async def note_seen(self, key: str, groups: list[str], forgotten_before: int) -> None:
        """Write which groups have consumers now."""
        now = self.now_ms()
        if groups:
            await self._ask("ZADD", key, *(part for group in groups for part in (now, group)))
        await self._ask("ZREMRANGEBYSCORE", key, "-inf", forgotten_before)

    async def messages(self, *channels: str) -> AsyncIterator[tuple[str, bytes] | None]:
        """Yield None once subscribed, then each message with its channel; ends by `StoreAway`."""
        subscription = self._listening.pubsub(ignore_subscribe_messages=True)
        began_at = time.monotonic()
        try:
            await subscription.subscribe(*channels)
            yield None
            while self._renewed_at < began_at:
                message = await subscription.get_message(timeout=HEALTH_CHECK_S)
                if message is not None:
                    yield message["channel"].decode(), message["data"]
            raise StoreAway("Redis", "the server was demoted")
        except (RedisError, OSError) as error:
            raise StoreAway("Redis", str(error) or type(error).__name__) from error
        finally:
            with suppress(RedisError, OSError):
                await subscription.aclose()  # type: ignore[no-untyped-call]

    async def close(self) -> None:
        """Close all connections."""
        with suppress(RedisError, OSError):
            await self._client.aclose()
            await self._listening.aclose()

    async def _ask(self, *command: Any) -> Any:
        try:
            return await self._client.execute_command(*command)  # type: ignore[no-untyped-call]
        except NoScriptError:
            raise
        except (RedisError, OSError) as error:
            if was_demoted(error) and time.monotonic() - self._renewed_at >= RENEWED_FOR_S:
                await self._renew()
            raise StoreAway("Redis", str(error) or type(error).__name__) from error

    async def _renew(self) -> None:
        """Let all connections be opened anew; those in use go once they are given back."""
        self._renewed_at = time.monotonic()
        pool = self._client.connection_pool
        with suppress(RedisError, OSError):
            await pool.update_active_connections_for_reconnect()  # type: ignore[no-untyped-call]
            await pool.disconnect(inuse_connections=False)
