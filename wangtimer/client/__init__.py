"""The Python client of WangTimer's HTTP API: `Client("http://127.0.0.1:5000", "shop")`.

It needs `requests`, and nothing else of this package: no settings, no store. The separate distribution
`wangtimer-client` is imported as `wangtimer_client`.
"""

from .calls import Which
from .client import Client
from .consumer import Consumer, GivenUp
from .errors import (
    BadAnswer,
    ClientError,
    Conflict,
    NotFound,
    PreconditionFailed,
    Problem,
    Refused,
    TooFast,
    Unavailable,
    Unreachable,
)
from .filters import FiringFilter, ManyTimers, Spread, TimerFilter
from .firing_types import Firing, FiringHistory
from .gap_watch import CallOrder, GapWatch, Sighting
from .receiver import NotACallback, ReceivedCall, Receiver, SeenFirings, StillActing
from .timer_fields import (
    Misfire,
    NewTimer,
    Schedule,
    Target,
    TargetPatch,
    Timer,
    TimerBody,
    TimerFields,
    TimerPatch,
)
from .timer_types import ChangedTimer
from .values import Moment, Span
from .verification import BadSignature, Verification

__all__ = [
    "BadAnswer",
    "BadSignature",
    "CallOrder",
    "ChangedTimer",
    "Client",
    "ClientError",
    "Conflict",
    "Consumer",
    "Firing",
    "FiringFilter",
    "FiringHistory",
    "GapWatch",
    "GivenUp",
    "ManyTimers",
    "Misfire",
    "Moment",
    "NewTimer",
    "NotACallback",
    "NotFound",
    "PreconditionFailed",
    "Problem",
    "ReceivedCall",
    "Receiver",
    "Refused",
    "Schedule",
    "SeenFirings",
    "Sighting",
    "Span",
    "Spread",
    "StillActing",
    "Target",
    "TargetPatch",
    "Timer",
    "TimerBody",
    "TimerFields",
    "TimerFilter",
    "TimerPatch",
    "TooFast",
    "Unavailable",
    "Unreachable",
    "Verification",
    "Which",
]
