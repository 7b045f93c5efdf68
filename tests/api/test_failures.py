"""When the service is at fault, or what it needs is away."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.api.world import DEF, DEFS, ENABLE, RECORDS, UNABLE, World
from wangtimer.core.errors import StoreAway, TookTooLong
from wangtimer.stack.ports import free_port


def every_answer(world: World, timer_id: int) -> list[Any]:
    key = {"app": "shop", "id": timer_id}
    answers = [world.create(name="another"), world.delete(**key), world.get(DEFS, app="shop")]
    answers += [world.post(path, **key) for path in (ENABLE, UNABLE)]
    answers += [world.get(path, **key) for path in (DEF, RECORDS)]
    return answers


@pytest.fixture
def lost_world(redis_url: str) -> World:
    """The API of a MariaDB that nobody runs."""
    return World(f"mysql://root@127.0.0.1:{free_port()}/gone", redis_url, 1_800_000_000_000)


def test_without_sql_every_operation_is_503_and_says_when_to_come_again(lost_world: World) -> None:
    for answered in every_answer(lost_world, 1):
        assert (answered.status, answered.code) == (503, 50301)
        assert answered.headers["Retry-After"] == "1"
        assert "127.0.0.1" not in answered.msg


def test_without_a_clock_nothing_is_stored(world: World) -> None:
    timer_id = world.made()
    world.clock.is_away = True
    for answered in (world.create(name="another"), world.post(ENABLE, app="shop", id=timer_id)):
        assert (answered.status, answered.code) == (503, 50301)
    world.clock.is_away = False
    assert world.stored() == (1, 0)
    assert world.get(DEF, app="shop", id=timer_id).data["status"] == 1


def test_without_redis_a_change_is_made_and_left_to_the_sweep(sqlite_url: str) -> None:
    world = World(sqlite_url, f"redis://127.0.0.1:{free_port()}/0", 1_800_000_000_000)
    world.wiring.database.create_tables()
    timer_id = world.enabled(cron="* * * * * *")
    assert world.stored() == (1, 60)
    assert world.get(DEF, app="shop", id=timer_id).data["status"] == 2


def test_a_fault_is_logged_and_its_trace_stays_inside(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr(world.wiring.timers, "get", fail)
    with capture_logs() as logs:
        answered = world.get(DEF, app="shop", id=1)
    assert (answered.status, answered.code) == (500, 50001)
    assert "secret" not in str(answered.json)
    (event,) = [log for log in logs if log["event"] == "request_failed"]
    assert isinstance(event["exc_info"], RuntimeError)


def test_a_store_that_goes_away_is_logged_with_its_cause(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreAway("SQL", "cut off")

    monkeypatch.setattr(world.wiring.timers, "get", fail)
    with capture_logs() as logs:
        assert world.get(DEF, app="shop", id=1).status == 503
    assert [log["error"] for log in logs if log["event"] == "store_away"] == ["SQL is away: cut off"]


def test_a_statement_that_sql_ended_for_its_time_does_not_say_that_sql_is_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TookTooLong("SQL", "max_statement_time exceeded")

    monkeypatch.setattr(world.wiring.timers, "get", fail)
    with capture_logs() as logs:
        answered = world.get(DEF, app="shop", id=1)
    assert (answered.status, answered.code, answered.headers["Retry-After"]) == (503, 50305, "30")
    assert "away" not in answered.json["msg"]
    assert [log["event"] for log in logs] == ["took_too_long"]
