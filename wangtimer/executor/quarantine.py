"""The quarantine: firings that two executors died on are tried once more, apart from all others."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import NamedTuple

import structlog

from wangtimer.callback import Call, DeliveryEngine, PlainCall, Reply
from wangtimer.core.clock import Clock
from wangtimer.core.errors import StoreAway
from wangtimer.core.firing import DueMember, Member
from wangtimer.executor.claim import Claim, Held
from wangtimer.store.redis.slices import SliceStore

log = structlog.get_logger()

# Executors that died with a firing (or lost its lease otherwise) before it is tried apart; and before it has failed.
APART_AFTER = 2
LAST_DEATH = 5
# So few of a chunk are tried one by one, and so many in groups of so few; of more, groups as large. All that ran when
# an executor died twice may be here, and one by one each waits for the answers to those before it.
FEW = 8
SOME = 64


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
        self._waiting: SimpleQueue[list[Suspect]] = SimpleQueue()
        self._is_started = False
        self._starting = Lock()

    def take(self, suspects: Sequence[Suspect]) -> None:
        """Send these, all of one claim, when their turn comes."""
        for group in groups_of(suspects):
            self._waiting.put(group)
        with self._starting:
            if suspects and not self._is_started:
                self._is_started = True
                self._start()

    def try_next(self) -> None:
        """Send the next group, and wait until all of it is answered.

        What is not surely held when its turn comes is not tried, and so not blamed: it comes back.
        """
        group = self._waiting.get()
        claim = group[0].held.claim
        safe = {one.held.member: one for one in group if self._is_safe(one.held)}
        waiting = (one.held.member for one in group if claim.holds(one.held.member))
        if late := [member for member in waiting if member not in safe]:
            self._put_back(claim, late)
        noted = self._noted(claim, safe) if safe else []
        if noted:
            log.warning("tried_apart", members=[str(one.held.member) for one in noted])
            unanswered = _Unanswered(noted)
            self._engine.submit(unanswered.calls())
            unanswered.over.wait(self._longest_s)

    def _noted(self, claim: Claim, group: dict[Member, Suspect]) -> list[Suspect]:
        """Have Redis know who is to blame should this process die now; return them, let go of whom it does not know."""
        members = list(group)
        noted: set[Member] = set()
        try:
            noted = self._slices.try_apart(claim.slice, claim.id, members, deaths_then(group.values()))
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", members=len(members), error=str(error))
        claim.let_go(member for member in members if member not in noted)
        return [one for member, one in group.items() if member in noted]

    def _put_back(self, claim: Claim, members: list[Member]) -> None:
        """Give them back to their slice; where Redis is away their lease runs out, which blames none of them."""
        now = int(self._clock.now_ms())
        try:
            self._slices.put_back(claim.slice, claim.id, [DueMember(member, now) for member in members])
        except StoreAway as error:
            log.warning("quarantined_left_to_lease", members=len(members), error=str(error))
        claim.let_go(members)

    def _start(self) -> None:
        Thread(target=self._run, name="quarantine", daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self.try_next()
            except Exception:
                log.exception("quarantine_stumbled")


def groups_of(suspects: Iterable[Suspect]) -> Iterator[list[Suspect]]:
    """Yield what is tried together: fewer, the more executors died on them."""
    by_deaths = sorted(suspects, key=lambda one: one.deaths)
    for deaths, alike in groupby(by_deaths, lambda one: one.deaths):
        rest = list(alike)
        at_first = 1 if len(rest) <= FEW else FEW if len(rest) <= SOME else SOME
        size = min(at_first, SOME if deaths == APART_AFTER else FEW if deaths == APART_AFTER + 1 else 1)
        yield from (rest[start : start + size] for start in range(0, len(rest), size))


def deaths_then(group: Collection[Suspect]) -> int:
    """Return how many executors have died on each of a group, should it kill this one."""
    return LAST_DEATH if len(group) == 1 else 1 + max(one.deaths for one in group)


class _Unanswered:
    """The calls of a group, and whether all have ended. They end in the engine's thread, one after another."""

    def __init__(self, group: Sequence[Suspect]) -> None:
        self._group = group
        self._left = len(group)
        self.over = Event()

    def calls(self) -> list[Call]:
        """Return the group's calls, which tell when they have ended."""
        return [self._noting(one.call) for one in self._group]

    def _noting(self, call: Call) -> Call:
        def on_reply(replied: Call, reply: Reply) -> None:
            call.on_reply(replied, reply)
            self._left -= 1
            if not self._left:
                self.over.set()

        return PlainCall(call.request, call.due_at_ms, call.may_send, call.on_held_back, on_reply)
