"""A page of an app's timers, as long as the CPU and the bytes of one answer allow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from wangtimer.core.errors import TooMuchWork
from wangtimer.core.timers.timer import Timer
from wangtimer.core.work_budget import is_over
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.store.sql.timer_lists import Order, TimerFilter
from wangtimer.wiring import Wiring

# Timers read at once. It takes some 0.1 s of CPU when each has its own new calendar of 4,000 days.
READ_AT_ONCE = 100
# Bytes of the calls on a page. A client must take them within `answer_pace.BEHIND_S`.
MOST_CALL_BYTES = 1_048_576

Row = TypeVar("Row")
# A timer's sort key and id.
Place = tuple[str | int, int]
# Makes a row of a timer and the latest outcomes by timer id.
Show = Callable[[Timer, Mapping[int, FiringRecord]], Row]


@dataclass(frozen=True, slots=True)
class TimerPage:
    """A page: which timers, in what order, at most how many, after which place (None: from the first)."""

    wanted: TimerFilter
    order: Order
    limit: int
    behind: Place | None

    def rows(self, wiring: Wiring, now: int, show: Show[Row]) -> tuple[list[Row], Place | None]:
        """Return the rows as they are at `now` (ms UTC), and the place of the last one if more may come.

        There are fewer than `limit` rows where they take much CPU or have large calls, but at least one. Raises
        `TooMuchWork` where one row takes too much.
        """
        rows: list[Row] = []
        behind, room = self.behind, MOST_CALL_BYTES
        while True:
            wanted = min(self.limit - len(rows), READ_AT_ONCE) + 1
            found = wiring.timer_lists.page(self.wanted, self.order, wanted, now, behind)
            shown = _shown(found[: wanted - 1], room, wiring, now, show)
            rows += shown
            if len(shown) == len(found):
                return rows, None
            room -= sum(map(_call_bytes, found[: len(shown)]))
            last = found[len(shown) - 1]
            behind = self.order.value_of(last), last.id
            if len(rows) == self.limit or room <= 0 or is_over():
                return rows, behind


def _shown(timers: list[Timer], room: int, wiring: Wiring, now: int, show: Show[Row]) -> list[Row]:
    """Return rows until the CPU budget or the room for calls (bytes) is used up, but at least one."""
    outcomes = wiring.firing_lists.last_outcomes([timer.id for timer in timers], now)
    rows: list[Row] = []
    for timer in timers:
        if rows and (room <= 0 or is_over()):
            break
        room -= _call_bytes(timer)
        try:
            rows.append(show(timer, outcomes))
        except TooMuchWork:
            if not rows:
                raise
            break
    return rows


def _call_bytes(timer: Timer) -> int:
    call = timer.definition.notify
    return len(call.body.encode()) + sum(len(name) + len(value) for name, value in call.headers)
