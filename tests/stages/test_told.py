"""How soon a change counts that Redis could not be told of: within what the answer says, whatever else is late."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.stages.world import APP, World
from wangtimer.core.errors import StoreAway
from wangtimer.core.timers.change_delay import CLOCKS_APART_MS, COUNTS_WITHIN_MS, counts_within_ms
from wangtimer.core.timers.timer import Timer
from wangtimer.executor.asker import REST_S

# In each of four ways, so a hundred in all.
CUTS = 25
LEAD_MS = 1_000
BELIEVED_MS = COUNTS_WITHIN_MS - LEAD_MS - CLOCKS_APART_MS
# What the API does to Redis.
FROM_API = ("definitions.put", "slices.add", "slices.arm_now", "agenda.add", "load.reserve")


def away() -> None:
    raise StoreAway("Redis", "cut off by the test")


def cut_api_off(world: World) -> None:
    world.api.taps |= {f"before {call}": away for call in FROM_API}


def let_no_sweep_tell(world: World) -> None:
    """Let the sweeps find no changes: their process, or its way to SQL, is cut."""
    world.beat.taps["before timers.changed_behind"] = away


def seen_late(world: World, timer_id: int, counts_from: float) -> list[int]:
    """Return the moments after which nothing was to fire that did."""
    return [moment for moment in world.target.moments(timer_id) if moment > counts_from]


CHANGES: dict[str, Callable[[World, int], bool]] = {
    "disable": lambda world, timer_id: world.registrar.disable(APP, timer_id).is_told,
    "delete": lambda world, timer_id: world.registrar.delete(APP, timer_id).is_told,
}


@pytest.mark.parametrize("sweeps_tell", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_in_a_hundred_cuts_at_random_moments_a_change_counts_within_what_its_answer_says(
    world: World, change: str, sweeps_tell: bool
) -> None:
    random = Random(change)
    timers = [world.timer("* * * * * *") for _ in range(CUTS)]
    world.run_for(10)
    cut_api_off(world)
    if not sweeps_tell:
        let_no_sweep_tell(world)
    counts_from = {}
    for timer in timers:
        world.run_for(random.uniform(0.05, 0.45))
        is_told = CHANGES[change](world, timer.id)
        assert not is_told
        counts_from[timer.id] = world.now + counts_within_ms(is_told, LEAD_MS)
    world.run_for(COUNTS_WITHIN_MS / 1_000 + 5)
    assert {one: late for one, at in counts_from.items() if (late := seen_late(world, one, at))} == {}
    assert all(world.target.of(timer.id) for timer in timers)


def test_an_edit_counts_within_what_its_answer_says(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(10)
    cut_api_off(world)
    let_no_sweep_tell(world)

    def elsewhere(was: Timer) -> Timer:
        notify = was.definition.notify._replace(url="http://elsewhere.test/")
        return replace(was, definition=was.definition._replace(notify=notify))

    edited = world.registrar.edit(APP, timer.id, elsewhere)
    counts_from = world.now + counts_within_ms(edited.is_told, LEAD_MS)
    world.run_for(20)
    later = [one for one in world.target.of(timer.id) if one.fire_at > counts_from]
    assert {one.request.url for one in later} == {"http://elsewhere.test/"}


def test_what_redis_is_told_at_once_counts_for_what_is_more_than_a_lead_away(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(10.3)
    disabled = world.registrar.disable(APP, timer.id)
    assert disabled.is_told
    counts_from = world.now + counts_within_ms(disabled.is_told, LEAD_MS)
    world.run_for(20)
    assert seen_late(world, timer.id, counts_from) == []


def test_while_sql_is_away_as_well_firings_are_on_time(world: World) -> None:
    timer = world.timer("* * * * * *")
    world.run_for(5)
    let_no_sweep_tell(world)
    world.sql.away = True
    world.run_for(60)
    arrived = [one for one in world.target.of(timer.id) if one.attempt == 1]
    assert len(arrived) >= 60
    assert max(one.late_ms for one in arrived) <= 1


def asked(world: World) -> list[int]:
    """Return the list in which it is noted how many definitions' versions each question to SQL is about."""
    numbers: list[int] = []
    versions = world.timers.versions

    def note(timer_ids: set[int]) -> dict[int, int]:
        numbers.append(len(timer_ids))
        return versions(timer_ids)

    world.timers.versions = note  # type: ignore[method-assign]
    return numbers


def test_while_sweeps_tell_redis_sql_is_asked_of_no_definition(world: World) -> None:
    world.timer("* * * * * *")
    numbers = asked(world)
    world.run_for(60)
    assert numbers == []


def test_what_redis_was_told_too_long_ago_or_in_the_future_is_asked_of_sql(world: World) -> None:
    timer = world.timer("* * * * *")
    numbers = asked(world)
    wanted = world.executor_nodes[0].wanted
    world.run_for(10)
    let_no_sweep_tell(world)
    world.registrar.disable(APP, timer.id)
    old = world.definitions.get([timer.id]).definitions
    for age_ms, questions in ((0, 0), (BELIEVED_MS, 0), (BELIEVED_MS + 1, 1), (-CLOCKS_APART_MS - 1, 2)):
        world.definitions.note_told(world.now - age_ms)
        assert wanted.current(wanted.read([timer.id])) == old
        assert len(numbers) == questions


def test_an_sql_that_does_not_answer_is_not_asked_for_each_chunk(world: World) -> None:
    timer = world.timer("* * * * *")
    world.run_for(10)
    world.definitions.note_told(world.now - 60_000 + 1)
    wanted = world.executor_nodes[0].wanted
    told = wanted.read([timer.id])._replace(until=world.now - 9_000)
    numbers = asked(world)
    world.sql.away = True
    for _ in range(3):
        assert wanted.current(told) == told.definitions
    assert len(numbers) == 1
    world.run_for(REST_S + 0.1)
    assert wanted.current(told) == told.definitions
    assert len(numbers) == 2
