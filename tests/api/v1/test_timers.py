"""One timer by the native paths."""

from typing import Any

import pytest

from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import DEFS

ONE = "/v1/timers/{which}"


def body(**fields: Any) -> dict[str, Any]:
    return {"key": "expire", "schedule": {"cron": "* * * * * *"}, "target": {"url": URL}} | fields


def test_a_timer_is_made_enabled_in_one_request_and_planned(world: V1World) -> None:
    made = world.made()
    assert (made.json["status"], made.json["version"], made.etag) == ("enabled", 1, '"1"')
    assert made.headers["Location"] == f"{TIMERS}/{made.json['id']}"
    assert made.json["countsWithin"] == "1s"
    assert len(made.json["preview"]["nextMoments"]) == 5
    assert world.stored() == (1, 60)


def test_a_timer_may_be_made_disabled(world: V1World) -> None:
    made = world.made(enabled=False)
    assert (made.json["status"], made.json["enabled"], made.json["nextFireAt"]) == ("disabled", False, None)
    assert world.stored() == (1, 0)


def test_a_timer_is_read_by_its_id_and_by_its_key(world: V1World) -> None:
    made = world.made(key="order 42: 账单")
    by_id = world.send("GET", made.headers["Location"], rule=ONE)
    by_key = world.send("GET", f"{TIMERS}/key:order 42: 账单", rule=ONE)
    assert by_id.json == by_key.json
    assert by_id.json.pop("lastOutcome") is None
    assert by_id.json.items() <= made.json.items()
    assert by_id.etag == made.etag


def test_a_timer_without_a_key_gets_one(small_world: V1World) -> None:
    made = small_world.send("POST", TIMERS, {"schedule": {"delay": "90s"}, "target": {"url": URL}})
    assert small_world.send("GET", f"{TIMERS}/key:{made.json['key']}", rule=ONE).json["id"] == made.json["id"]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"every": "5m"}, {"every": "5m", "timezone": "UTC"}),
        ({"every": "PT1M30S"}, {"every": "1m30s"}),
        ({"every": "1.5s"}, {"every": "1s500ms"}),
        ({"every": "2w"}, {"every": "14d"}),
        (
            {"cron": "0 0 9 ? * 2", "dialect": "quartz", "timezone": "Asia/Shanghai"},
            {"cron": "0 0 9 ? * 2", "dialect": "quartz", "timezone": "Asia/Shanghai"},
        ),
        ({"at": "2099-01-01T08:00:00+08:00"}, {"at": "2099-01-01T00:00:00.000Z"}),
        (
            {
                "every": "1h",
                "startAt": "2098-01-01T00:00:00Z",
                "endAt": "2099-01-01T00:00:00Z",
                "maxFirings": 7,
                "jitter": "30s",
                "excludeCalendar": "weekends",
            },
            {
                "startAt": "2098-01-01T00:00:00.000Z",
                "endAt": "2099-01-01T00:00:00.000Z",
                "maxFirings": 7,
                "jitter": "30s",
                "excludeCalendar": "weekends",
            },
        ),
    ],
)
def test_a_schedule_is_shown_as_it_was_given(small_world: V1World, given: Any, shown: Any) -> None:
    assert shown.items() <= small_world.made(schedule=given).json["schedule"].items()


def test_a_delay_becomes_one_moment(small_world: V1World) -> None:
    made = small_world.made(schedule={"delay": "2h"})
    assert made.json["schedule"]["at"] == made.json["nextFireAt"]
    assert made.json["preview"]["nextMoments"][0]["utc"] == made.json["nextFireAt"]


def test_json_is_sent_with_its_content_type_unless_another_is_named(small_world: V1World) -> None:
    json = {"order": 7, "note": "账单"}
    own = small_world.made(target={"url": URL, "json": json}).json["target"]
    assert own["body"] == '{"order":7,"note":"账单"}'
    assert own["headers"] == {"Content-Type": ["application/json"]}
    other = {"url": URL, "json": json, "headers": {"content-type": "application/x-order+json"}}
    named = small_world.made(key="other", target=other)
    assert named.json["target"]["headers"] == {"content-type": ["application/x-order+json"]}


@pytest.mark.parametrize(
    "number",
    [
        *("12345678901234567890.5", "1.10", "1e5", "-0.0", "-0", "123456789012345678901234567890", "1E-400"),
        *("1.10,18446744073709551616", "-9223372036854775809,1e5", "9223372036854775808"),
    ],
)
def test_json_keeps_the_digits_of_each_number(small_world: V1World, number: str) -> None:
    sent = f'{{"schedule":{{"delay":"1h"}},"target":{{"url":"{URL}","json":{{"a":[{number}]}}}}}}'
    made = small_world.send("POST", TIMERS, sent.encode())
    assert made.json["target"]["body"] == f'{{"a":[{number}]}}'


def test_a_number_that_is_too_large_is_refused_and_its_place_named(small_world: V1World) -> None:
    sent = f'{{"schedule":{{"delay":"1h"}},"target":{{"url":"{URL}","json":{{"a":[1.5,-1e999]}}}}}}'
    refused = small_world.send("POST", TIMERS, sent.encode())
    assert (refused.status, refused.json["code"]) == (400, 40007)
    assert refused.json["pointer"] == "/target/json/a/1"
    assert refused.json["detail"] == "the number is too large; write one below 1.8e308, or text"


