"""`target.timeout`, `connectTimeout` and `firstByteTimeout`: how long a call of a timer may take."""

from typing import Any

from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import DEF
from wangtimer.api.http.request_context import keep_settings
from wangtimer.api.v1.timers.timer_models import NewTimerBody, TimerPatch
from wangtimer.core.timers.call_options import Timeouts

ONE = "/v1/timers/{which}"
PLACE = f"{TIMERS}/key:expire"
WHOLE = {"schedule": {"cron": "* * * * * *"}, "target": {"url": URL}}
SETTING = "WANGTIMER_CALLBACK_LONGEST_TIMEOUT_MS"
MOST = "write 100ms to 10m"


NAMES = ("timeout", "connectTimeout", "firstByteTimeout")


def with_timeout(timeout: Any) -> dict[str, Any]:
    return {"url": URL, "timeout": timeout}


def stored_in(world: V1World, timer_id: int) -> tuple[int | None, int | None]:
    """Return what SQL and Redis have."""
    row = world.wiring.timers.get("shop", timer_id).definition.timeouts.total_ms
    return row, world.wiring.definitions.get([timer_id]).definitions[timer_id].timeouts.total_ms


def test_a_timeout_is_taken_as_other_spans_stored_in_ms_and_shown(world: V1World) -> None:
    made = world.made(target=with_timeout("PT1.5S"))
    assert made.json["target"]["timeout"] == "1s500ms"
    assert stored_in(world, made.json["id"]) == (1_500, 1_500)
    assert world.send("GET", PLACE, rule=ONE).json["target"]["timeout"] == "1s500ms"
    assert world.send("GET", TIMERS).json["items"][0]["target"]["timeout"] == "1s500ms"
    for given, ms in (("2s", 2_000), ("100ms", 100), ("10m", 600_000)):
        put = world.send("PUT", PLACE, WHOLE | {"target": with_timeout(given)}, rule=ONE)
        assert put.json["target"]["timeout"] == given
        assert stored_in(world, made.json["id"]) == (ms, ms)


def test_a_timer_without_one_shows_and_stores_none(world: V1World) -> None:
    for target in ({"url": URL}, with_timeout(None)):
        made = world.send("PUT", PLACE, WHOLE | {"target": target}, rule=ONE)
        assert "timeout" not in made.json["target"]
        assert stored_in(world, made.json["id"]) == (None, None)


def test_a_patch_gives_changes_and_takes_it_away_and_moves_nothing(world: V1World) -> None:
    made = world.made(target={"url": URL, "body": "x"})
    given = world.send("PATCH", PLACE, {"target": {"timeout": "2s"}}, rule=ONE)
    assert given.json["target"] == made.json["target"] | {"timeout": "2s"}
    assert given.json["version"] == 2
    assert world.wiring.timers.get("shop", made.json["id"]).definition.edited_at == 0
    untouched = world.send("PATCH", PLACE, {"target": {"body": "y"}}, rule=ONE)
    assert untouched.json["target"]["timeout"] == "2s"
    taken = world.send("PATCH", PLACE, {"target": {"timeout": None}}, rule=ONE)
    assert "timeout" not in taken.json["target"]
    assert taken.json["target"]["body"] == "y"
    assert stored_in(world, made.json["id"]) == (None, None)


def test_a_put_without_one_takes_it_away(world: V1World) -> None:
    world.made(target=with_timeout("2s"))
    assert "timeout" not in world.send("PUT", PLACE, WHOLE, rule=ONE).json["target"]


def test_what_is_too_long_too_short_or_no_span_is_refused(small_world: V1World) -> None:
    small_world.made()
    for timeout, said in (
        ("99ms", f"it is 99ms; {MOST}"),
        ("600001ms", f"it is 600001ms; {MOST}"),
        ("11m", f"it is 11m; {MOST}"),
        ("0s", MOST),
        ("soon", "is not a span of time; write it as in 90s"),
        (5, "5 is not a span of time; write it as in 90s"),
    ):
        body = WHOLE | {"target": with_timeout(timeout)}
        patch = {"target": {"timeout": timeout}}
        for method, path, sent in (("POST", TIMERS, body), ("PUT", PLACE, body), ("PATCH", PLACE, patch)):
            refused = small_world.send(method, path, sent, rule=path if path == TIMERS else ONE)
            assert (refused.status, refused.json["pointer"]) == (400, "/target/timeout")
            assert said in refused.json["detail"]
    assert "timeout" not in small_world.send("GET", PLACE, rule=ONE).json["target"]


def test_of_a_batch_that_timer_alone_is_refused(small_world: V1World) -> None:
    timers = [{"key": timeout, **WHOLE, "target": with_timeout(timeout)} for timeout in ("2s", "11m", "3s")]
    made = small_world.send("POST", f"{TIMERS}:batchCreate", {"timers": timers}).json
    assert [one["created"] for one in made["items"]] == [True, False, True]
    problem = made["items"][1]["problem"]
    assert problem["pointer"] == "/target/timeout"
    assert MOST in problem["detail"]


