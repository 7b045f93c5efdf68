"""In-memory stores with the contract of the real ones, on a clock moved by hand.

`tests/store` runs the same tests on these and on the real stores. The hot ones share one `MemoryServer`, the SQL
ones another; a server can be switched away, lose its data, or go back in time.
"""

from tests.fakes.hand_clock import HandClock
from tests.fakes.memory_agenda import MemoryAgenda
from tests.fakes.memory_answers import MemoryAnswers
from tests.fakes.memory_definitions import MemoryDefinitions
from tests.fakes.memory_demands import MemoryDemands
from tests.fakes.memory_firing_lists import MemoryFiringLists
from tests.fakes.memory_firings import MemoryFirings
from tests.fakes.memory_lanes import MemoryLanes
from tests.fakes.memory_load import MemoryLoad
from tests.fakes.memory_outbox import MemoryOutbox
from tests.fakes.memory_server import MemoryServer
from tests.fakes.memory_slices import MemorySlices
from tests.fakes.memory_timers import MemoryTimers
from tests.fakes.memory_window import MemoryWindow

__all__ = [
    "HandClock",
    "MemoryAgenda",
    "MemoryAnswers",
    "MemoryDefinitions",
    "MemoryDemands",
    "MemoryFiringLists",
    "MemoryFirings",
    "MemoryLanes",
    "MemoryLoad",
    "MemoryOutbox",
    "MemoryServer",
    "MemorySlices",
    "MemoryTimers",
    "MemoryWindow",
]
