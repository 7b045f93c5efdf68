"""The trigger of users' tests turns as the real one: the loop around its turns is written twice."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from wangtimer.core.flow.credit import Credits
from wangtimer.core.flow.firing import Chunk, DueMember, Member
from wangtimer.core.flow.slicing import Slice
from wangtimer.store.redis.slices import Leases
from wangtimer.testing.doubles import HandClock, MemoryServer, MemorySlices
from wangtimer.testing.events import SteeredClock
from wangtimer.testing.stepped_trigger import SteppedTrigger
from wangtimer.trigger import ArmRule, Trigger

RULE = ArmRule(lead_ms=1_000, turn_ms=500, lock_ms=5_000, chunk_size=10, queue_most=40, catch_up_a_turn=5)
# The minute in which a clock by hand starts.
SLICE = Slice(30_000_000, 0)


class Told:
    """A trigger with slices of its own, and what it told whom, each with its moment."""

    def __init__(self, kind: type[Trigger], clock: HandClock, dues: dict[int, int]) -> None:
        self.clock = clock
        self.told: list[tuple[Any, ...]] = []
        slices = MemorySlices(MemoryServer("Redis", clock), clock, Leases(1_000, 5_000, 8_000, 6_000))
        members = [
            DueMember(Member(timer_id, SLICE.starts_at + after_ms, 1), SLICE.starts_at + after_ms)
            for timer_id, after_ms in dues.items()
        ]
        self._slices = slices
        slices.add({SLICE: members}, is_repair=False)
        self.trigger = kind(
            slices,
            self,
            self,
            self,
            clock,
            RULE,
            Credits(1_000),
            self._fire,
            lambda: 0,
            lambda: 1.0,
            lambda: slices.seconds_since_reconnect,
        )

    def _fire(self, chunk: Chunk) -> None:
        """Note a chunk, and be done with it at once."""
        self._note("chunk", chunk)
        members = [due.member for due in chunk.members]
        self._slices.claim(chunk.slice, "claim", members)
        self._slices.release({(chunk.slice, "claim"): members})

    def _note(self, *what: Any) -> None:
        self.told.append((self.clock.now_ms(), *what))

    def pending_of(self, slice_: Slice) -> list[Any]:
        self._note("reload", slice_)
        return []

    def add_all(self, firings: list[Any], is_repair: bool) -> None:
        assert firings == []

    def begin_closing(self, slice_: Slice, token: str, put_off_until: int) -> None:
        self._note("begin closing", slice_, token, put_off_until)

    def finish_closing(self, slice_: Slice, token: str, next_need: int | None) -> None:
        self._note("finish closing", slice_, token, next_need)


def really(dues: dict[int, int]) -> list[tuple[Any, ...]]:
    found = Told(Trigger, HandClock(), dues)
    found.trigger.watch(SLICE, "token", 1_000)
    return found.told


def in_steps(dues: dict[int, int]) -> list[tuple[Any, ...]]:
    clock = SteeredClock(HandClock().now_ms())
    clock.move_to(HandClock().now_ms())
    found = Told(SteppedTrigger, clock, dues)
    for pause_s in turns_of(found):
        clock.move_to(clock.now_ms() + pause_s * 1_000)
    return found.told


def turns_of(found: Told) -> Iterator[float]:
    assert isinstance(found.trigger, SteppedTrigger)
    return found.trigger.turns(SLICE, "token", 1_000)


@pytest.mark.parametrize("tell", [really, in_steps])
def test_it_arms_a_second_ahead_and_closes_at_the_end(tell: Callable[..., list[tuple[Any, ...]]]) -> None:
    told = tell({1: 2_000, 2: 2_500, 3: 30_000})
    chunks = [(at - SLICE.starts_at, len(what.members)) for at, kind, *(what, *_) in told if kind == "chunk"]
    assert all(at <= due for (at, _), due in zip(chunks, (2_000, 2_500), strict=False))
    assert told[-1][1] == "finish closing"


@pytest.mark.parametrize(
    "dues",
    [
        {},
        {1: 2_000},
        {1: 2_000, 2: 2_500, 3: 30_000},
        dict.fromkeys(range(40), 1_000),
        {number: 250 * number for number in range(200)},
    ],
    ids=["nothing", "one", "apart", "a crowd", "all through the minute"],
)
def test_it_tells_the_same_at_the_same_moments(dues: dict[int, int]) -> None:
    assert in_steps(dues) == really(dues)
