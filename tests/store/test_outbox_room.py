"""How much room the outbox has, and what that means for arming."""

import pytest

from tests.store.members import outcome_of
from tests.store.worlds import HotWorld
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Member
from wangtimer.store.redis.outbox import OutboxRoom
from wangtimer.testing.doubles import HandClock


class Filled:
    """An outbox of so many bytes."""

    def __init__(self) -> None:
        self.used: int | None = 0
        self.looks = 0

    def bytes(self) -> int:
        self.looks += 1
        if self.used is None:
            raise StoreAway("Redis", "away")
        return self.used


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.mark.parametrize(
    ("used", "share"),
    [(0, 1.0), (500, 1.0), (600, 0.8), (750, 0.5), (999, 0.002), (1_000, 0.0), (3_000, 0.0)],
)
def test_from_half_of_the_bound_on_less_is_armed(clock: HandClock, used: int, share: float) -> None:
    outbox = Filled()
    outbox.used = used
    assert OutboxRoom(outbox, 1_000, clock.monotonic).share() == pytest.approx(share)


def test_redis_is_asked_at_most_once_a_second(clock: HandClock) -> None:
    outbox = Filled()
    room = OutboxRoom(outbox, 1_000, clock.monotonic)
    for _ in range(10):
        room.share()
        clock.sleep(0.2)
    assert outbox.looks == 2


def test_while_redis_does_not_answer_what_it_said_last_holds(clock: HandClock) -> None:
    outbox = Filled()
    outbox.used = 750
    room = OutboxRoom(outbox, 1_000, clock.monotonic)
    room.share()
    outbox.used = None
    clock.sleep(1)
    assert room.share() == 0.5


def test_an_outbox_tells_about_how_much_memory_it_takes(hot: HotWorld) -> None:
    assert hot.outbox.bytes() == 0
    hot.outbox.park([outcome_of(Member(number, 60_000, 1), output="x" * 500) for number in range(1, 1_001)])
    assert 500_000 < hot.outbox.bytes() < 1_500_000
