"""Limits of apps on their callbacks: a change tells callback processes at once, through Redis."""

import pytest

from tests.api.v1.world import V1World
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit

APPS, ONE = "/v1/apps", "/v1/apps/{name}"


def change(api: V1World, name: str, **limits: int | None) -> int:
    return api.send("PATCH", f"{APPS}/{name}", {"limits": limits}, app=None, rule=ONE).status


def test_limits_of_callbacks_are_told_when_an_app_is_made_and_changed(api: V1World) -> None:
    made = api.send("POST", APPS, {"name": "ads", "limits": {"callsPerSecond": 50}}, app=None)
    assert made.status == 201
    assert api.wiring.call_limits.read() == {"ads": CallLimit(50.0)}
    assert change(api, "ads", callsAtOnce=7) == 200
    assert api.wiring.call_limits.read() == {"ads": CallLimit(50.0, 7)}
    assert change(api, "ads", callsPerSecond=None, callsAtOnce=None) == 200
    assert api.wiring.call_limits.read() == {}


def test_a_limit_is_changed_while_redis_is_away_and_told_by_the_next_sweep(
    api: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_limits: object) -> None:
        raise StoreAway("Redis", "away")

    api.send("POST", APPS, {"name": "ads"}, app=None)
    with monkeypatch.context() as patched:
        patched.setattr(api.wiring.call_limits, "write", write)
        assert change(api, "ads", callsAtOnce=7) == 200
    assert api.wiring.call_limits.read() == {}
    api.wiring.limit_teller.tell()
    assert api.wiring.call_limits.read() == {"ads": CallLimit(at_once=7)}
