"""The refresher: Redis learns of every change, however long it was away, and of none twice without need."""

from collections.abc import Callable

import pytest

from tests.stages.world import APP, World
from wangtimer.core.timers.timer import Definition
from wangtimer.store import refresher
from wangtimer.store.refresher import Refresher

MINUTE = 60_000


@pytest.fixture
def idle(make_world: Callable[..., World]) -> World:
    """A deployment whose beat never ticks."""
    return make_world(executors=0)


def refresher_of(world: World) -> Refresher:
    return Refresher(world.beat.timers, world.beat.definitions, ())


def written(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list in which timers are noted whose definitions are written from now on."""
    ids: list[int] = []
    put = world.beat.definitions.put

    def note(definitions: list[Definition], may_be_far: bool = False) -> None:
        definitions = list(definitions)
        ids.extend(one.timer_id for one in definitions)
        put(definitions, may_be_far)

    monkeypatch.setattr(world.beat.definitions, "put", note)
    return ids


def disabled_in_redis(world: World) -> set[int]:
    held = world.beat.definitions.get(list(range(1, 100))).definitions
    return {one for one, definition in held.items() if not definition.is_enabled}


def test_what_changed_while_redis_was_away_for_long_is_told(idle: World) -> None:
    timer = idle.timer("* * * * *")
    refresher_of(idle).refresh(idle.now)
    idle.redis.away = True
    idle.registrar.disable(APP, timer.id)
    idle.run_for(10 * 60)
    idle.redis.away = False
    refresher_of(idle).refresh(idle.now)
    assert disabled_in_redis(idle) == {timer.id}


def test_a_redis_that_went_back_in_time_is_told_again(idle: World) -> None:
    timer, telling = idle.timer("* * * * *"), refresher_of(idle)
    telling.refresh(idle.now)
    before = idle.redis.snapshot()
    idle.run_for(5 * 60)
    idle.registrar.disable(APP, timer.id)
    idle.run_for(10 * 60)
    telling.refresh(idle.now)
    idle.redis.away = True
    idle.redis.restore(before)
    idle.redis.away = False
    telling.refresh(idle.now)
    assert disabled_in_redis(idle) == {timer.id}


def test_what_was_told_is_not_told_again(idle: World, monkeypatch: pytest.MonkeyPatch) -> None:
    timer, telling, ids = idle.timer("* * * * *"), refresher_of(idle), written(idle, monkeypatch)
    telling.refresh(idle.now)
    telling.refresh(idle.now + 5_000)
    assert ids == [timer.id]
    idle.registrar.disable(APP, timer.id)
    telling.refresh(idle.now + 10_000)
    assert ids == [timer.id, timer.id]


def test_more_changes_than_one_call_takes_are_told_by_the_next(
    idle: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresher, "PAGE", 2)
    monkeypatch.setattr(refresher, "PAGES_A_CALL", 2)
    timers = [idle.timer("* * * * *") for _ in range(5)]
    telling, ids = refresher_of(idle), written(idle, monkeypatch)
    telling.refresh(idle.now)
    assert ids == [timer.id for timer in timers[:4]]
    assert idle.beat.definitions.told_until() is None
    telling.refresh(idle.now + 5_000)
    assert ids == [timer.id for timer in timers]
    assert idle.beat.definitions.told_until() == idle.now
