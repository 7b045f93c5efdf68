from typing import Any

import pytest

from tests.api.world import DEF, ENABLE, URL, World
from wangtimer.core.time.moment_text import show_moment

SECOND, HOUR = 1_000, 3_600_000


def next_moments(created: Any) -> list[int]:
    return [moment["atMs"] for moment in created.data["nextMoments"]]


def test_the_answer_has_the_id_at_its_top_as_xtimer_s_has(world: World) -> None:
    created = world.create()
    assert created.json["code"] == 0
    assert created.json["msg"] == ""
    assert created.json["id"] == created.data["id"] > 0


def test_a_new_timer_is_disabled_and_plans_nothing(world: World) -> None:
    created = world.create()
    assert (created.data["status"], created.data["statusName"]) == (1, "disabled")
    assert created.data["nextFireAt"] is None
    assert world.stored() == (1, 0)


def test_what_was_created_is_read_back_with_xtimer_s_names(world: World) -> None:
    header = {"Content-Type": "text/plain", "X-Tag": ["a", "b"]}
    notify = {"url": URL + "?a=%20b#c", "method": "PUT", "header": header, "body": "grüße\u0000 \U0001f600\n"}
    timer_id = world.made(
        app="läden", name="jede Minute \U0001f600", cron="*/5  9-17 * * 1-5", notifyHTTPParam=notify
    )
    read = world.get(DEF, app="läden", id=timer_id)
    now = show_moment(world.clock.now)
    assert read.json == {
        "code": 0,
        "msg": "",
        "data": {
            "id": timer_id,
            "app": "läden",
            "name": "jede Minute \U0001f600",
            "status": 1,
            "statusName": "disabled",
            "cron": "*/5 9-17 * * 1-5",
            "cronDialect": "unix",
            "timezone": "UTC",
            "notifyHTTPParam": {
                **notify,
                "header": {"Content-Type": ["text/plain"], "X-Tag": ["a", "b"]},
            },
            "misfire": "fire_all",
            "misfireGraceMs": 60_000,
            "catchupWindowMs": 0,
            "nextFireAt": None,
            "version": 1,
            "createdAt": now,
            "updatedAt": now,
        },
    }


def test_the_misfire_policy_is_kept_as_given(world: World) -> None:
    timer_id = world.made(misfire="fire_latest", misfireGraceMs=5_000, catchupWindowMs=3_600_000)
    data = world.get(DEF, app="shop", id=timer_id).data
    assert (data["misfire"], data["misfireGraceMs"], data["catchupWindowMs"]) == (
        "fire_latest",
        5_000,
        3_600_000,
    )


def test_a_callback_is_a_post_without_headers_or_body_unless_told_otherwise(world: World) -> None:
    created = world.create()
    assert created.data["notifyHTTPParam"] == {"url": URL, "method": "POST", "header": {}, "body": ""}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "get", "delete"])
def test_each_method_is_taken_in_either_case(small_world: World, method: str) -> None:
    created = small_world.create(notifyHTTPParam={"url": URL, "method": method})
    assert created.data["notifyHTTPParam"]["method"] == method.upper()


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost",
        "https://shop.example/a?b=c&d=%E2%82%AC",
        "http://10.0.0.1:65535/",
        "http://[::1]:8080/x",
        "http://my_service:80/x",
        "HTTPS://Shop.Example/",
        "http://a/" + "x" * 2_039,
    ],
)
def test_a_plain_http_url_is_taken_as_it_is(small_world: World, url: str) -> None:
    assert small_world.create(notifyHTTPParam={"url": url}).data["notifyHTTPParam"]["url"] == url


def test_null_is_the_same_as_absent(small_world: World) -> None:
    nothing = {"at": None, "delayMs": None, "timezone": None, "creator": None}
    notify = {"url": URL, "method": None, "header": None, "body": None}
    created = small_world.create(cron="* * * * *", notifyHTTPParam=notify, **nothing)
    assert created.data["notifyHTTPParam"] == {"url": URL, "method": "POST", "header": {}, "body": ""}


def test_xtimer_s_creator_is_accepted_and_ignored(small_world: World) -> None:
    assert "creator" not in small_world.create(creator="me").data


def test_the_next_five_moments_of_a_cron_are_shown(world: World) -> None:
    now = world.clock.now
    assert next_moments(world.create(cron="* * * * * *")) == [now + i * SECOND for i in range(1, 6)]


def test_xtimer_fault_six_fields_meant_a_year_at_the_end(world: World) -> None:
    """Seconds come first here; who meant something else sees it in the answer."""
    created = world.create(cron="*/10 * * * * *")
    moments = next_moments(created)
    assert all(moment % (10 * SECOND) == 0 for moment in moments)
    assert moments[4] - moments[0] == 40 * SECOND


