from collections import Counter
from collections.abc import Callable

import pytest

from tests.stages.world import Beat, World
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.slicing import Slice
from wangtimer.store.redis.slices import BacklogRoom


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    """A deployment whose beat ticks only when the test says so, and whose triggers get no message."""
    world = make_world()
    world.trigger_road = lambda _order: []
    return world


def slices_of(world: World) -> list[Slice]:
    return [order.slice for order in world.orders]


def tick(world: World) -> int:
    """Tick, a second after the last time."""
    world.run_for(1)
    return world.beat.scheduler.tick()


def note(world: World, *needs: tuple[Slice, float]) -> None:
    """Put slices on the agenda, each so many seconds from now."""
    world.agenda.add([(slice_, world.now + int(seconds * 1_000)) for slice_, seconds in needs])


def test_a_slice_that_needs_a_trigger_within_two_seconds_gets_one_and_later_ones_wait(idle: World) -> None:
    near, far = Slice.at(idle.now, 0), Slice.at(idle.now, 1)
    note(idle, (near, 3), (far, 3.1))
    assert tick(idle) == 1
    assert slices_of(idle) == [near]


def test_a_slice_gets_no_second_trigger_while_the_first_may_hold_it(idle: World) -> None:
    slice_ = Slice.at(idle.now, 0)
    note(idle, (slice_, 0))
    assert [tick(idle) for _ in range(8)] == [1, 0, 0, 0, 0, 1, 0, 0]


def test_the_message_carries_the_token_that_holds_the_lock(idle: World) -> None:
    slice_ = Slice.at(idle.now, 0)
    note(idle, (slice_, 0))
    tick(idle)
    (order,) = idle.orders
    assert idle.slices.turn(slice_, "another", 10, False, BacklogRoom()) is None
    assert idle.slices.turn(slice_, order.token, 10, False, BacklogRoom()) is not None


def test_two_beats_send_one_trigger(idle: World) -> None:
    note(idle, (Slice.at(idle.now, 0), 0))
    other = Beat(idle)
    assert tick(idle) + other.scheduler.tick() == 1


def test_a_tick_after_a_long_pause_finds_everything(idle: World) -> None:
    tick(idle)
    start = Slice.at(idle.now, 0).minute
    needs = [(Slice(start + number, 0), 60.0 * number) for number in range(4)]
    note(idle, *needs)
    idle.run_for(200)
    while tick(idle):
        pass
    assert set(slices_of(idle)) == {slice_ for slice_, _ in needs}


def test_the_credit_of_a_minute_is_shared_by_its_slices(idle: World) -> None:
    minute = Slice.at(idle.now, 0).minute
    note(idle, *((Slice(minute, bucket), 0) for bucket in range(4)), (Slice(minute + 1, 0), 0))
    tick(idle)
    credits = {order.slice: order.credit for order in idle.orders}
    whole = idle.settings.arm_credit
    assert credits == {Slice(minute, bucket): whole // 4 for bucket in range(4)} | {
        Slice(minute + 1, 0): whole
    }


def test_every_slice_of_a_full_minute_may_arm_something(make_world: Callable[..., World]) -> None:
    world = make_world(arm_credit=3)
    world.trigger_road = lambda _order: []
    note(world, *((Slice.at(world.now, bucket), 0) for bucket in range(10)))
    tick(world)
    assert [order.credit for order in world.orders] == [1] * 10


def test_past_slices_are_worked_off_four_at_a_time_so_that_the_current_minute_does_not_starve(
    idle: World,
) -> None:
    minute = Slice.at(idle.now, 0).minute
    past = [Slice(minute - number, 0) for number in range(2, 22)]
    current = [Slice(minute, bucket) for bucket in range(3)]
    idle.agenda.add([(slice_, slice_.starts_at) for slice_ in past])
    note(idle, *((slice_, 0) for slice_ in current))
    tick(idle)
    assert set(slices_of(idle)) == {*current, *past[-4:]}


def test_catching_up_after_an_hour_keeps_the_present_on_time(world: World) -> None:
    late = world.timer("* * * * *")
    world.run_for(10)
    world.beat.process.freeze(3_600)
    world.run_for(3_600)
    timer = world.timer("* * * * * *")
    past_orders: Counter[int] = Counter()
    world.trigger_road = lambda order: (
        past_orders.update([world.now] if order.slice.ends_at < world.now - 60_000 else []) or [order]
    )
    world.run_for(60)
    assert max(arrival.late_ms for arrival in world.target.of(timer.id)) == 0
    assert len(world.target.of(timer.id)) >= 59
    assert len(world.target.of(late.id)) == 61
    assert max(past_orders.values()) == 4


def test_a_tick_without_redis_fails_and_the_next_one_makes_up_for_it(idle: World) -> None:
    note(idle, (Slice.at(idle.now, 0), 0))
    idle.redis.away = True
    with pytest.raises(StoreAway):
        tick(idle)
    idle.redis.away = False
    assert tick(idle) == 1


def test_an_idle_agenda_takes_no_locks_and_sends_nothing(idle: World) -> None:
    locked: list[int] = []
    idle.beat.taps["before slices.lock"] = lambda: locked.append(1)
    for _ in range(20):
        tick(idle)
    assert (locked, idle.orders) == ([], [])
