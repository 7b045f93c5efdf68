"""Faults of xTimer, the Go system this one succeeds; none of them is here."""

import json
from collections.abc import Callable

import pytest

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.world import APP, World
from wangtimer.core.flow.firing import FiringStatus
from wangtimer.core.flow.queues import CALLBACK
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Timer

SUCCEEDED, FAILED = FiringStatus.SUCCEEDED, FiringStatus.FAILED
MINUTE_MS, HOUR_MS = 60_000, 3_600_000


def moments_of(world: World, timer: Timer, start: int, end: int) -> list[int]:
    """Return what a timer's schedule says, between these moments."""
    return timer.definition.schedule.moments(start, end, 1_000_000)


def only(world: World, timer: Timer) -> Arrival:
    (arrival,) = world.target.of(timer.id)
    return arrival


# planning


def test_xtimer_fault_a_window_expanded_one_point_too_far_and_a_duplicate_that_failed_the_whole_insert(
    make_world: Callable[..., World],
) -> None:
    """`5,15,...,55 * * * *` lost 25 of 70 firings."""
    world = make_world(executors=1, triggers=1).start()
    timer = world.timer("5,15,25,35,45,55 * * * *")
    start = world.now
    world.run_for(4 * 3_600)
    expected = moments_of(world, timer, start, world.now)
    assert len(expected) == 24
    assert world.target.moments(timer.id) == expected
    assert {arrival.late_ms for arrival in world.target.arrivals} == {0}
    planned = [record.firing.fire_at for record in world.records(timer)]
    assert planned == moments_of(world, timer, start, planned[-1])


@pytest.mark.parametrize("minutes", [0.01, 0.5, 1, 59, 60, 61, 119.99, 120, 121])
def test_xtimer_fault_a_single_moment_within_two_hours_could_not_be_enabled(
    make_world: Callable[..., World], minutes: float
) -> None:
    world = make_world(executors=1).start()
    timer = world.once_in(minutes * 60)
    world.run_for(minutes * 60 + 2)
    assert only(world, timer).late_ms == 0


def test_xtimer_fault_the_migrator_slept_five_seconds_a_timer(make_world: Callable[..., World]) -> None:
    world = make_world(executors=0)
    timers = [world.timer("0 * * * *") for _ in range(1_000)]
    started_at = world.now
    assert world.beat.migrator.plan_due() == 1_000
    assert world.now == started_at
    assert all(len(world.records(timer)) == 2 for timer in timers)


@pytest.mark.parametrize("hours", [0.1, 1, 2, 5])
def test_xtimer_fault_a_restart_dropped_an_hour_because_the_migrator_did_not_run_at_start(
    make_world: Callable[..., World], hours: float
) -> None:
    world = make_world(executors=1, triggers=1).start()
    timer = world.timer("*/5 * * * *")
    start = world.now
    world.run_for(100)
    world.beat.process.freeze(hours * 3_600)
    world.run_for(hours * 3_600 + 1_200)
    sent = world.target.moments(timer.id)
    assert sorted(sent) == moments_of(world, timer, start, world.now)
    assert world.target.of(timer.id)[-1].late_ms == 0


# recovery


def test_xtimer_fault_recovery_looked_back_one_minute_only(make_world: Callable[..., World]) -> None:
    """With the whole of it down for ten minutes, and Redis empty when it comes back."""
    world = make_world(executors=1, triggers=1).start()
    timer = world.timer("*/10 * * * * *")
    start = world.now
    world.run_for(61)
    for node in (world.beat, *world.trigger_nodes, *world.executor_nodes):
        node.process.freeze(600)
    world.redis.lose()
    world.run_for(600)
    back_at = world.now
    world.run_for(60)
    sent = world.target.moments(timer.id)
    assert sorted(sent) == moments_of(world, timer, start, world.now)
    missed = [arrival for arrival in world.target.of(timer.id) if arrival.fire_at < back_at - 1_000]
    assert max(arrival.at_ms for arrival in missed) < back_at + 20_000


def test_xtimer_fault_recovery_replayed_at_normal_speed(make_world: Callable[..., World]) -> None:
    world = make_world(executors=1, triggers=1).start()
    timer = world.timer("* * * * * *")
    world.run_for(30)
    world.beat.process.freeze(130)
    world.run_for(145)
    assert len(world.target.of(timer.id)) >= 174
    assert {arrival.late_ms for arrival in world.target.of(timer.id)[-5:]} == {0}


def test_xtimer_fault_a_slice_taken_over_late_shifted_its_whole_minute(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(20)
    for node in world.trigger_nodes:
        node.process.freeze(15)
    world.run_for(60)
    late = {arrival.fire_at: arrival.late_ms for arrival in world.target.of(timer.id)}
    assert max(late.values()) > 5_000
    caught_up_at = max(fire_at for fire_at, late_ms in late.items() if late_ms)
    assert caught_up_at % MINUTE_MS < 55_000
    assert len(late) >= 79


# doubles


def test_xtimer_fault_without_a_claim_duplicates_passed(world: World) -> None:
    """A chunk is delivered five times, over a minute, to every process."""

    def five_times(chunk: object) -> list:
        for second in (0.001, 0.5, 1.5, 8, 50):
            world.time.at(
                world.now + second * 1_000, world.api.process, lambda: world._take_chunk(CALLBACK, chunk)
            )
        return []

    world.chunk_road = five_times
    timer = world.timer("*/3 * * * * *")
    world.run_for(120)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) == 40


