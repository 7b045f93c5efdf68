"""What goes wrong in production, one thing at a time, and what it may cost. Numbers are those of the model's FLAWS."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.stages.scripted_target import Answer
from tests.stages.timeline import Killed
from tests.stages.world import World
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.timers.timer import Timer

SUCCEEDED, FAILED, PENDING = FiringStatus.SUCCEEDED, FiringStatus.FAILED, FiringStatus.PENDING

LOCK_MS, ARMED_MS, RUNNING_MS, TICK_MS, LEAD_MS = 5_000, 8_000, 6_000, 1_000, 1_000
SWEEP_MS, SWEPT_AFTER_MS = 5_000, 5_000


def lateness(world: World, timer: Timer) -> list[float]:
    return [arrival.late_ms for arrival in world.target.of(timer.id)]


def lose_first(number: int) -> Callable[[Any], list[Any]]:
    """Return a road on which the first messages are lost."""
    lost: list[Any] = []

    def road(message: Any) -> list[Any]:
        if len(lost) < number:
            lost.append(message)
            return []
        return [message]

    return road


# messages


def test_a_lost_trigger_message_costs_a_lock_and_a_tick(world: World) -> None:
    timer = world.once_in(20)
    world.trigger_road = lose_first(1)
    world.run_for(60)
    (late_ms,) = lateness(world, timer)
    assert 0 <= late_ms <= LOCK_MS + TICK_MS


def test_a_lost_chunk_message_costs_the_rest_of_its_lease(world: World) -> None:
    timer = world.once_in(20)
    world.chunk_road = lose_first(1)
    world.run_for(60)
    (late_ms,) = lateness(world, timer)
    assert 0 < late_ms <= ARMED_MS + TICK_MS
    assert world.record(timer).firing.attempt == 1


def test_a_lost_chunk_of_an_every_second_timer_delays_nothing_behind_it(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(10)
    world.chunk_road = lose_first(1)
    world.run_for(40)
    late = lateness(world, timer)
    assert len([one for one in late if one > 0]) == 1
    assert len(late) == len(set(world.target.moments(timer.id))) >= 49


def test_doubled_messages_double_nothing(world: World) -> None:
    world.chunk_road = lambda chunk: [chunk] * 3
    world.trigger_road = lambda order: [order] * 3
    timer = world.timer("* * * * * *")
    world.run_for(90)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 89
    assert set(lateness(world, timer)) == {0}


def test_a_chunk_message_that_comes_a_minute_late_does_nothing(world: World) -> None:
    held: list[Any] = []
    world.chunk_road = lambda chunk: held.append(chunk) or []
    timer = world.once_in(10)
    world.run_for(12)
    world.chunk_road = lambda chunk: [chunk]
    world.run_for(60)
    for chunk in held:
        world.send_chunk(chunk)
    world.run_for(10)
    assert len(world.target.of(timer.id)) == 1


# deaths


def test_an_executor_that_dies_between_claim_and_send_costs_a_lease_and_a_tick(world: World) -> None:
    timer = world.once_in(20)
    world.executor_nodes[0].die_at("after slices.claim")
    world.run_for(60)
    (late_ms,) = lateness(world, timer)
    assert 0 < late_ms <= RUNNING_MS + TICK_MS + LEAD_MS
    assert world.record(timer).firing.status is SUCCEEDED


def test_an_executor_that_dies_between_send_and_record_may_send_again_with_the_same_id_and_attempt(
    world: World,
) -> None:
    timer = world.once_in(20)
    world.executor_nodes[0].die_at("before firings.settle")
    world.run_for(60)
    first, second = world.target.of(timer.id)
    assert (first.firing_id, first.attempt) == (second.firing_id, second.attempt)
    assert second.late_ms <= RUNNING_MS + 3 * TICK_MS
    assert world.record(timer).firing.status is SUCCEEDED


def test_an_executor_that_dies_after_it_recorded_is_not_followed_by_a_second_send(world: World) -> None:
    timer = world.once_in(20)
    world.executor_nodes[0].die_at("before slices.release")
    world.run_for(60)
    assert len(world.target.of(timer.id)) == 1
    assert world.members_in_slices == 0


def test_flaw_4_an_executor_that_dies_before_it_added_the_retry_does_not_lose_it(world: World) -> None:
    world.target.answer = lambda arrival: Answer(500 if arrival.attempt == 1 else 200)
    timer = world.once_in(20)
    world.executor_nodes[0].die_at("before slices.add")
    world.run_for(60)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2]
    assert lateness(world, timer)[1] <= RUNNING_MS + 3 * TICK_MS
    assert world.record(timer).firing.status is SUCCEEDED


def test_what_a_dead_executor_held_is_sent_soon_however_many_long_callbacks_run(
    make_world: Callable[..., World],
) -> None:
    world = make_world(callback_timeout_ms=300_000, firings_per_bucket=1).start()
    world.target.answer = lambda _arrival: Answer(after_ms=200_000)
    for _ in range(16):
        world.timer("* * * * *")
    world.run_for(310)
    dead = world.executor_nodes[0]
    held = {member for claim in dead.claims.current() for member in claim.open_members()}
    assert len({member.fire_at for member in held}) >= 3
    before = len(world.target.arrivals)
    dead.process.kill()
    world.run_for((RUNNING_MS + TICK_MS + SWEEP_MS) / 1_000)
    again = world.target.arrivals[before:]
    assert held <= {Member(one.timer_id, one.fire_at, one.attempt) for one in again}


def test_a_trigger_that_dies_costs_a_lock_and_a_tick_and_what_is_due_later_is_on_time(
    make_world: Callable[..., World],
) -> None:
    world = make_world(triggers=2).start()
    timer = world.timer("* * * * * *")
    world.run_for(20)
    holder = next(node for node in world.trigger_nodes if world.time.tasks_of(node.process))
    holder.process.kill()
    world.run_for(40)
    late = lateness(world, timer)
    assert 0 < max(late) <= LOCK_MS + TICK_MS
    assert set(late[-25:]) == {0}
    assert len(late) == len(set(world.target.moments(timer.id))) >= 59


def test_a_trigger_that_dies_between_arming_and_sending_costs_the_armed_lease(world: World) -> None:
    timer = world.once_in(20)
    died: list[bool] = []
    road = world.chunk_road

    def die_once(chunk: Any) -> list[Any]:
        if died:
            return road(chunk)
        died.append(True)
        raise Killed

    world.chunk_road = die_once
    world.run_for(60)
    (late_ms,) = lateness(world, timer)
    assert late_ms <= ARMED_MS + TICK_MS + LEAD_MS


def test_flaw_10_an_api_that_dies_after_its_commit_costs_seconds(world: World) -> None:
    world.api.die_at("after timers.enable")
    timer = world.created("* * * * * *")
    with pytest.raises(Killed):
        world.registrar.enable("shop", timer.id)
    world.run_for(80)
    late = lateness(world, timer)
    assert max(late) <= SWEPT_AFTER_MS + SWEEP_MS + RUNNING_MS + 2 * TICK_MS
    assert len(late) == len(set(world.target.moments(timer.id))) >= 75


# freezes


def test_flaw_11_a_frozen_executor_sends_nothing_once_its_lease_is_over(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=1).start()
    frozen = world.executor_nodes[0]
    timer = world.once_in(20)
    world.run_for(19.8)
    assert frozen.claims.current()
    frozen.process.freeze(9)
    world.start_executor("next")
    world.run_for(60)
    (arrival,) = world.target.of(timer.id)
    assert arrival.process == "next"
    assert frozen.claims.current() == []


def test_an_executor_frozen_for_less_than_its_lease_sends_late_and_nobody_else_does(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=1).start()
    frozen = world.executor_nodes[0]
    timer = world.once_in(20)
    world.run_for(19.8)
    frozen.process.freeze(3)
    world.start_executor("next")
    world.run_for(60)
    (arrival,) = world.target.of(timer.id)
    assert (arrival.process, arrival.late_ms) == ("executor-0", 2_800)


def test_flaw_11_one_whose_lease_is_nearly_over_asks_whether_it_is_still_its_own(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=1).start()
    timer = world.once_in(20)
    world.run_for(19.8)
    world.executor_nodes[0].process.freeze(4.9)
    world.run_for(60)
    (arrival,) = world.target.of(timer.id)
    assert 4_700 <= arrival.late_ms <= 5_000
    assert world.record(timer).firing.status is SUCCEEDED


def test_flaw_7_an_executor_frozen_after_its_send_does_not_overwrite_what_another_recorded(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=1).start()
    world.target.answer = lambda arrival: Answer(500 if arrival.process == "executor-0" else 200)
    timer = world.once_in(20)
    world.run_for(20.001)
    world.executor_nodes[0].process.freeze(15)
    world.start_executor("next")
    world.run_for(60)
    assert [arrival.process for arrival in world.target.of(timer.id)] == ["executor-0", "next"]
    assert (world.record(timer).firing.status, world.record(timer).http_status) == (SUCCEEDED, 200)
    assert world.members_in_slices == 0


def test_a_frozen_trigger_that_thaws_finds_its_slice_another_s_and_ends(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(20)
    holder = next(node for node in world.trigger_nodes if world.time.tasks_of(node.process))
    holder.process.freeze(12)
    world.run_for(14)
    assert world.time.tasks_of(holder.process) == 0
    world.run_for(26)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 59
    assert max(lateness(world, timer)) <= LOCK_MS + TICK_MS


# Redis


@pytest.mark.test_all
def test_flaw_14_a_redis_that_lost_everything_is_loaded_from_sql_and_costs_seconds(world: World) -> None:
    timers = [world.timer("* * * * * *"), world.timer("*/7 * * * * *"), world.once_in(1_000)]
    world.run_for(20.3)
    world.redis.lose()
    world.run_for(1_100)
    for timer in timers:
        sent = world.target.moments(timer.id)
        planned = [one.firing.fire_at for one in world.records(timer) if one.firing.fire_at < world.now]
        assert set(sent) == set(planned)
        assert len(sent) <= len(set(sent)) + 2
        assert max(lateness(world, timer)) <= 12_000
    assert lateness(world, timers[2]) == [0]


def test_flaw_14_a_slice_that_is_lost_while_the_rest_stands_costs_seconds(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(20.3)
    world.redis.lose("slices")
    world.run_for(60)
    sent = world.target.moments(timer.id)
    assert len(set(sent)) >= 79
    assert max(lateness(world, timer)) <= 9_000


def test_flaw_1_a_slice_whose_agenda_entry_is_missing_is_found_by_the_next_repair(world: World) -> None:
    soon, later = world.once_in(20), world.once_in(200)
    world.redis.lose("agenda")
    world.run_for(240)
    (late_ms,) = lateness(world, soon)
    assert late_ms <= SWEPT_AFTER_MS + SWEEP_MS + 2 * TICK_MS
    assert lateness(world, later) == [0]


def test_flaw_13_a_redis_that_went_back_in_time_sends_nothing_again_that_is_on_record(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(20.1)
    before = world.redis.snapshot()
    world.run_for(5.8)
    world.redis.away = True
    world.redis.restore(before)
    world.redis.away = False
    world.run_for(40)
    sent = world.target.moments(timer.id)
    assert len(set(sent)) >= 65
    assert len(sent) <= len(set(sent)) + 1


def test_flaw_12_redis_away_for_seconds_repeats_no_slow_callback_in_flight(world: World) -> None:
    world.target.answer = lambda _arrival: Answer(after_ms=9_500)
    timer = world.timer("*/2 * * * * *")
    world.run_for(30)
    world.redis.away = True
    world.run_for(7)
    world.redis.away = False
    world.run_for(60)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 40


def test_redis_away_for_minutes_delays_and_loses_nothing(world: World) -> None:
    timer = world.timer("*/5 * * * * *")
    world.run_for(30)
    world.redis.away = True
    world.run_for(180)
    assert len(world.target.of(timer.id)) <= 7
    world.redis.away = False
    world.run_for(60)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 53


# SQL


def test_sql_away_keeps_first_attempts_on_time_and_their_outcomes_in_the_outbox(world: World) -> None:
    timer = world.timer("*/5 * * * * *")
    world.run_for(60)
    world.sql.away = True
    world.run_for(60)
    assert set(lateness(world, timer)) == {0}
    assert len(world.outbox.page(100)) >= 11
    world.sql.away = False
    world.run_for(33)
    assert world.outbox.page(100) == {}
    assert len(world.settled(timer)) == len(world.target.of(timer.id)) == 30
    assert set(lateness(world, timer)) == {0}


def test_a_retry_waits_for_sql_to_come_back_and_is_made(world: World) -> None:
    world.target.answer = lambda arrival: Answer(500 if arrival.attempt == 1 else 200)
    timer = world.once_in(20)
    world.run_for(19.5)
    world.sql.away = True
    world.run_for(20)
    assert len(world.target.of(timer.id)) == 1
    world.sql.away = False
    world.run_for(40)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2]
    assert world.record(timer).firing.status is SUCCEEDED


def test_flaw_9_a_parked_outcome_is_not_sent_again_when_sql_is_back_before_it_is_flushed(
    world: World,
) -> None:
    timer = world.once_in(20)
    world.run_for(19.5)
    world.sql.away = True
    world.run_for(3)
    world.beat.taps["before outbox.page"] = lambda: world.beat.process.freeze(30)
    world.sql.away = False
    row = world.record(timer).firing
    assert row.status is PENDING
    world.api.hot.add([row])
    world.agenda.add([(row.slice, world.now)])
    world.run_for(25)
    del world.beat.taps["before outbox.page"]
    world.run_for(60)
    assert len(world.target.of(timer.id)) == 1
    assert world.record(timer).firing.status is SUCCEEDED


def test_with_both_away_an_outcome_is_kept_in_memory_and_nothing_is_sent_twice(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(20.01)
    world.sql.away = world.redis.away = True
    world.run_for(30)
    world.redis.away = False
    world.run_for(15)
    world.sql.away = False
    world.run_for(60)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 124
    assert {record.firing.status for record in world.settled(timer)} == {SUCCEEDED}
    assert len(world.settled(timer)) >= 120


def test_sql_whose_answers_are_lost_settles_and_plans_nothing_twice(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(20)
    world.sql.loses_answers = True
    world.run_for(20)
    world.sql.loses_answers = False
    world.run_for(40)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 79
    assert set(lateness(world, timer)) == {0}


# adders that are late


@pytest.mark.parametrize("is_repair", [False, True])
@pytest.mark.parametrize("after_s", [-2.0, -0.5, 0.001, 0.1, 0.35, 0.6, 1.5, 10.0, 70.0])
def test_flaw_6_ghosts_added_by_who_read_the_row_before_it_was_settled_are_verified_and_not_sent(
    world: World, is_repair: bool, after_s: float
) -> None:
    timer = world.once_in(20)
    world.target.answer = lambda _arrival: Answer(after_ms=50)
    row = world.record(timer).firing
    world.run_for(20 + after_s)
    world.beat.hot.add([row], is_repair)
    world.run_for(60)
    assert lateness(world, timer) == [0]
    assert world.members_in_slices == 0


def test_flaw_8_a_ghost_of_the_first_attempt_makes_no_second_attempt_early(world: World) -> None:
    world.target.answer = lambda arrival: Answer(500 if arrival.attempt < 4 else 200)
    timer = world.once_in(20)
    row = world.record(timer).firing
    world.run_for(23.5)
    world.beat.hot.add([row])
    world.run_for(60)
    arrivals = world.target.of(timer.id)
    assert [arrival.attempt for arrival in arrivals] == [1, 2, 3, 4]
    assert arrivals[3].at_ms - arrivals[2].at_ms >= 3_200


# more than can be done


def test_flaw_15_without_executors_little_is_armed_and_all_of_it_is_fired_once_they_are_back(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=0, callback_queue_most=20).start()
    timer = world.timer("* * * * * *")
    world.run_for(120)
    assert len(world.chunks) < 40
    world.start_executor("first")
    world.run_for(60)
    sent = world.target.moments(timer.id)
    assert len(sent) == len(set(sent)) >= 175
    assert set(lateness(world, timer)[-20:]) == {0}


def test_flaw_16_one_thread_serves_many_slices(make_world: Callable[..., World]) -> None:
    world = make_world(triggers=1, firings_per_bucket=1)
    world.start()
    timers = [world.once_in(20 + number * 5) for number in range(8)]
    most = 0
    for _ in range(140):
        world.run_for(0.5)
        most = max(most, world.held_threads)
    assert all(lateness(world, timer) == [0] for timer in timers)
    assert most == 1


def test_flaw_19_a_target_that_never_answers_ends_as_failed(make_world: Callable[..., World]) -> None:
    world = make_world(most_attempts=2).start()
    world.target.answer = lambda _arrival: Answer(after_ms=1e12)
    timer = world.once_in(20)
    world.run_for(60)
    assert (world.record(timer).firing.status, world.record(timer).error) == (FAILED, "timed out")


def test_while_sql_is_away_no_more_is_fired_than_redis_can_hold_outcomes_of(
    make_world: Callable[..., World],
) -> None:
    most_mb = 0.05
    world = make_world(outbox_mb=most_mb, arm_credit=20).start()
    timers = [world.timer("* * * * * *") for _ in range(5)]
    world.run_for(10)
    world.sql.away = True
    world.run_for(80)
    assert 0.9 < world.outbox.bytes() / (most_mb * 1_000_000) < 1.2
    fired = len(world.target.arrivals)
    world.run_for(10)
    assert len(world.target.arrivals) == fired
    world.sql.away = False
    world.run_for(60)
    assert world.outbox.bytes() == 0
    for timer in timers:
        moments = sorted(set(world.target.moments(timer.id)))
        assert moments == list(range(moments[0], moments[-1] + 1, 1_000))
        assert moments[-1] > world.now - 5_000
