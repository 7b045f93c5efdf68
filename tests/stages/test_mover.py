"""Moving a firing to its lane: at each step it stands somewhere, and only who surely holds it moves it."""

from collections.abc import Callable

import pytest

from tests.stages.test_keeper import LEASE_S, Keeping
from tests.stages.world import World
from tests.store.members import row_at
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.executor.claim import Held
from wangtimer.executor.mover import Move, Mover

LANE = SharedLane.of_host("a.test:80")


class Moving:
    """A mover by itself, and one member of a claim that is to move; `steps` are those of the stores, in order."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.keeping = Keeping(world, is_started=False)
        self.claim = self.keeping.claim(number=1)
        (self.member,) = self.claim.open_members()
        node = world.api
        world.firings.insert([row_at(self.member.fire_at, self.member.timer_id)])
        self.steps: list[str] = []
        for step in ("firings.note_lane", "lanes.add", "lanes.enter", "slices.release", "slices.put_back"):
            node.taps[f"before {step}"] = lambda step=step: self.steps.append(step)
        self.mover = Mover(node.firings, node.hot, node.slices, world.time, LEASE_S)

    def move(self) -> None:
        self.mover.take(Move(Held(self.claim, self.member), LANE, self.member.fire_at))
        self.mover.move_all()

    @property
    def stands_in(self) -> set[str]:
        tables = self.world.redis.table("slices")
        return {slice_.tag for slice_, sets in tables.items() if sets.holds(self.member)}


@pytest.fixture
def moving(make_world: Callable[..., World]) -> Moving:
    return Moving(make_world(executors=0))


def test_the_row_is_noted_first_then_the_lane_has_it_then_it_is_released(moving: Moving) -> None:
    moving.move()
    assert moving.steps == ["firings.note_lane", "lanes.add", "lanes.enter", "slices.release"]
    assert moving.stands_in == {LANE.tag}
    assert not moving.claim.open_members()


def test_what_may_not_be_ours_any_more_is_let_go_of_and_moved_by_nobody(moving: Moving) -> None:
    moving.world.run_for(LEASE_S - 0.5)
    moving.move()
    assert moving.steps == []
    assert not moving.claim.open_members()


def test_a_lease_that_runs_out_while_sql_is_slow_is_looked_at_once_more(moving: Moving) -> None:
    moving.world.api.taps["after firings.note_lane"] = lambda: moving.world.time.sleep(LEASE_S)
    moving.move()
    assert moving.steps == ["firings.note_lane"]
    assert not moving.claim.open_members()


def test_while_sql_is_away_it_is_put_back_for_seconds(moving: Moving) -> None:
    moving.world.sql.away = True
    moving.move()
    assert moving.steps == ["firings.note_lane", "slices.put_back"]
    sets = moving.world.redis.table("slices")[moving.claim.stands_in]
    assert list(sets.due.values()) == [moving.world.now + 3_000]


def test_what_fails_in_an_unforeseen_way_is_put_back_and_holds_up_no_other(moving: Moving) -> None:
    def stumble() -> None:
        raise RuntimeError("told to by the test")

    moving.world.api.taps["after firings.note_lane"] = stumble
    moving.move()
    assert moving.steps == ["firings.note_lane", "slices.put_back"]
    assert not moving.claim.open_members()


def test_where_redis_is_away_the_lease_runs_out(moving: Moving) -> None:
    moving.world.api.taps["after firings.note_lane"] = lambda: setattr(moving.world.redis, "away", True)
    moving.move()
    assert not moving.claim.open_members()
    assert moving.stands_in == {moving.claim.stands_in.tag}
    moving.world.redis.away = False
    row = moving.world.firings.rows([moving.member])[moving.member.key]
    assert (row.status, row.stands_in) == (FiringStatus.PENDING, LANE)


def test_what_was_pulled_from_the_same_lane_goes_back_to_its_moment_there(moving: Moving) -> None:
    moving.move()
    world = moving.world
    world.run_for(1)
    pulled = world.lanes.pull(LANE, "mine/2", 1, keep_leases=False)
    now = world.time.monotonic()
    moving.claim = type(moving.claim)(LANE, "mine/2", [pulled.dues[0].member], now, now + 60)
    moving.steps.clear()
    moving.move()
    assert moving.steps == ["slices.put_back"]
    assert world.redis.table("slices")[LANE].due == {moving.member: moving.member.fire_at}
