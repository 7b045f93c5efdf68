"""A refusal of v1 says what to write instead, in v1's words."""

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner

from tests.api.v1.world import TIMERS, URL, V1World
from wangtimer.api.compat.xtimer_words import in_xtimers_words
from wangtimer.cli.timers.cron_command import cron as cron_command

ONE = "/v1/timers/{which}"
PLACE = f"{TIMERS}/key:expire"
SPAN = "write it as in 90s, 1.5s, 1h30m, 250ms, 2w, or ISO 8601 as in PT90S"
TARGET = {"url": URL}


def refused(world: V1World, **fields: Any) -> dict[str, Any]:
    """Return the problem of a timer with these fields."""
    answered = world.send("POST", TIMERS, {"schedule": {"delay": "30m"}, "target": TARGET} | fields)
    assert answered.status == 400, answered.json
    problem: dict[str, Any] = answered.json
    return problem


@pytest.mark.parametrize(
    ("fields", "pointer", "given"),
    [
        ({"schedule": {"delay": 1800}}, "/schedule/delay", "1800"),
        ({"schedule": {"every": 60.5}}, "/schedule/every", "60.5"),
        ({"schedule": {"cron": "0 9 * * *", "jitter": 5}}, "/schedule/jitter", "5"),
        ({"target": TARGET | {"timeout": 5}}, "/target/timeout", "5"),
        ({"misfire": {"grace": 2}}, "/misfire/grace", "2"),
    ],
)
def test_a_number_for_a_span_gets_the_advice_of_a_text_that_is_none(
    small_world: V1World, fields: dict[str, Any], pointer: str, given: str
) -> None:
    problem = refused(small_world, **fields)
    assert (problem["pointer"], problem["detail"]) == (pointer, f"{given} is not a span of time; {SPAN}")


OTHER_WORDS = "everyMs|cronDialect|delayMs|jitterMs|misfireGraceMs|catchupWindowMs|timeoutMs|notifyHTTPParam"
# Expressions whose warnings or refusals tell of an interval or of the quartz dialect.
CRONS = ("*/7 * * * *", "*/90 * * * *", "0 9 ? * 2", "@every 5m", "0 0 L-3 * *", "0 9 * * 6L")


def test_nothing_that_v1_or_the_command_line_says_has_words_of_the_compatible_paths(
    small_world: V1World,
) -> None:
    said = []
    schedules = [{"cron": cron} for cron in CRONS]
    for schedule in (
        *schedules,
        {"every": "10ms"},
        {"delay": "90000d"},
        {"at": 5},
        {"cron": "* * * * *", "jitter": "9d"},
    ):
        fields = {"schedule": schedule, "target": TARGET, "enabled": False}
        said.append(small_world.send("POST", TIMERS, fields).json)
        said.append(small_world.send("POST", "/v1/schedules:preview", {"schedule": schedule}).json)
        said.append(small_world.send("POST", f"{TIMERS}:batchCreate", {"timers": [fields]}).json)
    for misfire in ({"grace": "1ms"}, {"catchupWindow": "90000d"}):
        said.append(refused(small_world, misfire=misfire))
    told = [CliRunner().invoke(cron_command, [cron]).output for cron in CRONS]
    text = json.dumps(said, ensure_ascii=False) + "".join(told)
    assert "for an interval use every" in text
    assert '"dialect": "quartz" knows it' in "".join(told)
    assert (
        re.findall(
            r"everyMs|cronDialect|delayMs|jitterMs|misfireGraceMs|catchupWindowMs|notifyHTTPParam", text
        )
        == []
    )


def test_what_a_caller_wrote_stays_as_it_is() -> None:
    assert in_xtimers_words("'every' is the app's; use every") == "'every' is the app's; use everyMs"


def test_other_values_for_a_span_get_it_too(small_world: V1World) -> None:
    for value in (True, {"minutes": 30}, ["30m"]):
        assert refused(small_world, schedule={"delay": value})["detail"] == f"it is not text; {SPAN}"


def test_a_key_in_use_is_no_reason_to_delete_a_timer(small_world: V1World) -> None:
    first = small_world.made(key="expire")
    again = small_world.send(
        "POST", TIMERS, {"key": "expire", "schedule": {"delay": "30m"}, "target": TARGET}
    )
    assert (again.status, again.json["code"]) == (409, 40901)
    assert again.json["detail"] == (
        f"the key is in use, timer {first.json['id']}; to change that timer, PUT or PATCH it at /v1/timers/key:...; "
        "to repeat a request, send the Idempotency-Key of the first"
    )


