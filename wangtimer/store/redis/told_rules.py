"""What operators set for apps and for calls, as processes read it in Redis: SQL is the truth."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import structlog

from wangtimer.core.alerts.alerted_apps import AlertedApps, alerted_from_text, alerted_to_text
from wangtimer.core.flow.call_limit import CallLimit, limits_from_text, limits_to_text
from wangtimer.core.flow.call_rules import CallRules, rules_from_text, rules_to_text
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()

Rules = TypeVar("Rules")


class ToldRules(Generic[Rules]):
    """One key with all of one kind, so that none is read by half; `write` and `read` raise `StoreAway`."""

    def __init__(
        self,
        connection: RedisConnection,
        key: str,
        to_text: Callable[[Rules], str],
        from_text: Callable[[str], Rules],
    ) -> None:
        self._connection = connection
        self.key = key
        self._to_text = to_text
        self._from_text = from_text
        self._last: tuple[str, Rules | None] = "", None

    def write(self, rules: Rules) -> None:
        """Replace all."""
        text = self._to_text(rules)
        self._connection.command(lambda client: client.set(self.key, text))

    def read(self) -> Rules | None:
        """Return all; None if Redis lost them, or has what cannot be read."""

        def get(client: Any) -> Any:
            return client.get(self.key)

        return self.rules_in(self._connection.command(get))

    def rules_in(self, text: str | None) -> Rules | None:
        """Return what a text of the key says; None if there is none, or it cannot be read."""
        if text is None:
            return None
        if text != self._last[0]:
            self._last = text, self._read(text)
        return self._last[1]

    def _read(self, text: str) -> Rules | None:
        try:
            return self._from_text(text)
        except ValueError as error:
            log.warning("told_rules_unread", key=self.key, error=str(error))
            return None


class CallLimitStore(ToldRules[Mapping[str, CallLimit]]):
    """The limit of each app that has one."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        super().__init__(connection, keys.call_limits, limits_to_text, limits_from_text)


class CallRuleStore(ToldRules[CallRules]):
    """The other rules. They have a key of their own: an older version writes that of the limits."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        super().__init__(connection, keys.call_rules, rules_to_text, rules_from_text)


class AlertedAppStore(ToldRules[AlertedApps]):
    """Who has rules of alerts. They have a key of their own: an older version writes that of the other rules."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        super().__init__(connection, keys.alerted_apps, alerted_to_text, alerted_from_text)


class ToldForCalls(NamedTuple):
    """What callback processes look at again and again; None for what Redis lost, or has but cannot be read."""

    limits: Mapping[str, CallLimit] | None
    rules: CallRules | None
    ways_out_mark: str | None = None
    alerted: AlertedApps | None = None


class ToldForCallsStore:
    """Reads all of it by one command: each process does so every few seconds, also while nothing is due."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._limits, self._rules = CallLimitStore(connection, keys), CallRuleStore(connection, keys)
        self._alerted = AlertedAppStore(connection, keys)
        self._ways_out_mark_key = keys.ways_out_mark

    def read(self) -> ToldForCalls:
        """Return it; raises `StoreAway`."""
        keys = self._limits.key, self._rules.key, self._ways_out_mark_key, self._alerted.key

        def get(client: Any) -> Any:
            return client.mget(keys)

        limits, rules, mark, alerted = self._connection.command(get)
        return ToldForCalls(
            self._limits.rules_in(limits), self._rules.rules_in(rules), mark, self._alerted.rules_in(alerted)
        )
