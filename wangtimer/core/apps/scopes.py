"""What a key may do."""

from enum import StrEnum


class Scope(StrEnum):
    """One right. A key has some of them; each operation of the API needs one."""

    TIMERS_READ = "timers:read"
    TIMERS_WRITE = "timers:write"
    FIRINGS_READ = "firings:read"
    FIRINGS_ACT = "firings:act"
    FIRINGS_CONSUME = "firings:consume"
    CALENDARS_WRITE = "calendars:write"
    SIGNING_WRITE = "signing:write"
    TARGETS_WRITE = "targets:write"
    # For operators alone.
    APPS_ADMIN = "apps:admin"
    LOAD_READ = "load:read"
    METRICS_READ = "metrics:read"


OPERATOR_SCOPES = frozenset({Scope.APPS_ADMIN, Scope.LOAD_READ, Scope.METRICS_READ})
ALL_SCOPES = frozenset(Scope)
APP_SCOPES = ALL_SCOPES - OPERATOR_SCOPES
# What these change is an app's; a disabled app's stays as it is.
CHANGING_SCOPES = frozenset(
    {
        Scope.TIMERS_WRITE,
        Scope.FIRINGS_ACT,
        Scope.CALENDARS_WRITE,
        Scope.SIGNING_WRITE,
        Scope.TARGETS_WRITE,
    }
)