def test_next_moments_are_shown_on_the_wall_clock_of_the_timer_s_zone(world: World) -> None:
    created = world.create(cron="30 9 * * *", timezone="Asia/Shanghai")
    assert created.data["timezone"] == "Asia/Shanghai"
    for moment in created.data["nextMoments"]:
        assert moment["at"].endswith("T09:30:00.000+08:00")
        assert moment["atMs"] % (24 * HOUR) == 1.5 * HOUR


def test_a_cron_with_few_moments_left_shows_those(small_world: World) -> None:
    assert len(next_moments(small_world.create(cron="0 0 0 1 1 * 2098-2099"))) == 2


def test_a_moment_as_text_is_kept_to_the_millisecond(world: World) -> None:
    moment = world.clock.now + HOUR + 123
    created = world.create(at=show_moment(moment))
    assert (created.data["at"], created.data["atMs"]) == (show_moment(moment), moment)
    assert next_moments(created) == [moment]
    assert "cron" not in created.data


def test_a_moment_in_milliseconds_is_taken(world: World) -> None:
    moment = world.clock.now + HOUR + 7
    assert world.create(at=moment).data["atMs"] == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2199-12-31T23:59:59.999Z", 7_258_118_399_999),
        ("2190-01-02T03:04:05z", 6_942_683_045_000),
        ("2190-01-02t03:04:05+05:30", 6_942_663_245_000),
        ("2190-01-02 03:04:05-08:00", 6_942_711_845_000),
        ("2190-01-02T03:04:05.1Z", 6_942_683_045_100),
        ("2190-01-02T03:04:05.000000001Z", 6_942_683_045_001),
    ],
)
def test_every_form_of_rfc_3339_is_read_and_none_is_early(small_world: World, text: str, moment: int) -> None:
    assert small_world.create(at=text).data["atMs"] == moment


@pytest.mark.parametrize("delay", [0, 1, 30_000, 100 * 365 * 24 * HOUR])
def test_a_delay_counts_from_the_create(small_world: World, delay: int) -> None:
    small_world.clock.now += 137
    assert small_world.create(delayMs=delay).data["atMs"] == small_world.clock.now + delay


def test_a_one_shot_up_to_a_minute_past_can_still_be_created(small_world: World) -> None:
    assert small_world.create(at=small_world.clock.now - 60_000).status == 200


def test_a_name_is_taken_once_in_an_app_and_free_in_another(world: World) -> None:
    first = world.made(name="expire")
    again = world.create(name="expire")
    assert (again.status, again.code, again.json["field"]) == (409, 40901, "name")
    assert f"already has a timer named 'expire', {first}; " in again.msg
    assert again.data == {"existingId": first}
    assert world.create(app="other", name="expire").status == 200
    assert world.create(name="Expire").status == 200
    assert world.stored() == (3, 0)


def test_xtimer_fault_deleting_did_not_free_the_name(world: World) -> None:
    for _ in range(3):
        timer_id = world.made(name="expire")
        assert world.delete(app="shop", id=timer_id).code == 0
        assert world.get(DEF, app="shop", id=timer_id).status == 404
        assert world.delete(app="shop", id=timer_id).status == 404
    assert world.stored() == (3, 0)


def test_xtimer_fault_one_create_in_three_seconds_per_app(world: World) -> None:
    ids = [world.made(name=f"timer {i}") for i in range(20)]
    assert len(set(ids)) == 20
    assert all(world.delete(app="shop", id=timer_id).code == 0 for timer_id in ids)


def test_a_body_of_just_64_kib_is_stored_whole(world: World) -> None:
    headers = {f"X-{i}": "v" for i in range(49)}
    text = "ä\n" * 10_000 + "x" * 24_000
    timer_id = world.made(notifyHTTPParam={"url": URL, "header": headers, "body": text})
    read = world.get(DEF, app="shop", id=timer_id).data["notifyHTTPParam"]
    assert read["body"] == text
    assert len(read["header"]) == 49


def test_values_that_grow_when_stored_are_stored_whole(world: World) -> None:
    """A list of values is kept as pairs: the stored text can be longer than the request."""
    name = "X-" + "n" * 120
    body = "x" * 65_000
    timer_id = world.made(notifyHTTPParam={"url": URL, "header": {name: ["v"] * 49}, "body": body})
    assert world.get(DEF, app="shop", id=timer_id).data["notifyHTTPParam"]["body"] == body


def test_enabling_shows_the_next_firing(world: World) -> None:
    timer_id = world.made(cron="* * * * * *")
    enabled = world.post(ENABLE, app="shop", id=timer_id)
    assert (enabled.data["status"], enabled.data["version"]) == (2, 2)
    assert enabled.data["nextFireAt"] == show_moment(world.clock.now + SECOND)
