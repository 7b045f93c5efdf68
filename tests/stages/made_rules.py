"""What a process knows of operators' rules, for tests of single parts."""

from collections.abc import Callable, Mapping
from typing import Any

from wangtimer.core.alerts.alerted_apps import AlertedApps
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.call_rules import CallRules
from wangtimer.executor.known_rules import KnownRules
from wangtimer.testing.doubles import (
    HandClock,
    MemoryAlertedApps,
    MemoryCallLimits,
    MemoryCallRules,
    MemoryServer,
    MemoryToldForCalls,
)


def rules_of(
    call_limits: Any,
    server: MemoryServer,
    limits_in_sql: Callable[[], Mapping[str, CallLimit]] = dict,
    rules_in_sql: Callable[[], CallRules] = CallRules,
) -> KnownRules:
    """Return rules that were not read yet: limits from a double, the rest from its server."""
    call_rules: Any = MemoryCallRules(server)
    told: Any = MemoryToldForCalls(call_limits, call_rules, MemoryAlertedApps(server))
    return KnownRules(told, limits_in_sql, rules_in_sql, lambda _mark: None, AlertedApps)


def no_rules() -> KnownRules:
    """Return rules that were read, and found to be none."""
    server = MemoryServer("Redis", HandClock())
    rules = rules_of(MemoryCallLimits(server), server)
    rules.read()
    return rules
