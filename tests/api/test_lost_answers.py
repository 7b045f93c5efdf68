"""A change whose answer SQL lost on its way back is told to its caller and to Redis as any other."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api.v1.test_batch_create import create, item
from tests.api.world import DEF, ENABLE, Answered, V1Answered, World
from wangtimer.store.sql.database import Database

SOON = 1_000

Change = Callable[[World, int], Answered | V1Answered]


@pytest.fixture
def lossy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """From its call on each write is committed, its answer lost, and so it is run once more."""
    repeat = Database._repeat
    lost: list[Any] = []

    def run_twice(self: Database, attempt: Any, *more: Any) -> Any:
        if attempt.__name__ == "transaction":
            lost.append(attempt)
            repeat(self, attempt, *more)
        return repeat(self, attempt, *more)

    yield lambda: monkeypatch.setattr(Database, "_repeat", run_twice)
    assert lost, "no write lost its answer"


def create_enabled(world: World, _: int) -> V1Answered:
    return create(world, item("new", {"cron": "* * * * * *"}))


def change_many(verb: str) -> Change:
    return lambda world, timer_id: world.send("POST", f"/v1/timers:batch{verb}", {"ids": [timer_id]})


@pytest.mark.parametrize(
    "change",
    [
        lambda world, timer_id: world.post(ENABLE, app="shop", id=timer_id),
        change_many("Enable"),
        create_enabled,
    ],
    ids=["alone", "many", "batch"],
)
def test_what_was_enabled_fires_at_once(world: World, lossy: Callable[[], None], change: Change) -> None:
    timer_id = world.made(name="a")
    lossy()
    assert change(world, timer_id).status == 200
    assert world.broker.moments == [world.clock.now + SOON]
    slices = world.wiring.redis.command(lambda redis: redis.keys("*:due"))
    assert slices, "the rest of the coming minute is in no slice"


@pytest.mark.parametrize(
    "change",
    [
        lambda world, timer_id: world.delete(app="shop", id=timer_id),
        lambda world, _: world.delete(app="shop", name="a"),
        change_many("Delete"),
        change_many("Disable"),
    ],
    ids=["by id", "by name", "many", "many disabled"],
)
def test_what_was_switched_off_fires_no_more(world: World, lossy: Callable[[], None], change: Change) -> None:
    timer_id = world.enabled(name="a")
    lossy()
    assert change(world, timer_id).status == 200
    assert not world.wiring.definitions.get([timer_id]).definitions[timer_id].is_enabled


def test_what_somebody_else_deleted_is_still_unknown(world: World, lossy: Callable[[], None]) -> None:
    timer_id = world.made(name="a")
    world.delete(app="shop", id=timer_id)
    lossy()
    assert (
        world.delete(app="shop", id=timer_id).status
        == world.call("GET", DEF, query_string={"app": "shop", "id": timer_id}).status
        == 404
    )
