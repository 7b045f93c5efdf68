"""In-memory stores of SQL with the contract of the real ones; those of Redis stand in `wangtimer.testing.doubles`.

`tests/store` runs the same tests on these and on the real stores. They share one `MemoryServer`, which can be switched
away, lose its data, or go back in time.
"""

from tests.fakes.memory_answers import MemoryAnswers
from tests.fakes.memory_audit import MemoryAudit
from tests.fakes.memory_demands import MemoryDemands
from tests.fakes.memory_firing_lists import MemoryFiringLists
from tests.fakes.memory_firings import MemoryFirings
from tests.fakes.memory_signing_store import MemorySigningStore
from tests.fakes.memory_target_store import MemoryTargetStore
from tests.fakes.memory_timers import MemoryTimers

__all__ = [
    "MemoryAnswers",
    "MemoryAudit",
    "MemoryDemands",
    "MemoryFiringLists",
    "MemoryFirings",
    "MemorySigningStore",
    "MemoryTargetStore",
    "MemoryTimers",
]
