"""Firings attempted once more because somebody asked."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.world import APP, World
from wangtimer.core.errors import InvalidInput
from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.demands import REPLAYS_A_TRANSACTION
from wangtimer.store.sql.firing_lists import FiringFilter
from wangtimer.store.sql.firings import FiringRecord
from wangtimer.timers.on_demand import LATEST_START_DAYS, Rate, Replayed

FAILED, SKIPPED, PENDING, SUCCEEDED = (
    FiringStatus.FAILED,
    FiringStatus.SKIPPED,
    FiringStatus.PENDING,
    FiringStatus.SUCCEEDED,
)
FAST = Rate(1_000)
# Five attempts, 1, 2, 4 and 8 s apart, give or take a fifth.
GIVEN_UP_S = 25


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """Firings have failed after five attempts."""
    return make_world(most_attempts=5).start()


@pytest.fixture
def failed(world: World) -> Timer:
    """A timer of which three firings, a minute apart, have failed; the target is well again."""
    timer = world.timer("0 * * * * *")
    world.target.answer = lambda arrival: Answer(500)
    world.run_for(60 * 3)
    world.registrar.disable(APP, timer.id)
    world.run_for(GIVEN_UP_S)
    world.registrar.enable(APP, timer.id)
    world.target.answer = lambda arrival: Answer(200)
    world.target.arrivals.clear()
    return timer


def of(*statuses: FiringStatus, world: World) -> FiringFilter:
    return FiringFilter(APP, None, statuses, 0, world.now, is_living=True)


def replay_failed(world: World, rate: Rate = FAST) -> Replayed:
    return world.on_demand.replay_matching(of(FAILED, world=world), rate)


def keys_of(world: World, timer: Timer, status: FiringStatus) -> list[tuple[int, int]]:
    return [one.firing.member.key for one in world.records(timer) if one.firing.status is status]


def test_what_failed_is_attempted_again_with_the_same_id(world: World, failed: Timer) -> None:
    keys = keys_of(world, failed, FAILED)
    assert len(keys) >= 2
    done = replay_failed(world)
    assert (done.matched, len(done.firings), done.left, done.remaining) == (len(keys), len(keys), (), 0)
    world.run_for(10)
    assert set(keys_of(world, failed, SUCCEEDED)) >= set(keys)
    assert {arrival.firing_id for arrival in world.target.arrivals if arrival.attempt > 5} == {
        f"{timer_id}-{fire_at}" for timer_id, fire_at in keys
    }


def test_replays_go_out_so_many_a_second_the_oldest_first(world: World, failed: Timer) -> None:
    started_at = world.now
    done = replay_failed(world, Rate(1))
    dues = {firing.fire_at: firing.due_at for firing in done.firings}
    assert list(dues) == sorted(dues)
    assert [due_at - started_at for due_at in dues.values()] == [
        1_000 * number for number in range(len(dues))
    ]
    world.run_for(10)
    arrivals = [arrival for arrival in world.target.arrivals if arrival.attempt > 5]
    assert len(arrivals) == len(dues)
    assert all(0 <= arrival.at_ms - dues[arrival.fire_at] < 1_500 for arrival in arrivals)


def test_a_replay_begins_when_it_is_told_to(world: World, failed: Timer) -> None:
    start = world.now + 20_000
    assert replay_failed(world, Rate(1_000, start)).firings[0].due_at == start
    world.run_for(15)
    assert not [arrival for arrival in world.target.arrivals if arrival.attempt > 5]
    world.run_for(15)
    assert [arrival for arrival in world.target.arrivals if arrival.attempt > 5]


def test_a_start_more_than_a_week_ahead_is_refused(world: World, failed: Timer) -> None:
    keys, week_ms = keys_of(world, failed, FAILED), LATEST_START_DAYS * DAY_MS
    late, at_last = (Rate(1_000, world.now + week_ms + more) for more in (1, 0))
    wanted = of(FAILED, world=world)
    for dry_run in (True, False):
        for ask in (
            lambda: world.on_demand.replay_these(APP, keys, late, dry_run),  # noqa: B023 - called at once
            lambda: world.on_demand.replay_matching(wanted, late, dry_run),  # noqa: B023
            lambda: world.on_demand.backfill(APP, failed.id, world.now - DAY_MS, world.now, late, dry_run),  # noqa: B023
        ):
            with pytest.raises(InvalidInput, match="more than 7 days ahead") as refused:
                ask()
            assert refused.value.field == "startAt"
    assert keys_of(world, failed, FAILED) == keys
    assert replay_failed(world, at_last).firings


def test_asked_twice_it_is_attempted_once(world: World, failed: Timer) -> None:
    keys = keys_of(world, failed, FAILED)
    replay_failed(world)
    again = world.on_demand.replay_these(APP, keys, FAST)
    assert (again.matched, again.firings) == (0, ())
    assert {one.why for one in again.left} == {"it is pending"}
    assert replay_failed(world).matched == 0
    world.run_for(10)
    assert len([one for one in world.target.arrivals if one.attempt > 5]) == len(keys)


def test_a_disabled_timers_firings_are_replayed(world: World, failed: Timer) -> None:
    keys = keys_of(world, failed, FAILED)
    world.registrar.disable(APP, failed.id)
    world.on_demand.replay_these(APP, keys, FAST)
    world.run_for(10)
    assert set(keys) <= set(keys_of(world, failed, SUCCEEDED))


def test_a_replay_that_fails_has_all_its_retries_and_then_fails(world: World, failed: Timer) -> None:
    (key, *_) = keys_of(world, failed, FAILED)
    world.registrar.disable(APP, failed.id)
    world.target.answer = lambda arrival: Answer(500)
    world.on_demand.replay_these(APP, [key], FAST)
    world.run_for(GIVEN_UP_S + 5)
    (record,) = [one for one in world.records(failed) if one.firing.member.key == key]
    assert (record.firing.status, record.firing.attempt) == (FAILED, 105)
    assert [arrival.attempt for arrival in world.target.arrivals] == [101, 102, 103, 104, 105]


def test_without_redis_it_is_attempted_once_redis_is_back(world: World, failed: Timer) -> None:
    keys = keys_of(world, failed, FAILED)
    world.redis.away = True
    assert len(replay_failed(world).firings) == len(keys)
    world.run_for(30)
    world.redis.away = False
    world.run_for(40)
    assert len([one for one in world.target.arrivals if one.attempt > 5]) == len(keys)


def test_what_succeeded_or_is_unknown_is_left_alone(world: World, failed: Timer) -> None:
    other = world.once_in(2)
    world.run_for(10)
    (done,) = keys_of(world, other, SUCCEEDED)
    asked = [done, (other.id, 5), (99, 5)]
    answer = world.on_demand.replay_these(APP, asked, FAST)
    assert (answer.matched, len(answer.left)) == (0, 3)
    elsewhere = world.on_demand.replay_these("bank", keys_of(world, failed, FAILED), FAST)
    assert (elsewhere.matched, elsewhere.firings) == (0, ())


def test_a_deleted_timers_firings_are_not_replayed(world: World, failed: Timer) -> None:
    keys = keys_of(world, failed, FAILED)
    world.registrar.delete(APP, failed.id)
    assert world.on_demand.replay_these(APP, keys, FAST).matched == 0
    assert replay_failed(world).matched == 0


def test_what_was_skipped_is_replayed_only_where_it_is_asked_for(world: World) -> None:
    timer = world.timer("*/10 * * * * *")
    world.run_for(1)
    world.registrar.disable(APP, timer.id)
    world.run_for(30)
    skipped = keys_of(world, timer, SKIPPED)
    assert len(skipped) == 3
    assert replay_failed(world).matched == 0
    world.on_demand.replay_matching(of(SKIPPED, world=world), FAST)
    world.run_for(5)
    assert keys_of(world, timer, SUCCEEDED) == skipped
    records = [one for one in world.records(timer) if one.firing.member.key in skipped]
    assert {(one.firing.kind, one.firing.attempt, one.error) for one in records} == {
        (FiringKind.MANUAL, 101, "")
    }


def test_a_dry_run_changes_nothing(world: World, failed: Timer) -> None:
    keys = keys_of(world, failed, FAILED)
    counted = world.on_demand.replay_matching(of(FAILED, world=world), FAST, dry_run=True)
    named = world.on_demand.replay_these(APP, keys, FAST, dry_run=True)
    assert counted.matched == counted.remaining == named.matched == len(keys)
    assert keys_of(world, failed, FAILED) == keys


def test_many_are_replayed_in_several_transactions(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(executors=0)
    timer = world.created("* * * * * *")
    number = REPLAYS_A_TRANSACTION + 1
    since = world.now - number * 1_000
    world.on_demand.backfill(APP, timer.id, since, world.now, FAST)
    table = world.sql.table("firings")
    for key, record in list(table.items()):
        table[key] = _failed(record)
    monkeypatch.setattr("wangtimer.timers.on_demand.MOST_AT_ONCE", number - 1)
    done = replay_failed(world)
    assert (done.matched, len(done.firings), done.remaining) == (number, number - 1, 1)
    assert replay_failed(world).remaining == 0


def _failed(record: FiringRecord) -> FiringRecord:
    return replace(record, firing=record.firing._replace(status=FAILED))
