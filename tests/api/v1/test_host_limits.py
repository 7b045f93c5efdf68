"""Limits of target hosts over v1: for operators; callback processes are told at once, through Redis."""

import pytest

from tests.api.v1.world import Answered, V1World
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits

ALL, ONE = "/v1/host-limits", "/v1/host-limits/{host}"


def put(world: V1World, host: str, **limits: int | None) -> Answered:
    return world.send("PUT", f"{ALL}/{host}", limits, app=None, rule=ONE)


def test_a_limit_is_set_told_listed_and_taken_out(small_world: V1World) -> None:
    world = small_world
    assert put(world, "Shop.TEST:443", callsPerSecond=50).json == {
        "host": "shop.test:443",
        "callsPerSecond": 50,
        "callsAtOnce": None,
    }
    assert put(world, "*", callsAtOnce=9).status == 200
    assert world.wiring.limits_replica.read() == CallLimits(
        hosts={"shop.test:443": CallLimit(50.0), "*": CallLimit(at_once=9)}
    )
    listed = world.send("GET", f"{ALL}?limit=1", app=None, rule=ALL).json
    assert [one["host"] for one in listed["items"]] == ["*"]
    rest = world.send("GET", f"{ALL}?limit=1&cursor={listed['nextCursor']}", app=None, rule=ALL).json
    assert [one["host"] for one in rest["items"]] == ["shop.test:443"]
    for _ in range(2):
        assert world.send("DELETE", f"{ALL}/*", app=None, rule=ONE).status == 204
    assert world.wiring.limits_replica.read() == CallLimits(hosts={"shop.test:443": CallLimit(50.0)})


@pytest.mark.parametrize("host", ["shop.test", "shop.test:0", "a b:80", ":80", "shop.test:x"])
def test_what_is_no_host_has_no_limit(small_world: V1World, host: str) -> None:
    assert put(small_world, host, callsAtOnce=1).status == 400


def test_a_limit_has_a_figure_at_least(small_world: V1World) -> None:
    assert put(small_world, "shop.test:443").status == 400
    assert put(small_world, "shop.test:443", callsAtOnce=0).status == 400


def test_an_apps_limit_to_one_host_is_told(small_world: V1World) -> None:
    limits = {"callsAtOnceToOneHost": 5}
    made = small_world.send("POST", "/v1/apps", {"name": "ads", "limits": limits}, app=None)
    assert made.json["limits"]["callsAtOnceToOneHost"] == 5
    assert small_world.wiring.limits_replica.read() == CallLimits(to_one_host={"ads": CallLimit(at_once=5)})
