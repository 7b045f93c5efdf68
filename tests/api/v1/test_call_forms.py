"""`target.templates`, `cloudEvents` and `bodyIsBase64`: how a call is written, of a timer and of a named target."""

from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import present
from wangtimer.core.timers.call_options import UNTOUCHED, CallForm

ONE, PLACE = "/v1/timers/{which}", f"{TIMERS}/key:expire"
TARGET, TARGETS = "/v1/targets/{name}", "/v1/targets/hook"
ALL = {"templates": True, "cloudEvents": True, "bodyIsBase64": True}


def stored_in(world: V1World, timer_id: int) -> tuple[CallForm, CallForm]:
    """Return what SQL and Redis have."""
    row = world.wiring.timers.get("shop", timer_id).definition.form
    return row, world.wiring.definitions.get([timer_id]).definitions[timer_id].form


def test_each_is_stored_and_shown_where_it_is_true_and_taken_away(world: V1World) -> None:
    plain = world.made(target={"url": URL, "templates": False, "cloudEvents": None})
    assert not ALL.keys() & plain.json["target"].keys()
    assert stored_in(world, plain.json["id"]) == (UNTOUCHED, UNTOUCHED)
    given = world.send("PATCH", PLACE, {"target": ALL}, rule=ONE)
    assert given.json["target"] == plain.json["target"] | ALL
    assert stored_in(world, plain.json["id"]) == (CallForm(True, True, True),) * 2
    other = world.send("PATCH", PLACE, {"target": {"timeout": "2s"}}, rule=ONE)
    assert ALL.items() <= other.json["target"].items()
    for taken in ({"templates": None}, {"cloudEvents": False}, {"bodyIsBase64": None}):
        world.send("PATCH", PLACE, {"target": taken}, rule=ONE)
    assert stored_in(world, plain.json["id"]) == (UNTOUCHED, UNTOUCHED)


@pytest.mark.parametrize(
    ("call", "pointer", "word"),
    [
        ({"body": "{{firedAt}}", "templates": True}, "/target/body", "did you mean {{fireAt}}?"),
        ({"json": {"a": "{{x"}, "templates": True}, "/target/body", "is no placeholder"),
        ({"headers": {"X-A": "{{now}}"}, "templates": True}, "/target/headers/X-A", "is no placeholder"),
        ({"body": "not base64!", "bodyIsBase64": True}, "/target/body", "with padding"),
        ({"body": "YQ", "bodyIsBase64": True}, "/target/body", "with padding"),
        ({"templates": "yes"}, "/target/templates", "true or false"),
    ],
    ids=["near", "json", "header", "no Base64", "no padding", "no flag"],
)
def test_what_cannot_be_written_so_is_refused_and_nothing_is_stored(
    world: V1World, call: dict[str, Any], pointer: str, word: str
) -> None:
    whole = {"schedule": {"cron": "* * * * *"}, "target": {"url": URL, **call}}
    refused = world.send("PUT", PLACE, whole, rule=ONE)
    assert refused.status == 400
    assert refused.json["pointer"] == pointer
    assert word in refused.json["detail"]
    assert world.send("GET", PLACE, rule=ONE).status == 404
    put = world.send("PUT", TARGETS, {"url": URL, **call}, rule=TARGET)
    assert (put.status, put.json["pointer"]) == (400, pointer.removeprefix("/target"))


def test_a_change_is_judged_with_what_stays(world: V1World) -> None:
    world.made(target={"url": f"{URL}?x={{{{thing}}}}", "body": "{{thing}}"})
    assert world.send("PATCH", PLACE, {"target": {"templates": True}}, rule=ONE).status == 400
    assert world.send("PATCH", PLACE, {"target": {"bodyIsBase64": True}}, rule=ONE).status == 400
    mended = {"url": f"{URL}?x={{{{attempt}}}}", "body": "{{fireAt}}", "templates": True}
    assert world.send("PATCH", PLACE, {"target": mended}, rule=ONE).status == 200


def test_a_named_target_has_them_too(world: V1World) -> None:
    put = world.send("PUT", TARGETS, {"url": URL, "body": "e30=", **ALL}, rule=TARGET)
    assert ALL.items() <= put.json.items()
    assert world.wiring.target_store.get("shop", "hook").form == CallForm(True, True, True)
    changed = world.send("PATCH", TARGETS, {"cloudEvents": None, "timeout": "2s"}, rule=TARGET)
    assert "cloudEvents" not in changed.json
    assert changed.json["templates"] is changed.json["bodyIsBase64"] is True
    assert world.send("PATCH", TARGETS, {"body": "{}"}, rule=TARGET).status == 400


@pytest.mark.parametrize(
    "call", [{"body": "{{thing}}", "templates": True}, {"body": "!", "bodyIsBase64": True}]
)
def test_a_secret_body_is_judged_as_any_other_when_it_is_given(world: V1World, call: dict[str, Any]) -> None:
    world.made(target={"url": URL})
    secret = {"secretBody": True, **call}
    assert world.send("PATCH", PLACE, {"target": secret}, rule=ONE).status == 400
    whole = {"schedule": {"cron": "* * * * *"}, "target": {"url": URL, **secret}}
    assert world.send("PUT", PLACE, whole, rule=ONE).status == 400


def test_an_ack_timeout_needs_a_key_of_the_deployment(sqlite_url: str, redis_url: str) -> None:
    keyless = V1World(sqlite_url, redis_url, present(), secret_keys="")
    keyless.wiring.database.create_tables()
    made = {"key": "a", "schedule": {"delay": "1h"}, "target": {"url": URL, "ackTimeout": "1h"}}
    refused = keyless.send("POST", TIMERS, made)
    keyless.close()
    assert (refused.status, refused.json["pointer"]) == (400, "/target/ackTimeout")
    assert "WANGTIMER_SECRET_KEYS_FILE" in refused.json["detail"]
