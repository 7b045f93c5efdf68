"""A target that hangs: what has no room waits in its lane, outside every process, and goes on when there is room."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.stages.scripted_target import Answer, Arrival
from tests.stages.world import World
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition, NewTimer, Notify, Timer

MakeWorld = Callable[..., World]

HUNG, GOOD = "hung.test", "good.test"
LANE = SharedLane.of_way("hog", f"{HUNG}:80", "/due")
NEVER = Answer(after_ms=10**9)
# Of a host, and of a process.
PLACES = (10, 50)
HUNG_TIMERS, GOOD_TIMERS = 20, 3


def every_second(world: World, app: str, hosts: list[str], number: int, path: str = "due") -> list[Timer]:
    """Create and enable timers of an app that fire each second, spread over hosts."""
    timers = []
    for index in range(number):
        notify = Notify(f"http://{hosts[index % len(hosts)]}/{path}")
        new = NewTimer(app, f"{app}-{path}-{index}", Cron.parse("* * * * * *"), notify)
        timers.append(world.registrar.enable(app, world.registrar.create(new).id))
    return timers


def hang(arrival: Arrival) -> Answer:
    return NEVER if HUNG in arrival.request.url else Answer()


@pytest.fixture
def crowded(make_world: MakeWorld) -> World:
    """One callback process with few places, a target that hangs, and one that answers."""
    world = make_world(executors=1, places=PLACES)
    world.target.answer = hang
    return world.start()


def waiting_in(world: World, lane: SharedLane = LANE) -> int:
    sets = world.redis.table("slices").get(lane)
    return len(sets.due) if sets else 0


def arrivals_at(world: World, host: str) -> list[Arrival]:
    return [arrival for arrival in world.target.arrivals if host in arrival.request.url]


def latest_of(world: World, timers: list[Timer]) -> dict[FiringStatus, int]:
    return Counter(record.firing.status for timer in timers for record in world.settled(timer))


def start_both(world: World, hosts: list[str] | None = None) -> tuple[list[Timer], list[Timer]]:
    hung = every_second(world, "hog", hosts or [HUNG], HUNG_TIMERS)
    return hung, every_second(world, "other", [GOOD], GOOD_TIMERS)


@pytest.mark.parametrize("hosts", [pytest.param(1, marks=pytest.mark.test_all), 4, 20])
def test_a_target_that_hangs_makes_no_other_app_late(crowded: World, hosts: int) -> None:
    see_the_other_app_on_time(crowded, hosts)


def test_as_many_targets_that_hang_as_a_process_has_places_make_no_other_app_late(
    make_world: MakeWorld,
) -> None:
    world = make_world(executors=1, places=(PLACES[0], HUNG_TIMERS))
    world.target.answer = hang
    see_the_other_app_on_time(world.start(), hosts=HUNG_TIMERS)


def see_the_other_app_on_time(world: World, hosts: int) -> None:
    start_both(world, [f"{number}.{HUNG}" for number in range(hosts)])
    world.run_for(40)
    good = arrivals_at(world, GOOD)
    assert len(good) >= 35 * GOOD_TIMERS
    assert max(arrival.late_ms for arrival in good) <= 50


def test_what_has_no_room_is_held_by_no_process(crowded: World) -> None:
    start_both(crowded)
    held = []
    for _ in range(50):
        crowded.run_for(1)
        held.append(crowded.executor_nodes[0].claims.held)
    # The first seconds' show that the target hangs; then what is claimed ahead, what runs, and few that wait.
    assert max(held[30:]) <= 3 * (HUNG_TIMERS + GOOD_TIMERS) + PLACES[0] + 20
    assert waiting_in(crowded) >= 25 * HUNG_TIMERS


def test_the_record_says_where_a_firing_waits_and_no_attempt_is_used_up_by_waiting(crowded: World) -> None:
    hung, _ = start_both(crowded)
    crowded.run_for(40)
    sends = Counter((one.timer_id, one.fire_at) for one in arrivals_at(crowded, HUNG))
    records = [record for timer in hung for record in crowded.records(timer)]
    due = [one for one in records if one.firing.due_at < crowded.now - 5_000]
    assert {one.firing.lane for one in due if not sends[one.firing.member.key]} == {LANE.key}
    assert all(one.firing.attempt <= 1 + sends[one.firing.member.key] for one in due)
    assert {one.error for one in due if one.error} == {"timed out"}


@pytest.mark.test_all
def test_a_target_that_answers_again_gets_what_waited_the_first_due_first(crowded: World) -> None:
    hung, _ = start_both(crowded)
    crowded.run_for(40)
    backlog = waiting_in(crowded)
    crowded.target.answer = lambda _arrival: Answer()
    back_at = crowded.now
    crowded.run_for(15)
    assert len([one for one in arrivals_at(crowded, HUNG) if one.at_ms >= back_at]) >= backlog / 2
    crowded.run_for(40)
    assert waiting_in(crowded) == 0
    assert crowded.redis.table("lanes") == {}
    assert latest_of(crowded, hung).keys() == {FiringStatus.SUCCEEDED}
    first_tries = [one.fire_at for one in arrivals_at(crowded, HUNG) if one.attempt == 1]
    overtakings = sum(b < a - 3_000 for a, b in pairwise(first_tries))
    assert overtakings <= len(first_tries) / 100
    new = [one for one in arrivals_at(crowded, HUNG) if one.fire_at > crowded.now - 20_000]
    assert max(one.late_ms for one in new if one.attempt == 1) <= 50


def test_what_a_dead_process_had_pulled_is_pulled_by_another(make_world: MakeWorld) -> None:
    world = make_world(executors=2, places=PLACES)
    world.target.answer = hang
    world.start()
    hung, _ = start_both(world)
    world.run_for(25)
    world.executor_nodes[0].process.kill()
    world.run_for(5)
    world.target.answer = lambda _arrival: Answer()
    world.run_for(50)
    overdue = [one for timer in hung for one in world.records(timer) if one.firing.due_at < world.now - 5_000]
    assert {one.firing.status for one in overdue} == {FiringStatus.SUCCEEDED}


def test_while_sql_is_away_nothing_is_moved(crowded: World) -> None:
    hung, _ = start_both(crowded)
    crowded.run_for(3)
    waited = waiting_in(crowded)
    crowded.sql.away = True
    crowded.run_for(20)
    assert waiting_in(crowded) == waited
    crowded.sql.away = False
    crowded.target.answer = lambda _arrival: Answer()
    crowded.run_for(60)
    overdue = [
        one for timer in hung for one in crowded.records(timer) if one.firing.due_at < crowded.now - 5_000
    ]
    assert {one.firing.status for one in overdue} == {FiringStatus.SUCCEEDED}


@pytest.mark.test_all
def test_after_a_loss_of_redis_what_waited_is_in_its_lane_again_and_nowhere_else(crowded: World) -> None:
    hung, _ = start_both(crowded)
    crowded.run_for(25)
    crowded.redis.lose()
    crowded.run_for(25)
    noted = {
        one.firing.member
        for timer in hung
        for one in crowded.records(timer)
        if one.firing.lane and one.firing.status is FiringStatus.PENDING
    }
    tables = crowded.redis.table("slices")
    lane = tables[LANE]
    assert noted == {member for member in noted if lane.holds(member)}
    elsewhere = [sets for slice_, sets in tables.items() if slice_ != LANE]
    assert not [one for sets in elsewhere for one in noted if one in sets.due or one in sets.armed]


def test_a_retry_leaves_its_lane(crowded: World) -> None:
    start_both(crowded)
    crowded.run_for(9)
    # What is claimed ahead of its moment goes to a lane that is behind by then: so as soon as it is settled.
    settled: list[Firing] = []

    def look() -> None:
        firings = [record.firing for record in crowded.sql.table("firings").values()]
        settled.extend(one for one in firings if one.attempt > 1 and one.due_at > crowded.now + 900)

    crowded.executor_nodes[0].taps["after firings.settle"] = look
    crowded.run_for(3)
    assert settled
    assert {firing.lane for firing in settled} == {""}


def test_no_request_is_made_of_what_goes_to_a_lane_at_its_claim(crowded: World) -> None:
    hung, _ = start_both(crowded)
    crowded.run_for(9)
    made: list[int] = []
    node = crowded.executor_nodes[0]
    plain = node.request_maker.call_of

    def noted(definition: Definition, target: NamedTarget | None) -> Notify:
        made.append(definition.timer_id)
        return plain(definition, target)

    node.request_maker.call_of = noted  # type: ignore[method-assign]
    waiting = waiting_in(crowded)
    crowded.run_for(5)
    came = waiting_in(crowded) - waiting
    assert came > 50
    ids = {timer.id for timer in hung}
    assert sum(1 for timer_id in made if timer_id in ids) < came / 5