def test_a_request_that_names_no_app_gets_the_header_to_send(small_world: V1World) -> None:
    problem = small_world.send("GET", "/v1/calendars", app=None).json
    assert problem["parameter"] == "WangTimer-App"
    assert problem["detail"] == (
        "missing; send the header WangTimer-App with your app's name, as in WangTimer-App: shop"
    )


@pytest.mark.parametrize(
    ("fields", "example"),
    [
        ({"schedule": "30m"}, '{"delay": "30m"}'),
        ({"target": URL}, '{"url": "https://shop.example/orders/expire"}'),
        ({"misfire": "skip"}, '{"policy": "skip"}'),
    ],
)
def test_a_text_for_an_object_gets_an_example_of_it(
    small_world: V1World, fields: dict[str, Any], example: str
) -> None:
    assert refused(small_world, **fields)["detail"] == f"wrong type; write an object, as in {example}"
    one_of_many = {"schedule": {"delay": "30m"}, "target": TARGET} | fields
    batch = small_world.send("POST", f"{TIMERS}:batchCreate", {"timers": [one_of_many]}).json
    assert batch["items"][0]["problem"]["detail"] == f"wrong type; write an object, as in {example}"


def test_a_merge_patch_may_say_that_it_is_one(small_world: V1World) -> None:
    small_world.made()
    kind = "application/merge-patch+json"
    patch = small_world.send("PATCH", PLACE, {"tags": ["a"]}, rule=ONE, Content_Type=kind)
    assert (patch.status, patch.json["tags"]) == (200, ["a"])
    whole = {"schedule": {"delay": "30m"}, "target": TARGET}
    assert small_world.send("PUT", PLACE, whole, rule=ONE, Content_Type=kind).status == 415


def test_a_plus_that_became_a_space_is_told(small_world: V1World) -> None:
    query = {"since": "2026-11-20T08:00:00 08:00"}
    problem = small_world.send("GET", "/v1/firings", query=query).json
    assert problem["detail"].endswith("in a URL a + stands for a space: write + as %2B, or use Z")
    other = small_world.send("GET", "/v1/firings", query={"since": "2026-11-20 08:00"}).json
    assert other["detail"].endswith("add its offset from UTC, as in 2026-11-20T08:00:00+08:00, or Z for UTC")


@pytest.mark.parametrize(
    ("written", "reason", "meant"),
    [
        (
            "2026-12-01T09:00:00",
            "has no offset; give timezone beside it, or add its offset from UTC, as in 2026-12-01T09:00:00+08:00",
            None,
        ),
        ("2026-12-01", "has no time of day; add it with its offset, as in 2026-12-01T09:00:00+08:00", None),
        ("T09:00+08:00", "has no date; write it as in ", None),
        ("2026-12-01T09:00+08:00", "has no seconds", "2026-12-01T09:00:00+08:00"),
        ("2026-12-01T09:00:00+0800", "has its offset in another form", "2026-12-01T09:00:00+08:00"),
        ("2026-12-01 09:00:00.5 +08", "has its offset in another form", "2026-12-01T09:00:00.5+08:00"),
        ("2026-02-30T00:00:00Z", "has a day, a time or an offset that there is not", None),
        ("2026-12-01T24:00:00+0800", "has a day, a time or an offset that there is not", None),
        (
            "1796086800",
            "is a number in quotes; write ms since 1970 without quotes, as in 1796086800000",
            None,
        ),
        ("1796086800000", "without quotes, as in 1796086800000", None),
        ("tomorrow", "is not a moment in RFC 3339 with its offset; write it as in ", None),
    ],
)
def test_a_bad_moment_is_told_by_the_part_that_is_wrong(
    small_world: V1World, written: str, reason: str, meant: str | None
) -> None:
    problem = refused(small_world, schedule={"at": written})
    assert f"{written!r} {reason}" in problem["detail"] or reason in problem["detail"]
    assert problem.get("didYouMean") == meant
    if meant is not None:
        assert problem["detail"].endswith(f"write {meant}")


