from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.world import APP, World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk, FiringStatus
from wangtimer.core.timers.timer import Timer

SUCCEEDED, FAILED, SKIPPED, PENDING = (
    FiringStatus.SUCCEEDED,
    FiringStatus.FAILED,
    FiringStatus.SKIPPED,
    FiringStatus.PENDING,
)


def failing(times: int, answer: Answer = Answer(500)) -> Callable[[Arrival], Answer]:  # noqa: B008
    """Answer badly to the first attempts of every firing."""
    return lambda arrival: answer if arrival.attempt <= times else Answer()


def count(world: World, point: str) -> Counter[str]:
    """Count how often any callback process passes a point, as `before firings.rows`."""
    passed: Counter[str] = Counter()
    for node in world.executor_nodes:
        node.taps[point] = lambda: passed.update([point])
    return passed


def edit(world: World, timer: Timer, cron: str) -> None:
    """Give a timer another schedule, in SQL, as an edit would; Redis hears of it by the sweep."""
    timers = world.sql.table("timers")
    held = timers[timer.id]
    version = held.definition.version + 1
    edited = held.definition._replace(version=version, schedule=Cron.parse(cron), edited_at=world.now)
    timers[timer.id] = replace(held, definition=edited, updated_at=world.now)


def test_a_prepared_request_waits_for_its_exact_moment(world: World) -> None:
    timer = world.once_in(20.123)
    world.run_for(30)
    assert [arrival.late_ms for arrival in world.target.of(timer.id)] == [0]
    assert world.record(timer).lateness_ms == 0


def test_a_request_says_whose_it_is_for_apps_share_no_connection(world: World) -> None:
    world.once_in(20)
    world.run_for(30)
    assert [arrival.request.app for arrival in world.target.arrivals] == [APP]


def test_a_process_that_does_not_know_what_apps_may_call_claims_nothing_and_another_fires(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=2).start()
    ignorant, _ = world.executor_nodes
    ignorant.executor._duty.may_fire = lambda: False
    claims: Counter[str] = Counter()
    ignorant.taps["before slices.claim"] = lambda: claims.update(["claim"])
    timer = world.timer("*/5 * * * * *")
    world.run_for(90)
    records = [one for one in world.records(timer) if one.firing.fire_at < world.now - 45_000]
    assert len(records) >= 5
    assert {one.firing.status for one in records} == {SUCCEEDED}
    assert {one.firing.attempt for one in records} == {1}
    assert not claims


def test_an_on_time_first_attempt_reads_nothing_from_sql_or_the_outbox(world: World) -> None:
    rows, parked = count(world, "before firings.rows"), count(world, "before outbox.holds")
    definitions = count(world, "before timers.definitions")
    world.once_in(20)
    world.run_for(30)
    assert len(world.target.arrivals) == 1
    assert not rows + parked + definitions


def claim_late(world: World, seconds: float) -> None:
    """Let every callback process sleep just before the next firing is armed."""
    world.run_for(18.5)
    for node in world.executor_nodes:
        node.process.freeze(seconds)


def test_what_nobody_can_have_sent_yet_asks_sql_nothing_however_late_it_is_claimed(world: World) -> None:
    rows = count(world, "before firings.rows")
    timer = world.once_in(20)
    claim_late(world, 5)
    world.run_for(30)
    (arrival,) = world.target.of(timer.id)
    assert arrival.late_ms > 3_000
    assert not rows


def test_what_was_due_before_redis_was_away_is_verified(world: World) -> None:
    rows = count(world, "before firings.rows")
    timer = world.once_in(20)
    claim_late(world, 5)
    world.run_for(2)
    world.redis.away = True
    world.run_for(0.1)
    world.redis.away = False
    world.run_for(30)
    assert len(world.target.of(timer.id)) == 1
    assert rows["before firings.rows"] >= 1


