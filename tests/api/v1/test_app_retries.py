"""When an app's failed calls are tried again: an operator sets it, and processes are told within seconds."""

from typing import Any

import pytest

from tests.api.v1.world import V1World
from wangtimer.core.retry import Backoff, RetryPolicy

ONE = "/v1/apps/{name}"


@pytest.fixture
def app(small_world: V1World) -> V1World:
    """With the app `ads`."""
    assert small_world.send("POST", "/v1/apps", {"name": "ads"}, app=None).json["retry"] is None
    return small_world


def patch(world: V1World, retry: Any) -> Any:
    return world.send("PATCH", "/v1/apps/ads", {"retry": retry}, app=None, rule=ONE)


def test_it_is_set_shown_told_and_taken_out(app: V1World) -> None:
    made = patch(app, {"attempts": 3, "backoff": "fixed", "pause": "30s"}).json
    assert made["retry"] == {"attempts": 3, "backoff": "fixed", "pause": "30s"}
    assert app.send("GET", "/v1/apps/ads", app=None, rule=ONE).json["retry"] == made["retry"]
    policy = RetryPolicy(attempts=3, backoff=Backoff.FIXED, pause_ms=30_000)
    assert app.wiring.retries_replica.read() == {"ads": policy}
    assert patch(app, {"finalStatuses": ["404"]}).json["retry"]["attempts"] == 3
    assert patch(app, None).json["retry"] is None
    assert app.wiring.retries_replica.read() == {}


@pytest.mark.parametrize(
    ("retry", "pointer"),
    [
        ({"attempts": 0}, "/retry/attempts"),
        ({"attempts": 101}, "/retry/attempts"),
        ({"pauses": ["1ms"]}, "/retry/pauses/0"),
        ({"finalStatuses": ["200"]}, "/retry/finalStatuses"),
        ({"pauses": ["70h", "70h"]}, "/retry"),
        ({"tries": 3}, "/retry/tries"),
        (7, "/retry"),
    ],
)
def test_a_wrong_one_is_refused_by_its_field(app: V1World, retry: Any, pointer: str) -> None:
    refused = patch(app, retry)
    assert (refused.status, refused.json["pointer"]) == (400, pointer)
    assert app.send("GET", "/v1/apps/ads", app=None, rule=ONE).json["retry"] is None
