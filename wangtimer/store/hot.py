"""Adds firings to Redis: members into slices or lanes, then the slices onto the agenda, or the lanes into the index.

Two ways do not lead through here. The lane feeder adds to lanes that are in the index. Executors put back what they
claimed.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk, DueMember, Firing
from wangtimer.core.flow.slicing import MINUTE_MS, SharedLane, Slice
from wangtimer.core.flow.tally import Tally
from wangtimer.core.time.clock import Clock
from wangtimer.store.redis.agenda import Agenda
from wangtimer.store.redis.lanes import LaneStore
from wangtimer.store.redis.slices import SliceStore
from wangtimer.store.redis.window import Window

Result = TypeVar("Result")

# A firing due within this is added whatever is announced. For later ones SQL and Redis are compared in time.
ALWAYS_HELD_MS = 120_000
TRIES = 3
PAUSE_S = 0.2


class HotStore:
    """Adds firings for planner, API, retries and every repair.

    Slice first, agenda second, each again after an error: nobody would find a slice without an agenda entry. A firing
    that waits in a lane goes there, and nowhere else.
    Adding a member that is there already does nothing, so a repair need not ask what is missing.
    """

    def __init__(
        self,
        slices: SliceStore,
        agenda: Agenda,
        window: Window,
        clock: Clock,
        lanes: LaneStore,
        always_held_ms: int,
    ) -> None:
        self._slices = slices
        self._lanes = lanes
        self._agenda = agenda
        self._window = window
        self._clock = clock
        self._always_held_ms = always_held_ms

    def add(self, firings: Sequence[Firing], is_repair: bool = False) -> None:
        """Add the committed firings that Redis is to hold by now; the feeder adds the others in time.

        Raises `StoreAway` after three tries.
        """
        self.add_all(self.in_window(firings), is_repair)

    def in_window(self, firings: Sequence[Firing]) -> Sequence[Firing]:
        """Return the committed firings that Redis is to hold by now, those due soon always. Raises `StoreAway`."""
        always_until = int(self._clock.now_ms()) + self._always_held_ms
        if all(firing.due_at <= always_until for firing in firings):
            return firings
        announced = self._retry(self._window.announced)
        ends_at = 0 if announced is None else (announced + 1) * MINUTE_MS
        until = max(always_until, ends_at - 1)
        return [firing for firing in firings if firing.due_at <= until]

    def expect_many(self) -> None:
        """Add only what Redis always holds for a while, as many are to come. Raises `StoreAway` after 3 tries."""
        self._retry(lambda: self._window.narrow(int(self._clock.now_ms())))

    def add_all(self, firings: Sequence[Firing], is_repair: bool = False) -> None:
        """Add pending firings to the slice or lane in their rows; raises `StoreAway` after three tries."""
        by_slice = _by_slice([firing for firing in firings if not firing.lane])
        if by_slice:
            needs = self._retry(lambda: self._slices.add(by_slice, is_repair))
            self._retry(lambda: self._agenda.add(list(needs.items())))
        if len(waiting := [firing for firing in firings if firing.lane]):
            self.add_to_lanes(_by_lane(waiting), is_repair)

    def add_to_lanes(
        self, by_lane: Mapping[SharedLane, Sequence[DueMember]], is_repair: bool = False
    ) -> None:
        """Add members to the lanes that SQL has noted for them; raises `StoreAway` after three tries."""
        self._retry(lambda: self._lanes.add(by_lane, is_repair))
        self._retry(lambda: self._lanes.enter(list(by_lane)))

    def raise_same(self, tallies: Mapping[Slice, Tally]) -> set[Slice]:
        """Put slices that match their tally onto the agenda; return the others. Raises `StoreAway` after 3 tries."""
        needs = self._retry(lambda: self._slices.needs_of_same(tallies))
        if needs:
            self._retry(lambda: self._agenda.add(list(needs.items())))
        return tallies.keys() - needs.keys()

    def arm_now(self, firings: Sequence[Firing]) -> list[Chunk]:
        """Add firings due within the lead into `armed`; return the chunks to send.

        A trigger takes up what is not sent, or was not armed here. Raises `StoreAway` after three tries.
        """
        chunks = []
        now = int(self._clock.now_ms())
        for slice_, members in _by_slice(firings).items():
            armed = self._retry(partial(self._slices.arm_now, slice_, members))
            self._retry(partial(self._agenda.add, [(slice_, now)]))
            if armed:
                chunks.append(Chunk(slice_, tuple(armed)))
        return chunks

    def _retry(self, step: Callable[[], Result]) -> Result:
        for _ in range(TRIES - 1):
            try:
                return step()
            except StoreAway:
                self._clock.sleep(PAUSE_S)
        return step()


def _by_slice(firings: Sequence[Firing]) -> dict[Slice, list[DueMember]]:
    by_slice: defaultdict[tuple[int, int], list[DueMember]] = defaultdict(list)
    for firing in firings:
        by_slice[firing.due_at // MINUTE_MS, firing.bucket].append(DueMember(firing.member, firing.due_at))
    return {Slice(*key): members for key, members in by_slice.items()}


def _by_lane(firings: Sequence[Firing]) -> dict[SharedLane, list[DueMember]]:
    by_lane: defaultdict[SharedLane, list[DueMember]] = defaultdict(list)
    for firing in firings:
        by_lane[SharedLane(firing.lane)].append(DueMember(firing.member, firing.due_at))
    return dict(by_lane)