def test_a_patch_changes_what_it_names_and_nothing_else(world: V1World) -> None:
    made = world.made(
        target={"url": URL, "method": "PUT", "headers": {"X-A": "1", "X-B": "2"}, "body": "x"}, tags=["a"]
    )
    patched = world.send(
        "PATCH",
        made.headers["Location"],
        {"target": {"headers": {"X-A": None}}, "misfire": {"policy": "skip", "grace": "5s"}},
        rule=ONE,
    )
    assert patched.json["target"] == made.json["target"] | {"headers": {"X-B": ["2"]}}
    assert patched.json["misfire"] == {"policy": "skip", "grace": "5s", "catchupWindow": "0s"}
    assert (patched.json["tags"], patched.json["version"]) == (["a"], 2)
    assert patched.json["schedule"] == made.json["schedule"]


def test_a_patch_may_switch_a_timer_and_change_it_in_one_commit(world: V1World) -> None:
    made = world.made(enabled=False)
    on = world.send(
        "PATCH", made.headers["Location"], {"enabled": True, "schedule": {"every": "2s"}}, rule=ONE
    )
    assert (on.json["status"], on.json["version"], on.json["schedule"]["every"]) == ("enabled", 2, "2s")
    assert "cron" not in on.json["schedule"]
    off = world.send("PATCH", made.headers["Location"], {"enabled": False, "tags": ["off"]}, rule=ONE)
    assert (off.json["status"], off.json["version"], off.json["tags"]) == ("disabled", 3, ["off"])


def test_a_change_of_another_version_is_refused_and_stores_nothing(world: V1World) -> None:
    made = world.made()
    place = made.headers["Location"]
    patched = world.send("PATCH", place, {"tags": ["b"]}, rule=ONE, If_Match=made.etag)
    for method, path, change in (
        ("PATCH", place, {"tags": ["c"]}),
        ("PUT", place, {name: value for name, value in body().items() if name != "key"}),
        ("DELETE", place, None),
        ("POST", f"{place}:disable", None),
    ):
        rule = ONE + path.removeprefix(place)
        refused = world.send(method, path, change, rule=rule, If_Match=made.etag)
        assert (refused.status, refused.json["parameter"]) == (412, "If-Match")
    assert world.send("GET", place, rule=ONE).etag == patched.etag


def test_a_put_for_any_version_creates_nothing(world: V1World) -> None:
    whole = {"schedule": {"every": "1m"}, "target": {"url": URL}}
    refused = world.send("PUT", f"{TIMERS}/key:expire", whole, rule=ONE, If_Match="*")
    assert (refused.status, refused.json["code"], refused.json["parameter"]) == (412, 41201, "If-Match")
    assert world.stored() == (0, 0)
    world.made()
    replaced = world.send("PUT", f"{TIMERS}/key:expire", whole, rule=ONE, If_Match="*")
    assert (replaced.status, replaced.json["version"]) == (200, 2)


def test_put_by_key_makes_a_timer_and_then_replaces_it(world: V1World) -> None:
    whole = {"schedule": {"every": "1m"}, "target": {"url": URL}}
    made = world.send("PUT", f"{TIMERS}/key:nightly", whole, rule=ONE)
    assert (made.status, made.json["status"]) == (201, "enabled")
    again = world.send("PUT", f"{TIMERS}/key:nightly", whole, rule=ONE)
    assert (again.status, again.json["version"]) == (200, made.json["version"])
    off = world.send("PUT", f"{TIMERS}/key:nightly", whole | {"enabled": False}, rule=ONE)
    assert (off.json["id"], off.json["status"]) == (made.json["id"], "disabled")


def test_a_timer_is_disabled_enabled_and_deleted(world: V1World) -> None:
    made = world.made(schedule={"every": "1h"})
    place = made.headers["Location"]
    off = world.send("POST", f"{place}:disable", rule=f"{ONE}:disable")
    assert (off.json["timer"]["status"], off.json["stopped"]["state"]) == ("disabled", "cancelled")
    on = world.send("POST", f"{place}:enable", rule=f"{ONE}:enable")
    assert on.json["status"] == "enabled"
    gone = world.send("DELETE", f"{TIMERS}/key:expire", rule=ONE)
    assert gone.json["timer"]["id"] == made.json["id"]
    assert world.send("GET", place, rule=ONE).status == 404


def test_another_apps_timer_is_unknown(small_world: V1World) -> None:
    made = small_world.made()
    for which in (made.json["id"], "key:expire", 17, "key:none"):
        answered = small_world.send("GET", f"{TIMERS}/{which}", rule=ONE, app="bank")
        assert (answered.status, answered.json["code"]) == (404, 40401)


