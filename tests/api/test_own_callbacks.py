"""A timer whose target is the API itself makes nothing by it."""

import json
from typing import Any

import pytest

from tests.api.world import DEF, DEFS, ENABLE, UNABLE, World, definition
from tests.made_requests import made_request
from wangtimer.core.flow.firing import Member

KEY = {"app": "shop", "name": "expire"}
ACTING: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", DEF, definition(name="more")),
    ("PATCH", DEF, {"app": "shop", "id": None, "cron": "0 0 1 1 *"}),
    ("POST", ENABLE, KEY),
]


def sent_by_the_timer(world: World, method: str, path: str, fields: dict[str, Any]) -> Any:
    """Send what a callback process would: the request it makes, its own headers among it; `id` None is the timer's."""
    timer_id = world.get(DEFS, app="shop").data[0]["id"]
    if "id" in fields:
        fields = fields | {"id": timer_id}
    timer = world.wiring.timers.get("shop", timer_id)
    notify = timer.definition.notify._replace(body=json.dumps(fields))
    request = made_request(notify, "shop", Member(timer_id, 1_000, 1))
    headers = [(name, value) for name, value in request.headers if name not in ("Expect", "Content-Type")]
    return world.call(method, path, data=request.body, headers=headers, content_type="application/json")


@pytest.mark.parametrize(("method", "path", "fields"), ACTING, ids=lambda value: str(value)[:40])
def test_a_callback_that_acts_on_the_api_is_refused(
    small_world: World, method: str, path: str, fields: dict[str, Any]
) -> None:
    small_world.made()
    answered = sent_by_the_timer(small_world, method, path, fields)
    assert (answered.status, answered.code, answered.json["field"]) == (400, 40013, "webhook-id")
    assert small_world.stored() == (1, 0)


def test_a_callback_may_stop_its_timer(small_world: World) -> None:
    small_world.enabled()
    for method, path in (("POST", UNABLE), ("DELETE", DEF)):
        assert sent_by_the_timer(small_world, method, path, KEY).code == 0


def test_one_of_the_headers_alone_is_not_ours(small_world: World) -> None:
    """Standard Webhooks of others have the first; a service may tell by the others on whose behalf it asks."""
    small_world.made()
    for headers in ({"webhook-id": "1"}, {"X-WangTimer-App": "shop"}):
        body = json.dumps(KEY).encode()
        answered = small_world.call(
            "POST", ENABLE, data=body, headers=headers, content_type="application/json"
        )
        assert answered.code == 0
