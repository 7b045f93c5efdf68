"""Calls services back: one delivery engine per process."""

from wangtimer.callback.call import Call
from wangtimer.callback.delivery import Delivery
from wangtimer.callback.egress import Egress
from wangtimer.callback.engine import DeliveryEngine, EngineStopped
from wangtimer.callback.limits import Limits
from wangtimer.callback.reply import Reply
from wangtimer.callback.request import Request
from wangtimer.callback.tls import Tls

__all__ = [
    "Call",
    "Delivery",
    "DeliveryEngine",
    "Egress",
    "EngineStopped",
    "Limits",
    "Reply",
    "Request",
    "Tls",
]