def test_flaw_13_everything_is_verified_for_ten_seconds_after_redis_was_away(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(10)
    world.redis.away = True
    world.run_for(0.1)
    world.redis.away = False
    verified = count(world, "before firings.rows")
    world.run_for(9)
    assert verified["before firings.rows"] >= 8
    world.run_for(5)
    verified.clear()
    world.run_for(10)
    assert not verified
    assert len(world.target.of(timer.id)) >= 33


def test_a_chunk_delivered_twice_is_fired_once(world: World) -> None:
    world.chunk_road = lambda chunk: [chunk, chunk]
    timer = world.timer("* * * * * *")
    world.run_for(30)
    assert len(world.target.of(timer.id)) == len(set(world.target.moments(timer.id))) >= 29


def test_a_claim_whose_answer_is_lost_is_asked_for_again_and_had(world: World) -> None:
    timer = world.once_in(20)
    calls: list[int] = []

    def lose_first_answer() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise StoreAway("Redis", "the answer was lost")

    for node in world.executor_nodes:
        node.taps["after slices.claim"] = lose_first_answer
    world.run_for(30)
    assert [arrival.late_ms for arrival in world.target.of(timer.id)] == [0]


@pytest.mark.parametrize("step", ["before definitions.get_first", "after slices.claim"])
def test_a_chunk_that_fails_in_an_unforeseen_way_is_given_back_with_its_room(world: World, step: str) -> None:
    timer = world.once_in(20)
    failures = iter([KeyError("unforeseen")])

    def fail_once() -> None:
        for failure in failures:
            raise failure

    def fire_as_a_task(fire: Callable[[Chunk], None], chunk: Chunk) -> None:
        with suppress(KeyError):  # Celery logs it
            fire(chunk)

    for node in world.executor_nodes:
        node.taps[step] = fail_once
        node.executor.fire = partial(fire_as_a_task, node.executor.fire)
    world.run_for(40)
    (arrival,) = world.target.of(timer.id)
    assert arrival.late_ms < 13_000
    assert [node.claims.held for node in world.executor_nodes] == [0] * len(world.executor_nodes)


def test_a_claim_that_fails_twice_is_left_to_the_lease(world: World) -> None:
    timer = world.once_in(20)
    calls: list[int] = []

    def fail_twice() -> None:
        calls.append(1)
        if len(calls) <= 2:
            raise StoreAway("Redis", "no answer")

    for node in world.executor_nodes:
        node.taps["before slices.claim"] = fail_twice
    world.run_for(40)
    (arrival,) = world.target.of(timer.id)
    assert 0 < arrival.late_ms < 13_000


# what is not wanted any more


def test_a_skip_is_recorded_with_its_reason_and_nothing_was_sent(world: World) -> None:
    timer = world.once_in(20)
    world.registrar.disable(APP, timer.id)
    world.run_for(30)
    record = world.record(timer)
    assert (record.firing.status, record.error, record.first_sent_at) == (SKIPPED, "disabled", None)
    assert world.members_in_slices == 0


def test_moments_of_a_schedule_that_was_edited_away_are_skipped_as_superseded(world: World) -> None:
    timer = world.timer("*/10 * * * * *")
    world.run_for(2)
    edit(world, timer, "*/20 * * * * *")
    world.run_for(60)
    assert all(moment % 20_000 == 0 for moment in world.target.moments(timer.id))
    skipped = [record for record in world.records(timer) if record.firing.status is SKIPPED]
    assert {record.error for record in skipped} == {"superseded"}
    assert {record.firing.fire_at % 20_000 for record in skipped} == {10_000}
    assert len(skipped) == len(world.target.of(timer.id)) == 3


def test_flaw_3_a_redis_that_knows_no_definitions_skips_nothing(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(10)
    for _ in range(20):
        world.redis.lose("definitions")
        world.run_for(1)
    assert len(world.target.of(timer.id)) >= 29
    assert world.statuses(timer) == {SUCCEEDED, PENDING}


def test_flaw_3_an_old_definition_in_redis_skips_nothing(world: World) -> None:
    timer = world.timer("* * * * * *")
    stale = timer.definition._replace(version=99, status="disabled")
    world.run_for(10)
    world.definitions.put([stale])
    world.run_for(20)
    assert len(world.target.of(timer.id)) >= 29
    assert world.statuses(timer) == {SUCCEEDED, PENDING}


def test_flaw_3_what_seems_unwanted_while_sql_is_away_waits_for_its_word(world: World) -> None:
    wanted, unwanted = world.once_in(20), world.once_in(20)
    world.registrar.disable(APP, unwanted.id)
    world.run_for(15)
    world.sql.away = True
    world.redis.lose("definitions")
    world.run_for(12)
    assert world.target.arrivals == []
    world.sql.away = False
    world.run_for(20)
    assert [arrival.timer_id for arrival in world.target.arrivals] == [wanted.id]
    assert world.record(unwanted).error == "disabled"


# attempts


def test_a_failed_attempt_is_made_again_after_1_2_4_seconds_and_so_on_and_then_the_firing_failed(
    world: World,
) -> None:
    world.target.answer = failing(99)
    timer = world.once_in(10)
    world.run_for(20 * 60)
    arrivals = world.target.of(timer.id)
    assert [arrival.attempt for arrival in arrivals] == list(range(1, 12))
    pauses = [b.at_ms - a.at_ms - 5 for a, b in pairwise(arrivals)]
    middles = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000]
    for pause, middle in zip(pauses, middles, strict=True):
        assert 0.8 * middle - 1 <= pause <= 1.2 * middle
    record = world.record(timer)
    assert (record.firing.status, record.firing.attempt) == (FAILED, 11)
    assert (record.http_status, record.error, record.lateness_ms) == (500, "HTTP 500", 0)


def test_what_never_left_has_no_first_send_and_no_lateness(make_world: Callable[..., World]) -> None:
    world = make_world(most_attempts=2).start()
    unsent = Answer(None, error="no connection came free", was_sent=False)
    world.target.answer = failing(99, unsent)
    never = world.once_in(10)
    world.run_for(30)
    record = world.record(never)
    assert (record.firing.status, record.error) == (FAILED, "no connection came free")
    assert (record.first_sent_at, record.lateness_ms) == (None, None)

    world.target.answer = failing(1, unsent)
    later = world.once_in(10)
    world.run_for(30)
    record, second = world.record(later), world.target.of(later.id)[1]
    assert record.first_sent_at == int(second.at_ms)
    assert record.lateness_ms == record.first_sent_at - record.firing.fire_at > 0


def test_all_attempts_of_a_firing_carry_one_webhook_id(world: World) -> None:
    world.target.answer = failing(99)
    first, second = world.once_in(10), world.once_in(10)
    world.run_for(60)
    for timer in (first, second):
        (firing_id,) = {arrival.firing_id for arrival in world.target.of(timer.id)}
        assert firing_id == f"{timer.id}-{world.record(timer).firing.fire_at}"


def test_no_two_firings_of_a_timer_share_a_webhook_id(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(30)
    arrivals = world.target.of(timer.id)
    assert len({arrival.firing_id for arrival in arrivals}) == len(arrivals) >= 29


def test_a_retry_that_succeeds_is_the_outcome_and_keeps_the_first_send(world: World) -> None:
    world.target.answer = failing(2)
    timer = world.once_in(10)
    world.run_for(30)
    record = world.record(timer)
    assert (record.firing.status, record.firing.attempt, record.http_status) == (SUCCEEDED, 3, 200)
    assert (record.lateness_ms, record.first_sent_at) == (0, record.firing.fire_at)
    assert record.error == ""


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(None, error="connection refused"), "connection refused"),
        (Answer(after_ms=60_000), "timed out"),
        (Answer(302), "HTTP 302"),
        (Answer(404), "HTTP 404"),
        (Answer(503), "HTTP 503"),
    ],
)
def test_whatever_is_not_a_complete_2xx_answer_is_tried_again(
    make_world: Callable[..., World], answer: Answer, error: str
) -> None:
    world = make_world(most_attempts=2).start()
    world.target.answer = failing(99, answer)
    timer = world.once_in(10)
    world.run_for(50)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2]
    assert (world.record(timer).firing.status, world.record(timer).error) == (FAILED, error)


