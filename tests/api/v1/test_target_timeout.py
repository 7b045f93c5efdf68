"""`target.timeout`: how long a call of a timer may take, shorter than the deployment's calls may."""

from typing import Any

from tests.api.v1.world import TIMERS, URL, V1World
from tests.api.world import DEF
from wangtimer.api.v1.timers.timer_models import NewTimerBody, TimerPatch

ONE = "/v1/timers/{which}"
PLACE = f"{TIMERS}/key:expire"
WHOLE = {"schedule": {"cron": "* * * * * *"}, "target": {"url": URL}}
SETTING = "WANGTIMER_CALLBACK_TIMEOUT_MS"
MOST = "write 10s or less, or leave it out"


def with_timeout(timeout: Any) -> dict[str, Any]:
    return {"url": URL, "timeout": timeout}


def stored_in(world: V1World, timer_id: int) -> tuple[int | None, int | None]:
    """Return what SQL and Redis have."""
    row = world.wiring.timers.get("shop", timer_id).definition.timeout_ms
    return row, world.wiring.definitions.get([timer_id]).definitions[timer_id].timeout_ms


def test_a_timeout_is_taken_as_other_spans_stored_in_ms_and_shown(world: V1World) -> None:
    made = world.made(target=with_timeout("PT1.5S"))
    assert made.json["target"]["timeout"] == "1s500ms"
    assert stored_in(world, made.json["id"]) == (1_500, 1_500)
    assert world.send("GET", PLACE, rule=ONE).json["target"]["timeout"] == "1s500ms"
    assert world.send("GET", TIMERS).json["items"][0]["target"]["timeout"] == "1s500ms"
    for given, ms in (("2s", 2_000), ("100ms", 100), ("10s", 10_000)):
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
        ("10001ms", f"it is 10s1ms, and a call of this deployment may take 10s ({SETTING}); {MOST}"),
        ("1m", MOST),
        ("99ms", "it is 99ms; write 100ms to 5m"),
        ("6m", "it is 6m; write 100ms to 5m"),
        ("0s", "write 100ms to 5m"),
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
    timers = [{"key": timeout, **WHOLE, "target": with_timeout(timeout)} for timeout in ("2s", "1m", "3s")]
    made = small_world.send("POST", f"{TIMERS}:batchCreate", {"timers": timers}).json
    assert [one["created"] for one in made["items"]] == [True, False, True]
    problem = made["items"][1]["problem"]
    assert problem["pointer"] == "/target/timeout"
    assert MOST in problem["detail"]


def test_one_that_is_longer_than_the_deployments_by_now_stays_until_it_is_changed(
    small_world: V1World,
) -> None:
    small_world.made(target=with_timeout("10s"))
    settings = small_world.wiring.settings
    small_world.wiring.settings = settings.model_copy(update={"callback_timeout_ms": 5_000})
    tagged = small_world.send("PATCH", PLACE, {"tags": ["a"]}, rule=ONE)
    assert (tagged.status, tagged.json["target"]["timeout"]) == (200, "10s")
    refused = small_world.send("PATCH", PLACE, {"target": {"timeout": "9s"}}, rule=ONE)
    assert "write 5s or less" in refused.json["detail"]


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
    assert "timeout_ms" not in whole.terms("a").model_fields_set | patch.changed_terms().model_fields_set
