"""The answer of a disable or delete is true: what it calls cancelled is not called, on either side of the bound."""

from typing import Any

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.world import APP, World
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.stopped_moment import StoppedMoment, StopState
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.change_delay import COUNTS_WITHIN_MS
from wangtimer.core.timers.timer import Timer

SOON_MS = 1_500


def stop(world: World, timer: Timer, verb: str = "disable") -> StoppedMoment | None:
    stopped = getattr(world.registrar, verb)(APP, timer.id)
    return world.stops.of([stopped]).get(timer.id)


@pytest.mark.parametrize("verb", ["disable", "delete"])
@pytest.mark.parametrize("ahead_ms", [SOON_MS + 1, SOON_MS + 500, 5_000])
def test_what_is_cancelled_is_not_called(world: World, verb: str, ahead_ms: int) -> None:
    timer = world.once_in(20)
    at = world.now + 20_000
    world.run_to(at - ahead_ms)
    assert stop(world, timer, verb) == (timer.id, at, StopState.CANCELLED)
    world.run_for(60)
    assert world.target.of(timer.id) == []
    assert world.record(timer).firing.status is FiringStatus.SKIPPED


@pytest.mark.parametrize("ahead_ms", [SOON_MS, 1_000, 400, 1])
def test_what_is_near_may_be_on_its_way(world: World, ahead_ms: int) -> None:
    timer = world.once_in(20)
    at = world.now + 20_000
    world.run_to(at - ahead_ms)
    assert stop(world, timer) == (timer.id, at, StopState.IN_FLIGHT)
    world.run_for(60)
    assert len(world.target.of(timer.id)) <= 1
    assert world.record(timer).firing.status is not FiringStatus.PENDING


def test_it_is_called_in_flight_for_a_reason(world: World) -> None:
    timer = world.once_in(20)
    world.run_to(world.now + 19_900)
    stopped = stop(world, timer)
    world.run_for(10)
    assert stopped is not None
    assert (stopped.state, len(world.target.of(timer.id))) == (StopState.IN_FLIGHT, 1)


def test_what_was_called_has_fired(world: World) -> None:
    timer = world.once_in(20)
    at = world.now + 20_000
    world.run_for(25)
    for verb in ("disable", "disable", "delete"):
        assert stop(world, timer, verb) == (timer.id, at, StopState.ALREADY_FIRED)


@pytest.mark.parametrize("verb", ["disable", "delete"])
def test_a_retry_that_waits_is_cancelled_where_no_attempt_was_sent(world: World, verb: str) -> None:
    world.target.answer = lambda _: Answer(None, error="connection refused", was_sent=False)
    timer = world.once_in(20)
    at = world.now + 20_000
    world.run_to(at + 4_000)
    tried = len(world.target.of(timer.id))
    assert (tried, world.record(timer).first_sent_at) == (3, None)
    assert stop(world, timer, verb) == (timer.id, at, StopState.CANCELLED)
    world.run_for(60)
    assert len(world.target.of(timer.id)) == tried
    assert world.record(timer).firing.status is FiringStatus.SKIPPED


def test_what_failed_and_was_never_sent_has_no_moment_to_stop(world: World) -> None:
    world.target.answer = lambda _: Answer(None, error="connection refused", was_sent=False)
    timer = world.once_in(20)
    world.run_for(20 * 60)
    assert world.record(timer).firing.status is FiringStatus.FAILED
    assert stop(world, timer) is None


@pytest.mark.parametrize("verb", ["disable", "delete"])
def test_of_a_timer_that_was_never_enabled_nothing_can_be_on_its_way(world: World, verb: str) -> None:
    assert stop(world, world.created("* * * * * *"), verb) is None


@pytest.mark.parametrize("verb", ["disable", "delete"])
@pytest.mark.parametrize(
    ("off_for_ms", "state"), [(COUNTS_WITHIN_MS, StopState.IN_FLIGHT), (COUNTS_WITHIN_MS + 1, None)]
)
def test_of_one_that_is_off_for_long_enough_nothing_can_be_either(
    world: World, verb: str, off_for_ms: int, state: StopState | None
) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(20)
    world.registrar.disable(APP, timer.id)
    world.run_to(world.now + off_for_ms)
    stopped = stop(world, timer, verb)
    assert (stopped and stopped.state) == state