def test_a_retry_of_the_next_minute_waits_in_that_minute_s_slice(world: World) -> None:
    world.target.answer = failing(1)
    timer = world.once_in(44.9)
    world.run_for(60)
    first, second = (chunk.slice for chunk in world.chunks)
    assert (second.minute, second.bucket) == (first.minute + 1, first.bucket)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2]
    assert world.target.of(timer.id)[1].at_ms >= second.starts_at


def test_a_retry_does_not_shift_the_firings_behind_it(world: World) -> None:
    world.target.answer = lambda arrival: Answer(500 if arrival.fire_at % 3_000 == 0 else 200)
    timer = world.timer("* * * * * *")
    world.run_for(60)
    firsts = [arrival for arrival in world.target.of(timer.id) if arrival.attempt == 1]
    assert {arrival.late_ms for arrival in firsts} == {0}
    assert len(firsts) >= 59


def test_a_retry_of_a_timer_that_was_disabled_meanwhile_is_skipped(world: World) -> None:
    world.target.answer = failing(99)
    timer = world.once_in(10)
    world.run_for(17)
    world.registrar.disable(APP, timer.id)
    world.run_for(60)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2, 3]
    assert (world.record(timer).firing.status, world.record(timer).error) == (SKIPPED, "disabled")


def test_a_retry_is_still_made_when_an_edit_took_its_moment_away(world: World) -> None:
    world.target.answer = failing(2)
    timer = world.timer("*/30 * * * * *")
    world.run_for(16)
    edit(world, timer, "0 0 1 1 *")
    world.run_for(20)
    assert [arrival.attempt for arrival in world.target.of(timer.id)] == [1, 2, 3]


