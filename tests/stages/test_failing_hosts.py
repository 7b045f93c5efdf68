"""A host that fails in a row is tried by one call at a time; what waits for it uses no attempt, and says so."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.test_lanes import (
    GOOD,
    HUNG,
    NEVER,
    PLACES,
    arrivals_at,
    every_second,
    start_both,
    waiting_in,
)
from tests.stages.world import World
from wangtimer.callback.health import FAILING_AFTER, TRIED_AGAIN_S
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.slicing import SharedLane

MakeWorld = Callable[..., World]

REFUSED = Answer(None, error="not sent: could not connect", was_sent=False)
TURNED_AWAY = Answer(503)


def at_the_bad_host(answer: Answer) -> Callable[[Arrival], Answer]:
    return lambda arrival: answer if HUNG in arrival.request.url else Answer()


def started(make_world: MakeWorld, answer: Answer, executors: int = 1) -> World:
    world = make_world(executors=executors, places=PLACES)
    world.target.answer = at_the_bad_host(answer)
    return world.start()


@pytest.mark.parametrize(
    "answer", [REFUSED, pytest.param(TURNED_AWAY, marks=pytest.mark.test_all)], ids=["refuses", "503"]
)
def test_what_is_for_a_failing_host_waits_and_uses_no_attempt(make_world: MakeWorld, answer: Answer) -> None:
    world = started(make_world, answer)
    hung, _ = start_both(world)
    world.run_for(60)
    settling_s, tries_a_second = 10, 1 / TRIED_AGAIN_S
    later = [one for one in arrivals_at(world, HUNG) if one.at_ms > world.now - 1_000 * (60 - settling_s)]
    assert 5 <= len(later) <= 3 + (60 - settling_s) * tries_a_second
    records = [record for timer in hung for record in world.records(timer)]
    assert not [one for one in records if one.firing.status is FiringStatus.FAILED]
    assert waiting_in(world) >= 45 * len(hung)


def answering_but(app: str, answer: Answer) -> Callable[[Arrival], Answer]:
    """A target that gives this answer to one app, and answers all others."""
    return lambda arrival: answer if arrival.request.app == app else Answer()


@pytest.mark.parametrize("answer", [TURNED_AWAY, NEVER], ids=["503", "hangs"])
@pytest.mark.parametrize("rate", [3, pytest.param(20, marks=pytest.mark.test_all)])
def test_an_app_that_a_host_fails_holds_up_no_other_app_there(
    make_world: MakeWorld, answer: Answer, rate: int
) -> None:
    """All apps' firings for a host waited in one lane: 11 of 180 of the other app were called."""
    world = make_world(executors=1, places=(20, 1_000))
    world.target.answer = answering_but("bad", answer)
    world.start()
    every_second(world, "bad", [HUNG], rate)
    fine = every_second(world, "fine", [HUNG], 2)
    world.run_for(120)
    due = [one for timer in fine for one in world.records(timer) if one.firing.fire_at < world.now - 2_000]
    assert len(due) >= 220
    assert {one.firing.status for one in due} == {FiringStatus.SUCCEEDED}
    late = sorted(one.late_ms for one in world.target.arrivals if one.request.app == "fine")
    assert late[len(late) * 9 // 10] <= 50


def test_an_app_that_a_host_fails_leaves_another_its_limit_there(make_world: MakeWorld) -> None:
    world = make_world(executors=1, places=(20, 1_000))
    world.limits.write(CallLimits(to_one_host={"fine": CallLimit(per_second=5)}))
    world.target.answer = answering_but("bad", TURNED_AWAY)
    world.start()
    every_second(world, "bad", [HUNG], 5)
    every_second(world, "fine", [HUNG], 6)
    world.run_for(60)
    assert sum(one.request.app == "fine" for one in world.target.arrivals) >= 0.9 * 5 * 55


@pytest.mark.parametrize(
    "answer", [TURNED_AWAY, pytest.param(NEVER, marks=pytest.mark.test_all)], ids=["503", "hangs"]
)
def test_a_route_that_fails_stops_no_other_route_of_its_host_and_app(
    make_world: MakeWorld, answer: Answer
) -> None:
    world = make_world(executors=1, places=(20, 1_000))
    world.target.answer = lambda arrival: answer if "/bad" in arrival.request.url else Answer()
    world.start()
    every_second(world, "shop", [GOOD], 30, "bad")
    (fine,) = every_second(world, "shop", [GOOD], 1, "ok")
    world.run_for(90)
    called = [one for one in world.target.arrivals if one.request.url.endswith("/ok")]
    assert len(called) >= 85
    assert sorted(one.late_ms for one in called)[-10] <= 50
    assert max(one.late_ms for one in called) <= 12_000, "until the first time-outs"
    assert waiting_in(world, SharedLane.of_way("shop", f"{GOOD}:80", "/bad")) >= 30 * 45
    assert not [one for one in world.records(fine) if one.firing.lane.endswith("/bad shop")]


@pytest.mark.parametrize(
    "answer", [pytest.param(REFUSED, marks=pytest.mark.test_all), TURNED_AWAY], ids=["refuses", "503"]
)
def test_a_failing_host_that_answers_again_is_called_within_seconds(
    make_world: MakeWorld, answer: Answer
) -> None:
    world = started(make_world, answer)
    hung, _ = start_both(world)
    world.run_for(30)
    backlog = waiting_in(world)
    world.target.answer = lambda _arrival: Answer()
    back_at = world.now
    world.run_for(15)
    back = [one for one in arrivals_at(world, HUNG) if one.at_ms >= back_at]
    assert back[0].at_ms <= back_at + 1_000 * (TRIED_AGAIN_S + 2)
    assert len(back) >= backlog / 2
    world.run_for(60)
    overdue = [one for timer in hung for one in world.records(timer) if one.firing.due_at < world.now - 5_000]
    assert {one.firing.status for one in overdue} == {FiringStatus.SUCCEEDED}


def test_the_record_says_how_long_its_host_was_failing_while_a_firing_waited(make_world: MakeWorld) -> None:
    world = started(make_world, REFUSED)
    hung, good = start_both(world)
    world.run_for(30)
    world.target.answer = lambda _arrival: Answer()
    back_at = world.now
    world.run_for(60)
    called = [record for timer in hung for record in world.settled(timer)]
    waited = [one for one in called if back_at - 15_000 < one.firing.fire_at < back_at - 5_000]
    assert waited
    for one in waited:
        assert one.firing.lane
        assert back_at - one.firing.due_at <= (one.host_failing_ms or 0) <= (one.lateness_ms or 0)
    new = [one for one in called if one.firing.fire_at > world.now - 20_000]
    assert {one.host_failing_ms for one in new} == {None}
    assert {one.host_failing_ms for timer in good for one in world.settled(timer)} == {None}


def test_a_host_that_answers_with_errors_of_its_own_is_called_as_ever(make_world: MakeWorld) -> None:
    world = started(make_world, Answer(500))
    hung, _ = start_both(world)
    world.run_for(60)
    assert waiting_in(world) == 0
    first = [one for one in arrivals_at(world, HUNG) if one.attempt == 1]
    assert len(first) >= 55 * len(hung)
    assert max(one.late_ms for one in first) <= 50


def test_each_process_tries_a_failing_host_by_itself(make_world: MakeWorld) -> None:
    world = started(make_world, REFUSED, executors=2)
    start_both(world)
    world.run_for(60)
    late = [one for one in arrivals_at(world, HUNG) if one.at_ms > world.now - 40_000]
    by_process = Counter(one.process for one in late)
    assert len(by_process) == 2
    assert max(by_process.values()) <= 3 + 40 / TRIED_AGAIN_S


def test_a_timer_by_itself_makes_all_its_attempts_in_their_time(make_world: MakeWorld) -> None:
    world = started(make_world, REFUSED)
    (timer,) = every_second(world, "hog", [HUNG], 1)
    world.run_for(1)
    world.registrar.disable("hog", timer.id)
    world.run_for(30)
    tries = arrivals_at(world, HUNG)
    assert 1 <= len(tries) <= FAILING_AFTER * 2
    assert arrivals_at(world, GOOD) == []