def test_what_redis_may_not_know_of_is_told_however_long_the_timer_is_off(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(20)
    world.registrar.disable(APP, timer.id)
    world.run_for(60)

    def cut() -> None:
        raise StoreAway("redis", "cut off")

    world.api.taps["before definitions.get"] = cut
    stopped = stop(world, timer)
    assert stopped is not None
    assert stopped.state is StopState.IN_FLIGHT


def test_an_enabled_timer_that_is_deleted_is_told_in_flight(world: World) -> None:
    timer = world.once_in(20)
    at = world.now + 20_000
    world.run_to(at - 500)
    assert stop(world, timer, "delete") == (timer.id, at, StopState.IN_FLIGHT)


@pytest.mark.parametrize("verb", ["disable", "delete"])
@pytest.mark.parametrize("after_ms", [200, SOON_MS, SOON_MS + 200])
def test_what_one_stop_cancelled_is_cancelled_for_the_next(world: World, verb: str, after_ms: int) -> None:
    """A delete right after a disable answered `in_flight`: the moment had come near meanwhile, or was just over."""
    timer = world.once_in(20)
    at = world.now + 20_000
    world.run_to(at - SOON_MS - 100)
    assert stop(world, timer) == (timer.id, at, StopState.CANCELLED)
    world.run_to(world.now + after_ms)
    assert stop(world, timer, verb) == (timer.id, at, StopState.CANCELLED)
    world.run_for(60)
    assert world.target.of(timer.id) == []


def test_a_timer_that_was_enabled_in_between_may_be_on_its_way(world: World) -> None:
    timer = world.once_in(20)
    at = world.now + 20_000
    world.run_to(at - SOON_MS - 400)
    assert stop(world, timer) == (timer.id, at, StopState.CANCELLED)
    world.run_to(world.now + 100)
    world.registrar.enable(APP, timer.id)
    world.run_to(at - 1_000)
    assert stop(world, timer, "delete") == (timer.id, at, StopState.IN_FLIGHT)


def test_disabling_twice_answers_the_same(world: World) -> None:
    timer = world.once_in(20)
    assert stop(world, timer) == stop(world, timer)


def test_of_a_schedule_it_is_the_next_moment(world: World) -> None:
    timer = world.timer("0 * * * * *")
    world.run_for(90)
    following = (world.now // 60_000 + 1) * 60_000
    assert stop(world, timer) == (timer.id, following, StopState.CANCELLED)


def test_what_redis_was_not_told_is_not_promised(world: World) -> None:
    """The API alone is cut off from Redis: the old definition goes on being fired until the sweep tells Redis."""
    near, far = world.once_in(20), world.timer(Once(world.now + 120_000))

    def cut() -> None:
        raise StoreAway("redis", "cut off")

    for call in ("definitions.put", "definitions.get", "hot.add"):
        world.api.taps[f"before {call}"] = cut
    at = world.now + 20_000
    world.run_to(at - SOON_MS - COUNTS_WITHIN_MS)
    assert stop(world, near) == (near.id, at, StopState.IN_FLIGHT)
    stopped = stop(world, far)
    assert stopped is not None
    assert stopped.state is StopState.CANCELLED
    world.run_for(180)
    assert world.target.of(far.id) == []


def test_where_sql_is_away_after_the_change_nothing_is_said(world: World) -> None:
    timer = world.once_in(20)
    changed = world.registrar.disable(APP, timer.id)

    def away(*_: Any) -> None:
        raise StoreAway("sql", "frozen")

    world.api.taps["before firing_lists.latest_scheduled"] = away
    assert world.stops.of([changed]) == {}


def test_a_timer_that_cannot_be_planned_here_leaves_the_others_their_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = world.timer("0 9 * * *"), world.once_in(60)
    changed = [world.registrar.disable(APP, timer.id) for timer in (bad, good)]

    def unknown_zone(*_: Any) -> None:
        raise KeyError("Mars/Base")

    monkeypatch.setattr("wangtimer.core.cron.cron.Cron.first_after", unknown_zone)
    assert list(world.stops.of(changed)) == [good.id]
