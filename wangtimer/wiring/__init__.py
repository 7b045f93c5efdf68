"""Builds the parts of a process of its settings: stores, delivery, stages, features, and what fires a chunk."""

from wangtimer.wiring.firing import spare_long_collections
from wangtimer.wiring.parts import once
from wangtimer.wiring.wiring import Wiring, build

__all__ = ["Wiring", "build", "once", "spare_long_collections"]
