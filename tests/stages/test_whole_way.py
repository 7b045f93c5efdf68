"""A firing's whole way through every stage, on the best of days."""

from collections.abc import Callable
from random import Random

import pytest

from tests.stages.world import World
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.schedules.schedule import Once


@pytest.mark.test_all
def test_an_every_second_timer_fires_each_moment_of_an_hour_exactly_once_and_on_time(
    make_world: Callable[..., World],
) -> None:
    world = make_world(triggers=1, executors=1).start()
    timer = world.timer("* * * * * *")
    first = world.now + 1_000
    world.run_for(3_600.5)
    assert world.target.moments(timer.id) == list(range(first, first + 3_600_000, 1_000))
    assert {arrival.late_ms for arrival in world.target.arrivals} == {0}
    world.run_for(0.3)
    assert len(world.settled(timer)) == 3_600
    assert {record.firing.status for record in world.settled(timer)} == {FiringStatus.SUCCEEDED}


def test_a_thousand_single_moments_at_any_millisecond_fire_exactly_once_and_on_time(world: World) -> None:
    random = Random(1)
    moments = [world.now + random.randrange(1, 600_000) for _ in range(1_000)]
    timers = [world.timer(Once(moment)) for moment in moments]
    world.run_for(601)
    assert sorted(arrival.fire_at for arrival in world.target.arrivals) == sorted(moments)
    assert sorted(arrival.timer_id for arrival in world.target.arrivals) == [timer.id for timer in timers]
    assert {arrival.late_ms for arrival in world.target.arrivals} == {0}
    assert {world.record(timer).firing.status for timer in timers} == {FiringStatus.SUCCEEDED}
    assert world.members_in_slices == 0


@pytest.mark.test_all
def test_what_is_due_at_one_moment_in_many_buckets_fires_at_that_moment(
    make_world: Callable[..., World],
) -> None:
    world = make_world(firings_per_bucket=50, chunk_size=20).start()
    timers = [world.timer("0 * * * * *") for _ in range(300)]
    world.run_for(60)
    assert len(world.target.arrivals) == 300
    assert {arrival.late_ms for arrival in world.target.arrivals} == {0}
    assert {world.records(timer)[0].firing.bucket for timer in timers} == set(range(6))


def test_minute_boundaries_have_no_gap(world: World) -> None:
    moments = [world.now // 60_000 * 60_000 + 120_000 + offset for offset in range(-3, 4)]
    for moment in moments:
        world.timer(Once(moment))
    world.run_for(120)
    assert [arrival.at_ms for arrival in world.target.arrivals] == moments


def test_two_beats_change_nothing(world: World) -> None:
    world.beat.start(world)
    timer = world.timer("* * * * * *")
    world.run_for(90)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 89
    assert {arrival.late_ms for arrival in world.target.arrivals} == {0}


def test_a_stalled_beat_costs_at_most_its_stall(world: World) -> None:
    timer = world.timer("0 * * * * *")
    world.run_for(40)
    world.beat.process.freeze(30)
    world.run_for(120)
    late = [arrival.late_ms for arrival in world.target.of(timer.id)]
    assert 0 < late[0] < 30_000
    assert late[1:] == [0]


def test_idle_time_costs_the_same_whatever_is_planned_for_later(make_world: Callable[..., World]) -> None:
    costs = []
    for number in (1, 300):
        world = make_world().start()
        for _ in range(number):
            world.once_in(3_000)
        world.run_for(61)
        world.orders.clear()
        looks: list[str] = []
        for point in ("agenda.needs_until", "slices.lock", "slices.turn", "slices.claim"):
            for node in (world.beat, *world.trigger_nodes, *world.executor_nodes):
                node.taps[f"before {point}"] = lambda point=point, looks=looks: looks.append(point)
        world.run_for(55)
        costs.append((len(looks), len(world.orders)))
    assert costs[0] == costs[1] == (55, 0)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_dies_freezes_or_is_lost_every_firing_gets_its_outcome_and_none_is_early(
    make_world: Callable[..., World], seed: int
) -> None:
    random = Random(seed)
    world = make_world(triggers=3, executors=3).start()
    every_second = world.timer("* * * * * *")
    singles = [world.once_in(random.uniform(1, 60)) for _ in range(40)]
    for _ in range(random.randint(1, 3)):
        world.run_for(random.uniform(0, 20))
        _strike(world, random)
    world.run_for(10)
    world.sql.away = world.redis.away = False
    world.chunk_road, world.trigger_road = lambda chunk: [chunk], lambda order: [order]
    world.run_for(180)
    assert all(world.record(timer).firing.status is FiringStatus.SUCCEEDED for timer in singles)
    passed = [one for one in world.records(every_second) if one.firing.fire_at < world.now - 40_000]
    assert {one.firing.status for one in passed} == {FiringStatus.SUCCEEDED}
    assert len(passed) >= 90
    assert min(arrival.late_ms for arrival in world.target.arrivals) >= 0
    last = [arrival.late_ms for arrival in world.target.of(every_second.id)][-30:]
    assert set(last) == {0}


def _strike(world: World, random: Random) -> None:
    """Do one thing that production does sooner or later."""
    node = random.choice([*world.trigger_nodes[:2], *world.executor_nodes[:2]])
    random.choice(
        [
            node.process.kill,
            lambda: node.process.freeze(random.uniform(0.1, 12)),
            lambda: world.beat.process.freeze(random.uniform(0.1, 12)),
            world.redis.lose,
            lambda: world.redis.lose(random.choice(["slices", "agenda", "definitions"])),
            lambda: setattr(world.sql, "away", True),
            lambda: setattr(world.redis, "away", True),
            lambda: setattr(world, "chunk_road", lambda chunk: [chunk] * random.randint(0, 2)),
            lambda: setattr(world, "trigger_road", lambda order: [order] * random.randint(0, 2)),
        ]
    )()