# what is called, and what is made of the answer


def test_xtimer_fault_no_timer_id_moment_or_attempt_reached_the_callee(world: World) -> None:
    world.target.answer = lambda arrival: Answer(500 if arrival.attempt == 1 else 200)
    timer = world.once_in(5)
    fire_at = world.record(timer).firing.fire_at
    world.run_for(10)
    first, second = (arrival.headers for arrival in world.target.of(timer.id))
    assert first["webhook-id"] == second["webhook-id"] == f"{timer.id}-{fire_at}"
    assert first["X-WangTimer-Timer"] == str(timer.id)
    assert first["X-WangTimer-Fire-At"] == str(fire_at)
    assert (first["X-WangTimer-Attempt"], second["X-WangTimer-Attempt"]) == ("1", "2")
    assert first["X-WangTimer-App"] == APP


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ('{"order": 7, "note": "grüße"}', "application/json"),
        ('"text"', "application/json"),
        ("[1,2]", "application/json"),
        ("plain words", "text/plain; charset=utf-8"),
    ],
)
def test_xtimer_fault_the_body_was_json_encoded_twice(world: World, body: str, content_type: str) -> None:
    timer = world.timer(Once(world.now + 5_000), body=body)
    world.run_for(6)
    arrival = only(world, timer)
    assert arrival.request.body == body.encode()
    assert arrival.headers["Content-Type"] == content_type
    if content_type == "application/json":
        assert json.loads(arrival.request.body) == json.loads(body)


def test_the_owner_s_content_type_and_headers_are_kept_in_their_order(world: World) -> None:
    headers = (("X-B", "1"), ("content-type", "application/xml"), ("X-A", "2"), ("X-B", "3"))
    timer = world.timer(Once(world.now + 5_000), body="<a/>", headers=headers, method="PUT")
    world.run_for(6)
    request = only(world, timer).request
    assert request.headers[:4] == headers
    assert sum(name.lower() == "content-type" for name, _ in request.headers) == 1
    assert request.method == "PUT"


@pytest.mark.parametrize("http_status", [200, 201, 202, 204, 206, 299])
def test_xtimer_fault_204_counted_as_a_failure(world: World, http_status: int) -> None:
    world.target.answer = lambda _arrival: Answer(http_status)
    timer = world.once_in(5)
    world.run_for(30)
    assert only(world, timer)
    assert (world.record(timer).firing.status, world.record(timer).http_status) == (SUCCEEDED, http_status)


@pytest.mark.parametrize("http_status", [199, 301, 400, 404, 429, 500, 503])
def test_xtimer_fault_the_http_status_was_ignored(world: World, http_status: int) -> None:
    world.target.answer = lambda _arrival: Answer(http_status)
    timer = world.once_in(5)
    world.run_for(20 * 60)
    assert len(world.target.of(timer.id)) == 11
    assert (world.record(timer).firing.status, world.record(timer).http_status) == (FAILED, http_status)
    assert world.record(timer).error == f"HTTP {http_status}"


@pytest.mark.parametrize("length", [0, 255, 256, 257, 1_024, 1_025, 100_000])
def test_xtimer_fault_an_output_over_256_characters_left_the_row_not_run(world: World, length: int) -> None:
    world.target.answer = lambda _arrival: Answer(output="x" * length)
    timer = world.once_in(5)
    world.run_for(10)
    record = world.record(timer)
    assert record.firing.status is SUCCEEDED
    assert record.output == "x" * min(length, 1_024)


def test_xtimer_fault_there_was_no_retry(world: World) -> None:
    world.target.answer = lambda arrival: Answer(500 if arrival.attempt < 3 else 200)
    timer = world.once_in(5)
    world.run_for(30)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2, 3]
    assert world.record(timer).firing.status is SUCCEEDED


# what it cost


def test_xtimer_fault_hundreds_of_redis_commands_a_second_when_idle(world: World) -> None:
    for _ in range(100):
        world.once_in(3_000)
    world.run_for(61)
    commands: list[str] = []
    for node in (world.beat, *world.trigger_nodes, *world.executor_nodes):
        for point in ("agenda.needs_until", "slices.lock", "slices.turn", "slices.renew", "outbox.page"):
            node.taps[f"before {point}"] = lambda point=point: commands.append(point)
    world.run_for(55)
    assert len(commands) / 55 < 1.5


@pytest.mark.test_all
def test_xtimer_fault_eleven_redis_commands_and_four_sql_statements_a_firing(world: World) -> None:
    for _ in range(200):
        world.timer("0 * * * * *")
    world.run_for(40)
    statements: list[str] = []
    for node in (*world.trigger_nodes, *world.executor_nodes):
        for point in (
            *(
                "slices.turn",
                "slices.claim",
                "slices.release",
                "slices.renew",
                "agenda.add",
                "definitions.get_first",
            ),
            *("firings.settle", "firings.rows", "timers.definitions", "outbox.holds"),
        ):
            node.taps[f"before {point}"] = lambda point=point: statements.append(point)
    world.run_for(10)
    assert len(world.target.arrivals) == 200
    assert len(statements) < 25
    assert statements.count("firings.settle") == 1