def test_a_definition_that_can_make_no_request_fails_and_says_why(world: World) -> None:
    timer = world.timer("*/10 * * * * *", headers=(("X-Note", "two\r\nlines"),))
    world.run_for(12)
    assert world.target.arrivals == []
    record = world.settled(timer)[0]
    assert record.firing.status is FAILED
    assert "line break" in record.error


# threads


def test_a_chunk_s_task_lasts_as_long_as_its_chunk(make_world: Callable[..., World]) -> None:
    world = make_world(executors=1).start()
    world.target.answer = lambda _arrival: Answer(after_ms=900)
    world.once_in(10)
    world.run_for(10.5)
    assert world.time.tasks_of(world.executor_nodes[0].process) == 1
    world.run_for(0.9)
    assert world.time.tasks_of(world.executor_nodes[0].process) == 0


def test_a_slow_target_holds_a_thread_for_two_seconds_and_is_still_waited_for(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=1).start()
    world.target.answer = lambda _arrival: Answer(after_ms=9_500)
    timer = world.once_in(10)
    world.run_for(11.9)
    assert world.time.tasks_of(world.executor_nodes[0].process) == 1
    world.run_for(0.2)
    assert world.time.tasks_of(world.executor_nodes[0].process) == 0
    world.run_for(20)
    assert len(world.target.of(timer.id)) == 1
    assert world.record(timer).cost_ms == 9_500
    assert world.record(timer).firing.status is SUCCEEDED


# an end in order


def test_a_draining_process_lets_running_calls_end_and_gives_the_rest_to_others_in_time(
    world: World,
) -> None:
    world.target.answer = lambda _arrival: Answer(after_ms=2_000)
    timer = world.timer("* * * * * *")
    world.run_for(10.7)
    for node in world.executor_nodes[:]:
        world.start_executor(f"{node.process.name}-next")
        world.executor_nodes.remove(node)
        world.time.spawn(node.process, lambda node=node: (node.executor.drain(12.0), node.process.kill()))
    world.run_for(30)
    arrivals = world.target.of(timer.id)
    assert len(arrivals) == len({arrival.fire_at for arrival in arrivals}) >= 39
    assert max(arrival.late_ms for arrival in arrivals) < 1_500
    assert len(world.settled(timer)) >= 36


def test_a_chunk_that_reaches_a_stopped_process_is_put_back_for_another(
    make_world: Callable[..., World],
) -> None:
    world = make_world(executors=1).start()
    timer = world.once_in(10)
    world.executor_nodes[0].executor.drain(1.0)
    world.run_for(9.5)
    world.executor_nodes[0].process.kill()
    world.start_executor("next")
    world.run_for(30)
    (arrival,) = world.target.of(timer.id)
    assert arrival.late_ms < 1_500


def test_telling_of_strain_holds_up_no_call(world: World) -> None:
    """Redis may hang just then."""
    timers = [world.timer("* * * * * *") for _ in range(25)]
    world.run_for(10)
    world.chunk_road = lambda chunk: [world.time.sleep(0.9) or chunk]
    told: list[int] = []

    def hang() -> None:
        told.append(world.now)
        world.time.sleep(3)

    for node in world.executor_nodes:
        node.executor._duty.tell_strain = hang
    world.run_for(20)
    assert told
    assert max(arrival.late_ms for timer in timers for arrival in world.target.of(timer.id)) < 1_000


def test_calls_that_come_close_to_their_moments_are_told_of(world: World) -> None:
    for _ in range(25):
        world.timer("* * * * * *")
    world.run_for(10)
    assert world.strained_until < world.now
    world.chunk_road = lambda chunk: [world.time.sleep(0.9) or chunk]
    world.run_for(10)
    assert world.strained_until > world.now
    world.chunk_road = lambda chunk: [chunk]
    world.run_for(10)
    assert world.strained_until < world.now