@pytest.mark.parametrize(
    ("path", "mend"),
    [
        ("/v1/timers/key:i1/fire", "a verb stands behind a colon: write /v1/timers/key:i1:fire"),
        ("/v1/firings/7-1/replay", "a verb stands behind a colon: write /v1/firings/7-1:replay"),
        (
            "/v1/timers/key:a/b",
            "a key with a slash cannot stand in a path; GET /v1/timers?key=... finds the timer's id",
        ),
        ("/v1/dead-letters/count", "a verb stands behind a colon: write /v1/dead-letters:count"),
        ("/v1/timers/", "leave out the slash at its end: /v1/timers"),
        ("/v1/timers/key:i1/", "leave out the slash at its end: /v1/timers/key:i1"),
        ("/v1/timers/7:fire/", "leave out the slash at its end: /v1/timers/7:fire"),
        ("/v1/timer", "did you mean /v1/timers? /docs shows what there is"),
        ("/v1/jobs/7/runs", "did you mean /v1/timers? /docs shows what there is"),
        ("/v1/Dead_Letters", "did you mean /v1/dead-letters? /docs shows what there is"),
        ("/v1/executions:count", "did you mean /v1/firings? /docs shows what there is"),
        ("/v1/timers/7/what/is/this", "/docs shows what there is"),
        ("/v1/etwas", "/docs shows what there is"),
        ("/v1", "/docs shows what there is"),
    ],
)
def test_a_path_that_does_not_exist_is_a_problem_with_the_path_that_was_meant(
    small_world: V1World, path: str, mend: str
) -> None:
    answer = small_world.client.post(path, headers={"WangTimer-App": "shop"}, json={})
    assert (answer.status_code, answer.content_type) == (404, "application/problem+json")
    assert answer.get_json()["detail"] == f"there is nothing at this path; {mend}"


@pytest.mark.parametrize(("path", "mend"), [("/timers", "did you mean /v1/timers? "), ("/docs/", ": /docs")])
def test_so_is_one_that_is_not_below_v1(small_world: V1World, path: str, mend: str) -> None:
    answer = small_world.client.get(path)
    assert (answer.status_code, mend in answer.get_json()["msg"]) == (404, True)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "timers/7:disable"),
        ("GET", "firings/7-1:replay"),
        ("PATCH", "timers/7:enable"),
    ],
)
def test_a_verb_that_is_not_posted_is_told_to_be(small_world: V1World, method: str, path: str) -> None:
    answer = small_world.client.open(
        f"/v1/{path}",
        method=method,
        headers={"WangTimer-App": "shop"},
        json={} if method == "PATCH" else None,
    )
    problem = answer.get_json()
    assert (answer.status_code, problem["code"], answer.headers["Allow"]) == (405, 40501, "POST")
    verb = path.rpartition(":")[2]
    assert problem["detail"] == f"{method} is no method of the verb {verb}; send POST (with curl: -X POST)"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "timers/key:i1:fire"),
        ("PATCH", "timers/key:i1:enable"),
        ("DELETE", "timers/key:i1:disable"),
        ("DELETE", "alert-rules/mine:test"),
    ],
)
def test_a_key_may_end_as_a_verb_does(small_world: V1World, method: str, path: str) -> None:
    answer = small_world.client.open(
        f"/v1/{path}",
        method=method,
        headers={"WangTimer-App": "shop"},
        json={} if method == "PATCH" else None,
    )
    verb = path.rpartition(":")[2]
    assert answer.status_code == 404
    assert answer.get_json()["detail"].endswith(
        f"; if the verb {verb} is meant, send POST (with curl: -X POST)"
    )
    if "timers" in path:
        small_world.made(key=path.removeprefix("timers/key:"))
        assert small_world.client.get(f"/v1/{path}", headers={"WangTimer-App": "shop"}).status_code == 200


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"status": "disabled"}, "did you mean enabled?"),
        ({"version": 3}, "is sent as the header If-Match"),
        (
            {"target": TARGET | {"retryPolicy": {"max": 3}}},
            'write it beside the target, as in "retry"',
        ),
    ],
)
def test_a_field_that_is_had_elsewhere_is_told(
    small_world: V1World, fields: dict[str, Any], said: str
) -> None:
    assert said in refused(small_world, **fields)["detail"]


def test_lists_know_the_words_of_the_compatible_paths(small_world: V1World) -> None:
    for path, query, meant in (
        (TIMERS, {"name": "expire"}, "key"),
        (TIMERS, {"namePrefix": "ex"}, "keyPrefix"),
        ("/v1/firings", {"key": "expire"}, "timer"),
        ("/v1/firings:count", {"name": "expire"}, "timer"),
    ):
        assert small_world.send("GET", path, query=query).json["didYouMean"] == meant


def test_an_abbreviation_of_several_zones_gets_some_of_them(small_world: V1World) -> None:
    problem = refused(small_world, schedule={"cron": "0 9 * * *", "timezone": "CST"})
    assert (
        "it stands for several zones: write the one you mean, such as Asia/Shanghai or America"
        in problem["detail"]
    )
