"""The quarantine: firings that two executors died on are tried once more, apart from all others."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from queue import SimpleQueue
from threading import Lock, Thread
from typing import NamedTuple

import structlog

from wangtimer.callback import Call, DeliveryEngine
from wangtimer.core.clock import Clock
from wangtimer.core.errors import StoreAway
from wangtimer.core.firing import DueMember, Member
from wangtimer.core.slicing import SliceOrLane
from wangtimer.executor.claim import Held, by_claim, let_go
from wangtimer.store.redis.slices import SliceStore

log = structlog.get_logger()

# Executors that died with a firing (or lost its lease otherwise) before it is tried apart; and before it has failed.
APART_AFTER = 2
LAST_DEATH = 5
# So few are tried one by one, and so many in groups of so few; of more, groups as large. All that ran when an executor
# died twice may be here, and one by one each waits for the answers to those before it.
FEW = 8
SOME = 64
# What one executor held comes here within about a second, in many chunks.
GATHER_S = 1.0
LOOK_EACH_S = 0.02


class Suspect(NamedTuple):
    """A firing that so many executors died on, and the call that may be why."""

    held: Held
    call: Call
    deaths: int


class Quarantine:
    """Sends one group at a time. One that kills its executor comes back in smaller ones; what does so alone has failed.

    Its thread starts with the first firing: there is hardly ever one.
    """

    def __init__(
        self,
        slices: SliceStore,
        engine: DeliveryEngine,
        clock: Clock,
        is_safe: Callable[[Held], bool],
        longest_s: float,
    ) -> None:
        self._slices = slices
        self._engine = engine
        self._clock = clock
        self._is_safe = is_safe
        self._longest_s = longest_s
        self._line: SimpleQueue[Sequence[Suspect]] = SimpleQueue()
        self._is_started = False
        self._starting = Lock()

    def take(self, suspects: Sequence[Suspect]) -> None:
        """Send these when their turn comes."""
        if not suspects:
            return
        self._line.put(suspects)
        with self._starting:
            if not self._is_started:
                self._is_started = True
                self._start()

    def try_all(self) -> None:
        """Wait for some, then send all that are here, group by group."""
        for group in groups_of(self._gathered()):
            try:
                self._try(group)
            except Exception:
                log.exception("quarantine_stumbled")

    def _gathered(self) -> list[Suspect]:
        gathered = [*self._line.get()]
        self._clock.sleep(GATHER_S)
        while not self._line.empty():
            gathered += self._line.get()
        return gathered

    def _try(self, group: list[Suspect]) -> None:
        """Send a group, and wait until all of it is answered and recorded: the next may kill this process.

        What is not surely held when its turn comes is not tried, and so not blamed: it comes back.
        """
        held = [one for one in group if _is_held(one)]
        safe = [one for one in held if self._is_safe(one.held)]
        if len(safe) < len(held):
            self._put_back([one.held for one in held if one not in safe])
        if safe and (noted := self._noted(safe)):
            log.warning("tried_apart", members=[str(one.held.member) for one in noted])
            self._engine.submit([one.call for one in noted])
            until = self._clock.monotonic() + self._longest_s
            while self._clock.monotonic() < until and any(_is_held(one) for one in noted):
                self._clock.sleep(LOOK_EACH_S)

    def _noted(self, group: list[Suspect]) -> list[Suspect]:
        """Have Redis know who is to blame should this process die now; return them, let go of whom it does not know."""
        noted: dict[tuple[SliceOrLane, str], set[Member]] = {}
        try:
            noted = self._slices.try_apart(by_claim(one.held for one in group), deaths_then(group))
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", members=len(group), error=str(error))
        known = [
            one
            for one in group
            if one.held.member in noted.get((one.held.claim.stands_in, one.held.claim.id), ())
        ]
        let_go(one.held for one in group if one not in known)
        return known

    def _put_back(self, helds: Sequence[Held]) -> None:
        """Give them back to their slices; where Redis is away their leases run out, which blames none of them."""
        now = int(self._clock.now_ms())
        try:
            for (slice_, claim_id), members in by_claim(helds).items():
                self._slices.put_back(slice_, claim_id, [DueMember(member, now) for member in members])
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", members=len(helds), error=str(error))
        let_go(helds)

    def _start(self) -> None:
        Thread(target=self._run, name="quarantine", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.try_all()


def _is_held(suspect: Suspect) -> bool:
    return suspect.held.claim.holds(suspect.held.member)


def groups_of(suspects: Iterable[Suspect]) -> Iterator[list[Suspect]]:
    """Yield what is tried together: fewer, the more executors died on them."""
    by_deaths = sorted(suspects, key=lambda one: one.deaths)
    for deaths, alike in groupby(by_deaths, lambda one: one.deaths):
        rest = list(alike)
        size = _size(deaths, len(rest))
        yield from (rest[start : start + size] for start in range(0, len(rest), size))


def _size(deaths: int, waiting: int) -> int:
    if waiting <= FEW or deaths > APART_AFTER + 1:
        return 1
    return FEW if waiting <= SOME or deaths > APART_AFTER else SOME


def deaths_then(group: Collection[Suspect]) -> int:
    """Return how many executors have died on each of a group, should it kill this one."""
    return LAST_DEATH if len(group) == 1 else 1 + max(one.deaths for one in group)
