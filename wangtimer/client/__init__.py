"""The Python client of WangTimer's HTTP API: `Client("http://127.0.0.1:5000", "shop")`.

Needs `requests`, and nothing else of this package: neither settings nor a store.
"""

from wangtimer.client.client import Client
from wangtimer.client.errors import (
    BadAnswer,
    ClientError,
    Conflict,
    NotFound,
    Refused,
    Unavailable,
    Unreachable,
)
from wangtimer.client.fields import (
    BulkFilter,
    Callback,
    CallbackChanges,
    FiringFilter,
    TimerFields,
    TimerFilter,
)
from wangtimer.client.value_types import Moment

__all__ = [
    "BadAnswer",
    "BulkFilter",
    "Callback",
    "CallbackChanges",
    "Client",
    "ClientError",
    "Conflict",
    "FiringFilter",
    "Moment",
    "NotFound",
    "Refused",
    "TimerFields",
    "TimerFilter",
    "Unavailable",
    "Unreachable",
]
