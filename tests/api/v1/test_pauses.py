"""Pauses over v1: for operators; callback processes are told at once, through Redis."""

import pytest

from tests.api.v1.world import Answered, V1World
from wangtimer.core.errors import StoreAway

ALL, ONE = "/v1/pauses", "/v1/pauses/{what}"


def told(world: V1World) -> frozenset[str]:
    pauses = world.wiring.pauses_replica.read()
    return frozenset() if pauses is None else pauses.names


def put(world: V1World, name: str, reason: str = "") -> Answered:
    return world.send("PUT", f"{ALL}/{name}", {"reason": reason}, app=None, rule=ONE)


def test_what_is_paused_is_told_listed_and_goes_on(small_world: V1World) -> None:
    world = small_world
    world.send("POST", "/v1/apps", {"name": "ads"}, app=None)
    assert put(world, "app:ads", "deploying").json["reason"] == "deploying"
    again = put(world, "app:ads", "again").json
    assert (again["app"], again["reason"]) == ("ads", "deploying")
    assert put(world, "host:Shop.TEST:443").json["name"] == "host:shop.test:443"
    assert put(world, "all").status == 200
    assert told(world) == {"app:ads", "host:shop.test:443", "all"}
    listed = world.send("GET", f"{ALL}?limit=2", app=None, rule=ALL).json
    assert [one["name"] for one in listed["items"]] == ["all", "app:ads"]
    rest = world.send("GET", f"{ALL}?limit=2&cursor={listed['nextCursor']}", app=None, rule=ALL).json
    assert [one["name"] for one in rest["items"]] == ["host:shop.test:443"]
    assert world.send("DELETE", f"{ALL}/app:ads", app=None, rule=ONE).status == 204
    assert world.send("DELETE", f"{ALL}/app:ads", app=None, rule=ONE).status == 404
    assert told(world) == {"host:shop.test:443", "all"}


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("app:unknown", 404),
        ("timer:17", 404),
        ("everything", 400),
        ("app:", 400),
        ("host:shop.test", 400),
        ("host:", 400),
        ("host:a b:80", 400),
        ("timer:x", 400),
        ("timer:²", 400),
    ],
)
def test_what_does_not_exist_is_not_paused(small_world: V1World, name: str, status: int) -> None:
    assert put(small_world, name).status == status
    assert told(small_world) == frozenset()


def test_a_timer_is_paused_by_its_id(small_world: V1World) -> None:
    body = {"key": "a", "schedule": {"every": "5m"}, "target": {"url": "http://t.example/"}}
    made = small_world.send("POST", "/v1/timers", body).json
    paused = put(small_world, f"timer:{made['id']}").json
    assert paused["name"] == f"timer:{made['id']}"
    assert paused["app"] is not None
    assert told(small_world) == {f"timer:{made['id']}"}


def test_what_is_paused_while_redis_is_away_is_told_by_the_next_sweep(
    small_world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_rules: object) -> None:
        raise StoreAway("Redis", "away")

    with monkeypatch.context() as patched:
        patched.setattr(small_world.wiring.pauses_replica, "write", write)
        assert put(small_world, "all").status == 200
    assert told(small_world) == frozenset()
    small_world.wiring.replicas.tell_again()
    assert told(small_world) == {"all"}