def test_the_same_request_under_a_key_is_done_once(world: V1World) -> None:
    first = world.send("POST", TIMERS, body(), Idempotency_Key="one")
    again = world.send("POST", TIMERS, body(), Idempotency_Key="one")
    assert (again.status, again.json, again.etag) == (201, first.json, first.etag)
    assert (again.headers["Location"], again.headers["Idempotent-Replayed"]) == (
        first.headers["Location"],
        "true",
    )
    assert world.stored()[0] == 1
    other = world.send("POST", TIMERS, body(tags=["x"]), Idempotency_Key="one")
    assert other.status == 422


def test_a_key_in_use_is_a_conflict_that_names_the_timer(world: V1World) -> None:
    made = world.made()
    refused = world.send("POST", TIMERS, body())
    assert (refused.status, refused.json["existingId"], refused.json["pointer"]) == (
        409,
        made.json["id"],
        "/key",
    )


@pytest.mark.parametrize(
    ("fields", "pointer", "meant"),
    [
        ({"schedule": {"cron": "0 25 * * *"}}, "/schedule/cron", None),
        ({"schedule": {"every": "500ms"}}, "/schedule/every", None),
        ({"schedule": {"every": "soon"}}, "/schedule/every", None),
        ({"schedule": {"cron": "* * * * *", "every": "1m"}}, "/schedule", None),
        ({"schedule": {}}, "/schedule", None),
        ({"schedule": {"cron": "* * * * *", "timezone": "Beijing"}}, "/schedule/timezone", "Asia/Shanghai"),
        ({"schedule": {"cron": "* * * * *", "excludeCalendar": "x"}}, "/schedule/excludeCalendar", None),
        ({"schedule": {"at": "tomorrow"}}, "/schedule/at", None),
        ({"schedule": {"at": "2001-01-01T00:00:00Z"}}, "/schedule/at", None),
        ({"schedule": {"cronExpression": "* * * * *"}}, "/schedule/cronExpression", "schedule.cron"),
        ({"target": {"url": "ftp://x"}}, "/target/url", None),
        ({"target": {"url": URL, "header": {}}}, "/target/header", "headers"),
        ({"target": {"url": URL, "headers": {"Host": "x"}}}, "/target/headers/Host", None),
        ({"target": {"url": URL, "method": "TRACE"}}, "/target/method", None),
        ({"target": {"url": URL, "body": "x", "json": 1}}, "/target/json", None),
        ({"name": "x"}, "/name", "key"),
        ({"tags": [""]}, "/tags/0", None),
        ({"misfire": {"grace": "1ms"}}, "/misfire/grace", None),
    ],
)
def test_what_is_wrong_is_pointed_at(
    small_world: V1World, fields: Any, pointer: str, meant: str | None
) -> None:
    refused = small_world.send("POST", TIMERS, body(**fields))
    assert (refused.status, refused.json.get("pointer"), refused.json.get("didYouMean")) == (
        400,
        pointer,
        meant,
    )
    assert small_world.stored() == (0, 0)


def test_the_app_is_named_by_a_header(small_world: V1World) -> None:
    refused = small_world.send("POST", TIMERS, body(), app=None)
    assert (refused.status, refused.json["code"], refused.json["parameter"]) == (400, 40005, "WangTimer-App")


def test_an_app_may_be_named_in_any_script(small_world: V1World) -> None:
    made = small_world.send("POST", TIMERS, body(), app="账单")
    assert (made.status, made.json["app"]) == (201, "账单")
    assert small_world.get(DEFS, app="账单").data[0]["id"] == made.json["id"]


def test_an_app_that_is_not_in_utf8_is_refused(small_world: V1World) -> None:
    refused = small_world.send("GET", TIMERS, app=None, WangTimer_App="\xe9")
    assert (refused.status, refused.json["parameter"]) == (400, "WangTimer-App")


def test_what_is_neither_an_id_nor_a_key_says_how_to_write_one(small_world: V1World) -> None:
    refused = small_world.send("GET", f"{TIMERS}/order-42", rule=ONE)
    assert (refused.status, refused.json["parameter"]) == (400, "which")
    assert "key:order-42" in refused.json["detail"]


def test_a_callback_of_ours_makes_no_timer(small_world: V1World) -> None:
    refused = small_world.send("POST", TIMERS, body(), webhook_id="1-2", X_WangTimer_Timer="1")
    assert (refused.status, refused.json["code"]) == (400, 40013)


def test_a_schedule_is_previewed_and_nothing_is_stored(small_world: V1World) -> None:
    seen = small_world.send(
        "POST",
        "/v1/schedules:preview",
        {"schedule": {"cron": "0 9 * * 1-5", "timezone": "Asia/Shanghai"}, "count": 3},
    )
    assert len(seen.json["nextMoments"]) == 3
    assert seen.json["nextMoments"][0]["at"].endswith("T09:00:00.000+08:00")
    assert small_world.stored() == (0, 0)


def test_a_path_that_is_none_is_a_problem_too(small_world: V1World) -> None:
    response = small_world.client.get("/v1/nothing")
    assert (response.status_code, response.mimetype) == (404, "application/problem+json")
    wrong = small_world.client.put("/v1/timers")
    assert (wrong.status_code, wrong.mimetype) == (405, "application/problem+json")
    assert set(wrong.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST", "OPTIONS"}
