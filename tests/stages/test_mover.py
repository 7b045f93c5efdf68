"""Moving a firing to its lane: at each step it stands somewhere, and only who surely holds it moves it."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from tests.stages.test_keeper import LEASE_S, Keeping
from tests.stages.world import World
from tests.store.members import row_at
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.executor import mover
from wangtimer.executor.claim import Claim, Held
from wangtimer.executor.mover import Move, Mover
from wangtimer.executor.sql_rest import LONG_S, REST_S

LANE = SharedLane.of_way("shop", "a.test:80")
OTHER_LANE = SharedLane.of_way("shop", "b.test:80")


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
        for step in ("firings.note_lanes", "lanes.add", "lanes.enter", "slices.release", "slices.put_back"):
            node.taps[f"before {step}"] = lambda step=step: self.steps.append(step)
        self.mover = Mover(node.firings, node.hot, node.slices, world.time, LEASE_S)

    def move(self) -> None:
        self.mover.take(Move(Held(self.claim, self.member), LANE, self.member.fire_at))
        self.mover.move_all()

    def another(self) -> Claim:
        """Return a claim on a member of another timer, taken to move to another lane."""
        row = row_at(self.world.now + 600, 7)
        self.world.firings.insert([row])
        now = self.world.time.monotonic()
        claim = Claim(row.slice, "mine/other", [row.member], now, now + 60)
        self.mover.take(Move(Held(claim, row.member), OTHER_LANE, row.fire_at))
        return claim

    @property
    def stands_in(self) -> set[str]:
        tables = self.world.redis.table("slices")
        return {slice_.tag for slice_, sets in tables.items() if sets.holds(self.member)}


@pytest.fixture
def moving(make_world: Callable[..., World]) -> Moving:
    return Moving(make_world(executors=0))


def test_the_row_is_noted_first_then_the_lane_has_it_then_it_is_released(moving: Moving) -> None:
    moving.move()
    assert moving.steps == ["firings.note_lanes", "lanes.add", "lanes.enter", "slices.release"]
    assert moving.stands_in == {LANE.tag}
    assert not moving.claim.open_members()


def test_what_may_not_be_ours_any_more_is_let_go_of_and_moved_by_nobody(moving: Moving) -> None:
    moving.world.run_for(LEASE_S - 0.5)
    moving.move()
    assert moving.steps == []
    assert not moving.claim.open_members()


def test_what_a_frozen_process_notes_of_a_member_that_others_have_by_now_it_takes_back(
    moving: Moving,
) -> None:
    """Who has it may be calling it: from the lane it would be called once more."""
    moving.world.api.taps["after firings.note_lanes"] = lambda: moving.world.time.sleep(LEASE_S)
    moving.move()
    assert moving.steps == ["firings.note_lanes"] * 2
    assert not moving.claim.open_members()
    row = moving.world.firings.rows([moving.member])[moving.member.key]
    assert (row.status, row.stands_in) == (FiringStatus.PENDING, moving.claim.stands_in)


def test_it_takes_it_back_to_the_lane_from_which_it_was_pulled(moving: Moving) -> None:
    moving.claim.stands_in = OTHER_LANE
    moving.world.api.taps["after firings.note_lanes"] = lambda: moving.world.time.sleep(LEASE_S)
    moving.move()
    row = moving.world.firings.rows([moving.member])[moving.member.key]
    assert row.stands_in == OTHER_LANE


def test_while_sql_is_away_it_is_put_back_for_seconds(moving: Moving) -> None:
    moving.world.sql.away = True
    moving.move()
    assert moving.steps == ["firings.note_lanes", "slices.put_back"]
    sets = moving.world.redis.table("slices")[moving.claim.stands_in]
    assert list(sets.due.values()) == [moving.world.now + 3_000]


def test_what_fails_in_an_unforeseen_way_is_put_back_and_holds_up_no_other(moving: Moving) -> None:
    def stumble() -> None:
        raise RuntimeError("told to by the test")

    moving.world.api.taps["after firings.note_lanes"] = stumble
    moving.move()
    assert moving.steps == ["firings.note_lanes", "slices.put_back"]
    assert not moving.claim.open_members()


def test_where_redis_is_away_the_lease_runs_out(moving: Moving) -> None:
    moving.world.api.taps["after firings.note_lanes"] = lambda: setattr(moving.world.redis, "away", True)
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


def test_what_comes_together_is_noted_at_once_whatever_its_lanes(moving: Moving) -> None:
    other = moving.another()
    moving.move()
    assert moving.steps == ["firings.note_lanes", "lanes.add", "lanes.enter", "slices.release"]
    assert moving.world.redis.table("lanes").keys() == {LANE, OTHER_LANE}
    assert not moving.claim.open_members() + other.open_members()


def test_one_whose_row_somebody_holds_is_put_back_and_the_others_move(moving: Moving) -> None:
    other = moving.another()
    moving.world.sql.table("held")[moving.member.key] = True
    moving.move()
    assert moving.steps == [
        "firings.note_lanes",
        "lanes.add",
        "lanes.enter",
        "slices.release",
        "slices.put_back",
    ]
    assert moving.world.redis.table("lanes").keys() == {OTHER_LANE}
    assert moving.stands_in == {moving.claim.stands_in.tag}
    assert not moving.claim.open_members() + other.open_members()


def test_a_lane_that_fails_in_an_unforeseen_way_holds_up_no_other_and_keeps_no_place(moving: Moving) -> None:
    note_lanes = moving.world.firings.note_lanes

    def stumble() -> None:
        raise RuntimeError("told to by the test")

    def note(by_lane: Mapping[SharedLane, Sequence[Member]]) -> set[Member]:
        if OTHER_LANE in by_lane:
            stumble()
        return note_lanes(by_lane)

    moving.world.firings.note_lanes = note  # type: ignore[method-assign]
    moving.world.api.taps["before slices.put_back"] = stumble
    bad = moving.another()
    moving.move()
    assert moving.stands_in == {LANE.tag}
    assert not moving.claim.open_members() + bad.open_members()


def test_an_sql_that_hangs_is_asked_once_and_the_rest_of_what_is_to_move_is_put_back(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang() -> None:
        moving.steps.append("firings.note_lanes")
        moving.world.time.sleep(LONG_S)
        raise StoreAway("SQL", "hangs, as the test says")

    monkeypatch.setattr(mover, "MOST_AT_ONCE", 1)
    moving.world.api.taps["before firings.note_lanes"] = hang
    moving.another()
    moving.move()
    assert moving.steps == ["firings.note_lanes", "slices.put_back", "slices.put_back"]
    assert not moving.claim.open_members()
    moving.world.run_for(REST_S)
    moving.another()
    moving.mover.move_all()
    assert moving.steps[3] == "firings.note_lanes"


def test_what_is_to_move_is_put_back_while_the_movers_thread_waits_for_sql(moving: Moving) -> None:
    def hang() -> None:
        other = moving.another()
        moving.mover.relieve()
        assert other.open_members()
        moving.world.time.sleep(LONG_S)
        moving.mover.relieve()
        assert not other.open_members()

    moving.world.api.taps["before firings.note_lanes"] = hang
    moving.move()
    assert moving.steps[0] == "slices.put_back"
    assert moving.stands_in >= {LANE.tag}
