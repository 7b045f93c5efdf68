"""Sends messages in place of HTTP calls, each at its exact moment, to brokers that an operator named."""

from wangtimer.messaging.deliveries import Deliveries
from wangtimer.messaging.message_engine import MessageEngine

__all__ = ["Deliveries", "MessageEngine"]
