"""Limits of apps on their callbacks: a change tells callback processes at once, through Redis."""

import pytest

from tests.api.v1.world import V1World
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits

APPS, ONE = "/v1/apps", "/v1/apps/{name}"


def change(world: V1World, name: str, **limits: int | None) -> int:
    return world.send("PATCH", f"{APPS}/{name}", {"limits": limits}, app=None, rule=ONE).status


def test_limits_of_callbacks_are_told_when_an_app_is_made_and_changed(small_world: V1World) -> None:
    made = small_world.send("POST", APPS, {"name": "ads", "limits": {"callsPerSecond": 50}}, app=None)
    assert made.status == 201
    assert small_world.wiring.limits_replica.read() == CallLimits({"ads": CallLimit(50.0)})
    assert change(small_world, "ads", callsAtOnce=7) == 200
    assert small_world.wiring.limits_replica.read() == CallLimits({"ads": CallLimit(50.0, 7)})
    assert change(small_world, "ads", callsPerSecond=None, callsAtOnce=None) == 200
    assert small_world.wiring.limits_replica.read() == CallLimits()


def test_a_limit_is_changed_while_redis_is_away_and_told_by_the_next_sweep(
    small_world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_limits: object) -> None:
        raise StoreAway("Redis", "away")

    small_world.send("POST", APPS, {"name": "ads"}, app=None)
    with monkeypatch.context() as patched:
        patched.setattr(small_world.wiring.limits_replica, "write", write)
        assert change(small_world, "ads", callsAtOnce=7) == 200
    assert small_world.wiring.limits_replica.read() == CallLimits()
    small_world.wiring.replicas.tell_again()
    assert small_world.wiring.limits_replica.read() == CallLimits({"ads": CallLimit(at_once=7)})
