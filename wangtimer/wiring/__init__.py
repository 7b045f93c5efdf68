"""Builds the parts of a process of its settings: stores, delivery, stages, features, and what fires a chunk."""

from wangtimer.wiring.parts import once
from wangtimer.wiring.wiring import Wiring, build

__all__ = ["Wiring", "build", "once"]
