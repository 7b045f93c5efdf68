"""The limits of apps' calls, as callback processes read them: SQL is the truth."""

from collections.abc import Mapping
from typing import Any

import structlog

from wangtimer.core.flow.call_limit import CallLimit, limits_from_text, limits_to_text
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()


class CallLimitStore:
    """One key with all limits, so that none is read by half; both methods raise `StoreAway`."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._key = keys.call_limits
        self._last: tuple[str, dict[str, CallLimit] | None] = "", None

    def write(self, limits: Mapping[str, CallLimit]) -> None:
        """Replace all limits."""
        text = limits_to_text(limits)
        self._connection.command(lambda client: client.set(self._key, text))

    def read(self) -> Mapping[str, CallLimit] | None:
        """Return the limit of each app that has one; None if Redis lost them, or has what cannot be read."""

        def get(client: Any) -> Any:
            return client.get(self._key)

        text: str | None = self._connection.command(get)
        if text is None:
            return None
        if text != self._last[0]:
            self._last = text, _read(text)
        return self._last[1]


def _read(text: str) -> dict[str, CallLimit] | None:
    try:
        return limits_from_text(text)
    except ValueError as error:
        log.warning("call_limits_unread", error=str(error))
        return None