def allow(world: V1World, most_ms: int) -> None:
    """Let the operator allow no longer ones."""
    settings = world.wiring.settings.model_copy(update={"callback_longest_timeout_ms": most_ms})
    keep_settings(world.app, lambda: settings)


def test_an_operator_may_allow_less(small_world: V1World) -> None:
    allow(small_world, 60_000)
    for name in ("timeout", "firstByteTimeout"):
        refused = small_world.send("POST", TIMERS, WHOLE | {"target": {"url": URL, name: "61s"}})
        assert (refused.status, refused.json["pointer"]) == (400, f"/target/{name}")
        said = f"it is 1m1s, and this deployment allows 1m ({SETTING}); write 1m or less, or leave it out"
        assert said in refused.json["detail"]
        assert small_world.send("POST", TIMERS, WHOLE | {"target": {"url": URL, name: "1m"}}).status == 201


def test_nobody_may_connect_for_longer_than_a_minute(small_world: V1World) -> None:
    refused = small_world.send("POST", TIMERS, WHOLE | {"target": {"url": URL, "connectTimeout": "61s"}})
    assert (refused.status, refused.json["pointer"]) == (400, "/target/connectTimeout")
    assert "write 100ms to 1m" in refused.json["detail"]


def test_one_that_is_longer_than_allowed_by_now_stays_until_it_is_changed(small_world: V1World) -> None:
    small_world.made(target={"url": URL} | dict.fromkeys(NAMES, "10s"))
    allow(small_world, 5_000)
    tagged = small_world.send("PATCH", PLACE, {"tags": ["a"]}, rule=ONE)
    assert (tagged.status, tagged.json["target"]["timeout"]) == (200, "10s")
    for name in NAMES:
        refused = small_world.send("PATCH", PLACE, {"target": {name: "9s"}}, rule=ONE)
        assert "write 5s or less" in refused.json["detail"]


def test_each_time_out_is_given_changed_and_taken_away_by_itself(world: V1World) -> None:
    given = dict(zip(NAMES, ("5m", "500ms", "30s"), strict=True))
    made = world.made(target={"url": URL} | given).json
    assert {name: made["target"][name] for name in NAMES} == given
    row = world.wiring.timers.get("shop", made["id"]).definition.timeouts
    told = world.wiring.definitions.get([made["id"]]).definitions[made["id"]].timeouts
    assert row == told == Timeouts(300_000, 500, 30_000)
    for name in NAMES:
        world.send("PATCH", PLACE, {"target": {name: "3s"}}, rule=ONE)
        left = world.send("PATCH", PLACE, {"target": {name: None}}, rule=ONE).json["target"]
        del given[name]
        assert {one: left[one] for one in NAMES if one in left} == given


def test_of_a_named_target_too(world: V1World) -> None:
    place, rule = "/v1/targets/shop", "/v1/targets/{name}"
    given = {"timeout": "2m", "connectTimeout": "200ms", "firstByteTimeout": "1m"}
    assert world.send("PUT", place, {"url": URL} | given, rule=rule).status in (200, 201)
    changed = world.send("PATCH", place, {"connectTimeout": None}, rule=rule).json
    assert {name: changed.get(name) for name in NAMES} == given | {"connectTimeout": None}
    allow(world, 60_000)
    assert world.send("PATCH", place, {"body": "x"}, rule=rule).status in (200, 201)
    for method, body in (("PUT", {"url": URL, "timeout": "90s"}), ("PATCH", {"timeout": "90s"})):
        refused = world.send(method, place, body, rule=rule)
        assert (refused.status, refused.json["pointer"]) == (400, "/timeout")


def test_who_writes_it_otherwise_is_told_its_name(small_world: V1World) -> None:
    for fields in (
        {"timeout": "2s"},
        {"timeoutMs": 2_000},
        {"target": {"url": URL, "timeoutMs": 2_000}},
        {"target": {"url": URL, "timeoutSeconds": 2}},
        {"target": {"url": URL, "Timeout": "2s"}},
    ):
        refused = small_world.send("POST", TIMERS, WHOLE | fields)
        assert (refused.status, refused.json["code"]) == (400, 40004)
        assert refused.json["didYouMean"].rpartition(".")[2] == "timeout"


def test_the_compatible_paths_neither_take_nor_show_it_and_leave_it_alone(small_world: V1World) -> None:
    made = small_world.made(target=with_timeout("2s")).json
    shown = small_world.get(DEF, app="shop", id=made["id"]).data
    assert not [name for name in (*shown, *shown["notifyHTTPParam"]) if "timeout" in name.lower()]
    assert small_world.create(timeoutMs=2_000).code == 40004
    small_world.patch(app="shop", id=made["id"], notifyHTTPParam={"body": "x"})
    target = small_world.send("GET", PLACE, rule=ONE).json["target"]
    assert (target["body"], target["timeout"]) == ("x", "2s")


def test_a_request_that_says_nothing_of_it_gives_nothing_of_it() -> None:
    whole = NewTimerBody.model_validate(WHOLE)
    patch = TimerPatch.model_validate({"target": {"body": "x"}})
    assert "timeout_ms" not in whole.asked("a").fields.keys() | patch.asked().fields.keys()
