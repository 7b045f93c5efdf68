"""A lane in which many wait that nobody wants any more: the living behind them are called within seconds."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.stages.test_lanes import GOOD, HUNG, LANE, NEVER, PLACES, hang, latest_of, waiting_in
from tests.stages.world import World
from wangtimer.core.flow.firing import Firing, FiringStatus
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import NewTimer, Notify, Timer

MakeWorld = Callable[..., World]

DEAD = 10_000
DAY_MS = 86_400_000


@pytest.fixture
def recovered(make_world: MakeWorld) -> World:
    """One callback process, whose target answers; it knows nothing of the host yet, and tries it by one call."""
    return make_world(executors=1, places=PLACES).start()


def created(world: World, app: str, fire_at: int) -> Timer:
    name = str(len(world.sql.table("timers")))
    return world.registrar.create(NewTimer(app, name, Once(fire_at), Notify(f"http://{HUNG}/due")))


def wait_in_lane(world: World, timer: Timer, number: int, since: int) -> None:
    """Have so many firings of a timer wait in the lane, one due each ms `since` then."""
    rows = [Firing.planned(timer.id, since + index, 0)._replace(lane=LANE.key) for index in range(number)]
    world.firings.insert(rows)
    world.beat.hot.add(rows)


def test_one_that_lives_is_called_within_seconds_behind_ten_thousand_that_are_not_wanted(
    recovered: World,
) -> None:
    hog = created(recovered, "hog", recovered.now + DAY_MS)
    wait_in_lane(recovered, hog, DEAD, recovered.now - 60_000)
    living = created(recovered, "hog", recovered.now + 3_000)
    recovered.registrar.enable("hog", living.id)
    recovered.run_for(8)
    assert [arrival.timer_id for arrival in recovered.target.arrivals] == [living.id]
    assert waiting_in(recovered) == 0
    assert latest_of(recovered, [hog]) == {FiringStatus.SKIPPED: DEAD}


def test_what_lives_behind_them_is_sent_as_there_is_room_and_else_waits_on_with_its_attempt(
    recovered: World,
) -> None:
    recovered.target.answer = lambda _arrival: NEVER
    wait_in_lane(recovered, created(recovered, "hog", recovered.now + DAY_MS), 1_500, recovered.now - 60_000)
    living = created(recovered, "hog", recovered.now + DAY_MS)
    recovered.registrar.enable("hog", living.id)
    wait_in_lane(recovered, living, 1_000, recovered.now - 30_000)
    recovered.run_for(8)
    assert len(recovered.target.arrivals) == PLACES[0]
    assert recovered.executor_nodes[0].claims.held == PLACES[0]
    assert waiting_in(recovered) == 1_000 - PLACES[0]
    waiting = [one for one in recovered.records(living) if one.firing.lane]
    assert len(waiting) == 1_000
    assert {(one.firing.status, one.firing.attempt) for one in waiting} == {(FiringStatus.PENDING, 1)}


def test_while_sql_does_not_say_who_is_wanted_a_lane_keeps_its_order(recovered: World) -> None:
    living = created(recovered, "hog", recovered.now + DAY_MS)
    recovered.registrar.enable("hog", living.id)
    since = recovered.now - 30_000
    wait_in_lane(recovered, living, 1_000, since)
    recovered.sql.away = True
    recovered.run_for(10)
    dues = recovered.redis.table("slices")[LANE].due
    assert sum(due_at < since + 1_000 for due_at in dues.values()) >= 1_000 - 10


def moved_away(timer: Timer) -> Timer:
    return replace(timer, definition=timer.definition._replace(notify=Notify(f"http://{GOOD}/due")))


def test_what_waits_for_a_host_that_hangs_is_called_within_seconds_once_its_url_leads_elsewhere(
    recovered: World,
) -> None:
    recovered.target.answer = hang
    moved = created(recovered, "hog", recovered.now + DAY_MS)
    recovered.registrar.enable("hog", moved.id)
    wait_in_lane(recovered, moved, 1_000, recovered.now - 60_000)
    recovered.run_for(40)
    recovered.target.arrivals.clear()
    recovered.registrar.edit("hog", moved.id, moved_away)
    recovered.run_for(10)
    assert waiting_in(recovered) == 0
    recovered.run_for(10)
    assert latest_of(recovered, [moved]) == {FiringStatus.SUCCEEDED: 1_000}
    assert set(Counter(one.request.host for one in recovered.target.arrivals)) == {f"{GOOD}:80"}


def test_what_is_called_elsewhere_takes_no_room_of_those_that_stay(recovered: World) -> None:
    recovered.target.answer = hang
    stays = created(recovered, "hog", recovered.now + DAY_MS)
    moved = created(recovered, "hog", recovered.now + DAY_MS)
    recovered.registrar.enable("hog", stays.id)
    recovered.registrar.enable("hog", moved.id)
    recovered.registrar.edit("hog", moved.id, moved_away)
    since = recovered.now - 60_000
    wait_in_lane(recovered, moved, 500, since)
    wait_in_lane(recovered, stays, 500, since + 500)
    recovered.run_for(5)
    hosts = Counter(one.request.host for one in recovered.target.arrivals)
    assert hosts[f"{GOOD}:80"] == 500
    assert hosts[f"{HUNG}:80"] <= PLACES[0] + 1
