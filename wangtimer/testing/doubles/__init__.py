"""Doubles for the surroundings of the stages: Redis and the network in memory, and a clock that is moved by hand.

`tests/store` runs the same tests on these stores and on a real Redis and Valkey. The real store in
`wangtimer/store/redis` documents each method. All stores of a deployment share a `MemoryServer`. It can be switched
away, lose its data, or go back in time.
"""

from wangtimer.testing.doubles.hand_clock import HandClock
from wangtimer.testing.doubles.memory_agenda import MemoryAgenda
from wangtimer.testing.doubles.memory_broker import MemoryBroker
from wangtimer.testing.doubles.memory_definitions import MemoryDefinitions
from wangtimer.testing.doubles.memory_engine import UNLIMITED, MemoryEngine, ScriptedAnswer
from wangtimer.testing.doubles.memory_lanes import MemoryLanes
from wangtimer.testing.doubles.memory_outbox import MemoryOutbox
from wangtimer.testing.doubles.memory_permits import MemoryPermits, NoLimits
from wangtimer.testing.doubles.memory_server import MemoryServer
from wangtimer.testing.doubles.memory_slices import MemorySlices
from wangtimer.testing.doubles.memory_tables import (
    MemoryLoad,
    MemoryMarkedCopies,
    MemoryQueueWorkers,
    MemoryReplicaTexts,
)
from wangtimer.testing.doubles.memory_window import MemoryWindow

__all__ = [
    "UNLIMITED",
    "HandClock",
    "MemoryAgenda",
    "MemoryBroker",
    "MemoryDefinitions",
    "MemoryEngine",
    "MemoryLanes",
    "MemoryLoad",
    "MemoryMarkedCopies",
    "MemoryOutbox",
    "MemoryPermits",
    "MemoryQueueWorkers",
    "MemoryReplicaTexts",
    "MemoryServer",
    "MemorySlices",
    "MemoryWindow",
    "NoLimits",
    "ScriptedAnswer",
]
