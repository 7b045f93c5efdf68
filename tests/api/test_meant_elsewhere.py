"""What callers mean who write a field that is somewhere else, or has another name here, or another form."""

from typing import Any

import pytest

from tests.api.world import DEF, RECORDS, URL, World

REPLAY, CANCEL, BACKFILL = (f"/api/task/v1/{verb}" for verb in ("replay", "cancel", "backfill"))
FIRING, FIRINGS = "/api/task/v1/firing", "/api/task/v1/firings"
ENABLE_IT = "a new timer is disabled; enable it with POST /api/timer/v1/enable"
ATTEMPTS = "POST /v1/timers has retry, which says how often a call is tried"
OVERLAP = "overlap says what becomes of a firing while another one of the timer is not done"
BY_ID = "named by id here; GET /api/timer/v1/defs?name=... finds it"
TIMEOUT = "the deployment's setting WANGTIMER_CALLBACK_TIMEOUT_MS says how long a call may take"


@pytest.mark.parametrize("name", ["enable", "enabled", "active", "Enabled"])
def test_who_wants_a_new_timer_enabled_is_told_how(small_world: World, name: str) -> None:
    alone = small_world.create(**{name: True})
    changed = small_world.patch(app="shop", id=1, **{name: True})
    for refused in (alone, changed):
        assert refused.code == 40004
        assert f"{name}: unknown field; {ENABLE_IT}" in refused.msg
        assert "leave it out" not in refused.msg


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"jitter": 500}, "did you mean jitterMs? "),
        ({"misfirePolicy": "skip"}, "did you mean misfire? "),
        ({"everySeconds": 90}, "did you mean everyMs? "),
        ({"dialect": "quartz"}, "did you mean cronDialect? "),
        ({"delaySeconds": 90}, "did you mean delayMs? "),
        ({"startTime": 1}, "did you mean startAt? "),
        ({"end_time": 1}, "did you mean endAt? "),
        ({"expireAt": 1}, "did you mean endAt? "),
        ({"allowOverlap": False}, OVERLAP),
        ({"concurrencyPolicy": "Forbid"}, OVERLAP),
        ({"retries": 3}, ATTEMPTS),
        ({"timeout": 3}, TIMEOUT),
        ({"notifyHTTPParam": {"url": URL, "max_retries": 3}}, ATTEMPTS),
        ({"notifyHTTPParam": {"url": URL, "timeoutMs": 3}}, TIMEOUT),
        ({"notifyHTTPParam": {"url": URL, "body": {"a": 1}}}, "write its JSON as text"),
        ({"notifyHTTPParam": {"url": URL, "body": [1]}}, "write its JSON as text"),
        ({"notifyHTTPParam": {"url": URL, "body": 1}}, 'write it as text, as in "1"'),
        ({"cron": "@every 5m"}, "everyMs"),
        ({"cron": "rate(5 minutes)"}, "everyMs"),
        ({"cron": "0 0 9 ? * 6L"}, '"cronDialect": "quartz" knows it'),
    ],
    ids=str,
)
def test_a_word_of_elsewhere_is_answered_with_ours(
    small_world: World, fields: dict[str, Any], said: str
) -> None:
    answered = small_world.create(**fields)
    assert answered.status == 400
    assert said in answered.msg


def test_a_replay_has_statuses(small_world: World) -> None:
    assert "did you mean statuses? " in small_world.post(REPLAY, app="shop", status="failed").msg


def test_records_by_outcome_are_firings(small_world: World) -> None:
    msg = small_world.get(RECORDS, app="shop", id=1, status="failed").msg
    assert "status: unknown field; GET /api/task/v1/firings has it" in msg


@pytest.mark.parametrize("path", [DEF, RECORDS, FIRING, FIRINGS])
def test_a_timer_that_is_asked_for_by_its_name_is_in_the_list(small_world: World, path: str) -> None:
    assert f"name: unknown field; {BY_ID}" in small_world.get(path, app="shop", name="a").msg


@pytest.mark.parametrize("path", [CANCEL, BACKFILL, REPLAY])
def test_a_firing_is_named_by_its_timers_id(small_world: World, path: str) -> None:
    assert f"name: unknown field; {BY_ID}" in small_world.post(path, app="shop", name="a").msg
    inner = small_world.post(REPLAY, app="shop", firings=[{"name": "a", "fireAt": 1}]).msg
    assert f"firings.0.name: unknown field; {BY_ID}" in inner


def test_who_edits_by_name_is_told_where_the_id_is(small_world: World) -> None:
    msg = small_world.patch(app="shop", name="a", cron="* * * * *").msg
    assert msg == "id: missing; it is required: GET /api/timer/v1/defs?name=... finds it"


def test_what_nobody_knows_is_no_field_here(small_world: World) -> None:
    msg = small_world.create(quartz=1).msg
    assert msg.startswith("quartz: unknown field; there is no such field here; leave it out; there are ")
