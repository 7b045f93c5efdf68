"""The client against the real service."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import requests

from tests.client.outcomes import fired
from tests.client.served import Served, cut_off_redis
from wangtimer.client import (
    ChangedTimer,
    Client,
    Conflict,
    NotFound,
    PreconditionFailed,
    Refused,
    Target,
)
from wangtimer.client.errors import Problem, refused
from wangtimer.client.values import moment_ms

TARGET: Target = {"url": "http://target.example/", "headers": {"X-Tag": ["a", "b"]}, "body": "{}"}
YEARLY = {"cron": "0 0 1 1 *"}


def make(client: Client, key: str, **fields: Any) -> ChangedTimer:
    return client.create_timer(**({"key": key, "target": TARGET, "schedule": {"cron": "@daily"}} | fields))


def test_a_timer_is_made_and_enabled_by_one_request(client: Client) -> None:
    made = client.create_timer(schedule={"delay": timedelta(minutes=30)}, target={"url": TARGET["url"]})
    assert (made["status"], made["version"]) == ("enabled", 1)
    assert made["preview"]["nextMoments"][0]["utc"] == made["nextFireAt"]
    assert client.get_timer(made)["key"] == made["key"]
    off = client.create_timer(schedule={"every": "90s"}, target={"url": TARGET["url"]}, enabled=False)
    assert off["status"] == "disabled"


def test_json_is_sent_as_such(client: Client) -> None:
    made = make(client, "a", target={"url": TARGET["url"], "json": {"order": 42, "at": None}})
    assert made["target"]["body"] == '{"order":42,"at":null}'
    assert made["target"]["headers"] == {"Content-Type": ["application/json"]}


def test_switching_off_tells_what_becomes_of_the_next_moment(client: Client) -> None:
    one, other = (make(client, key, schedule=YEARLY) for key in ("a", "b"))
    disabled = client.disable_timer(one)
    assert disabled["stopped"] is not None
    assert disabled["stopped"]["state"] == "cancelled"
    deleted = client.delete_timer("key:a")
    assert (deleted["stopped"], deleted["countsWithin"]) == (disabled["stopped"], "1s")
    changed = client.batch_disable_timers(ids=[other["id"]])
    assert changed["stopped"] == [{"id": other["id"], **disabled["stopped"]}]


def test_every_change_says_how_soon_it_counts(
    served: Served, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed() -> list[Any]:
        made = make(client, "a", schedule=YEARLY)
        firing_id = f"{made['id']}-{moment_ms(made['nextFireAt'] or 0)}"
        return [
            made,
            client.patch_timer(made, misfire={"policy": "skip"}),
            client.put_timer("key:a", target=TARGET, schedule={"cron": "0 0 1 1 *"}),
            client.cancel_firing(firing_id),
            client.disable_timer(made),
            client.enable_timer(made),
            client.batch_disable_timers(ids=[made["id"]]),
            client.batch_delete_timers(ids=[made["id"]]),
            client.delete_timer(make(client, "b")),
        ]

    assert [answer["countsWithin"] for answer in changed()] == ["1s"] * 9
    cut_off_redis(served.world, monkeypatch)
    # Of a new timer that fires in a year Redis holds nothing that could be wrong.
    assert [answer["countsWithin"] for answer in changed()] == ["1s"] + ["8s"] * 8


def test_a_key_in_use_is_answered_with_whose_it_is(client: Client) -> None:
    made = make(client, "a")
    with pytest.raises(Conflict) as caught:
        make(client, "a")
    assert (caught.value.code, caught.value.existing_id) == (40901, made["id"])
    many = client.batch_create_timers([{"key": "a", "target": TARGET, "schedule": {"cron": "@daily"}}])
    problem = many["items"][0]["problem"]
    assert problem is not None
    assert problem["existingId"] == made["id"]


def test_a_timer_is_made_read_changed_switched_and_deleted(client: Client) -> None:
    made = make(
        client,
        "expire",
        schedule={"cron": "0 9 * * 1-5", "timezone": "Asia/Shanghai", "maxFirings": 3},
        tags=["a"],
        enabled=False,
    )
    assert made["preview"]["words"]["en"].startswith("at 09:00 from Monday to Friday")
    assert made["target"]["headers"] == {"X-Tag": ["a", "b"]}
    assert client.enable_timer(made["id"])["status"] == "enabled"
    changed = client.patch_timer(
        "key:expire", version=2, tags=None, schedule={"maxFirings": None}, misfire={"policy": "skip"}
    )
    assert (changed["tags"], "maxFirings" in changed["schedule"]) == ([], False)
    assert (changed["misfire"]["policy"], changed["schedule"]["cron"]) == ("skip", "0 9 * * 1-5")
    with pytest.raises(PreconditionFailed) as stale:
        client.patch_timer(made, version=2, tags=["b"])
    assert stale.value.code == 41201
    assert client.disable_timer(made)["timer"] | {"lastOutcome": None} == client.get_timer(made)
    client.delete_timer(made)
    with pytest.raises(NotFound) as caught:
        client.get_timer(made["id"])
    assert (caught.value.status, caught.value.code) == (404, 40401)


def test_parts_of_a_target_change_and_the_others_stay(client: Client) -> None:
    make(client, "a", target={"url": TARGET["url"], "method": "PUT", "headers": {"X": "1"}, "body": "b"})
    changed = client.patch_timer("key:a", target={"headers": {"x": None, "Y": "2"}, "body": None})
    assert changed["target"] == {
        "url": TARGET["url"],
        "method": "PUT",
        "headers": {"Y": ["2"]},
        "body": "",
    }


def test_what_a_timer_is_shown_with_makes_the_same_timer(client: Client) -> None:
    made = make(client, "a", schedule={"every": "90s", "startAt": "2030-01-01T00:00:00Z", "jitter": "5s"})
    fields: Any = {name: made[name] for name in ("schedule", "target", "misfire", "tags")}  # type: ignore[literal-required]
    put = client.put_timer("key:a", **fields)
    assert (put["created"], put["version"]) == (False, made["version"])


def test_refusals_say_code_place_and_what_was_meant(client: Client) -> None:
    with pytest.raises(Refused) as caught:
        make(client, "bad", schedule={"cron": "61 * * * *"})
    assert (caught.value.status, caught.value.code) == (400, 40008)
    assert (caught.value.pointer, caught.value.parameter) == ("/schedule/cron", None)
    assert str(caught.value) == f"/schedule/cron: {caught.value.detail} (40008)"
    with pytest.raises(Refused) as zone:
        make(client, "bad", schedule={"cron": "@daily", "timezone": "Beijing"})
    assert zone.value.did_you_mean == "Asia/Shanghai"
    with pytest.raises(Refused) as misspelt:
        make(client, "bad", retentiondays=3)
    assert misspelt.value.did_you_mean == "retentionDays"
    with pytest.raises(Refused) as parameter:
        client.list_timers(limit=501)
    assert (parameter.value.parameter, parameter.value.pointer) == ("limit", None)


def test_moments_may_be_text_ms_or_datetimes_of_any_zone_and_are_never_earlier(client: Client) -> None:
    moment = datetime(2030, 1, 1, 8, 0, 0, 123_400, tzinfo=timezone(timedelta(hours=8)))
    made = make(client, "once", schedule={"at": moment})
    assert made["schedule"]["at"] == "2030-01-01T00:00:00.124Z"
    assert make(client, "ms", schedule={"at": 1_893_456_000_124})["schedule"] == made["schedule"]
    with pytest.raises(ValueError, match="no time zone"):
        make(client, "naive", schedule={"at": datetime(2030, 1, 1)})


def test_a_datetime_without_a_zone_is_by_the_zone_of_its_schedule(client: Client) -> None:
    at_nine = datetime(2030, 12, 24, 9)
    made = make(client, "once", schedule={"at": at_nine, "timezone": "Europe/Berlin"})
    assert made["schedule"]["at"] == "2030-12-24T08:00:00.000Z"
    shown = client.preview_schedule(cron="@daily", startAt=at_nine, timezone="Europe/Berlin", count=1)
    assert shown["nextMoments"][0]["at"] == "2030-12-25T00:00:00.000+01:00"
    days = make(client, "days", schedule={"everyDays": 14, "anchorAt": at_nine, "timezone": "Europe/Berlin"})
    assert days["schedule"] == {
        "everyDays": 14,
        "anchorAt": "2030-12-24T08:00:00.000Z",
        "timezone": "Europe/Berlin",
    }


@pytest.mark.parametrize("key", ["order 42", "a/b", "名", "50%", "a?b#c", "a:enable", "..", "123"])
def test_any_key_names_its_timer(client: Client, key: str) -> None:
    which = f"key:{key}"
    put = client.put_timer(which, target=TARGET, schedule={"cron": "@daily"})
    assert (put["created"], put["key"]) == (True, key)
    assert client.put_timer(which, target=TARGET, schedule={"cron": "@hourly"})["id"] == put["id"]
    assert client.disable_timer(which)["timer"]["key"] == key
    assert client.enable_timer(which)["enabled"]
    assert client.fire_timer(which)["timerId"] == put["id"]
    assert [one["timerId"] for one in client.firings(timer=which, kind="manual")] == [put["id"]]
    client.delete_timer(which)
    with pytest.raises(NotFound):
        client.get_timer(which)


def test_what_is_neither_an_id_nor_a_key_is_refused_at_once(client: Client) -> None:
    with pytest.raises(
        ValueError, match=r"'order-42' is not the id of a timer; write its key as in key:order-42"
    ):
        client.get_timer("order-42")


def test_timers_come_page_after_page_filtered_and_sorted(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.client.calls.MOST_A_PAGE", 2)
    for key in ("a", "b", "c", "d", "other"):
        make(client, key, tags=["letters"] if len(key) == 1 else None)
    assert [timer["key"] for timer in client.timers(tag="letters", sort="-key")] == ["d", "c", "b", "a"]
    assert [timer["key"] for timer in client.timers(keyContains="THE")] == ["other"]
    assert [timer["key"] for timer in client.timers(keyPrefix="o", most=5)] == ["other"]


def test_firings_come_page_after_page(
    served: Served, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.client.calls.MOST_A_PAGE", 2)
    timer = make(client, "each", enabled=False)
    moments = fired(served.world, timer["id"], 5)
    ids = [f"{timer['id']}-{moment}" for moment in moments]
    assert [one["id"] for one in client.firings(timer="key:each")] == ids[::-1]
    since = datetime.fromtimestamp(moments[3] / 1_000, UTC)
    assert [one["id"] for one in client.firings(since=since, status="succeeded")] == ids[:2:-1]
    assert list(client.firings(laterThan="1h")) == []
    page = client.list_firings(timer=timer, limit=3)
    assert page["nextCursor"] is not None
    rest = client.list_firings(timer=timer, cursor=page["nextCursor"])
    assert [one["id"] for one in page["items"] + rest["items"]] == ids[::-1]


def test_a_preview_stores_nothing(served: Served, client: Client) -> None:
    seen = client.preview_schedule(count=2, every="60s", excludeCalendar="weekends")
    assert len(seen["nextMoments"]) == 2
    assert served.world.stored() == (0, 0)


def test_calendars_are_put_read_listed_and_deleted(client: Client) -> None:
    put = client.put_calendar(
        "plant", weekdays=["saturday", "sunday"], days=["2027-01-01"], working=["2027-01-09"]
    )
    assert put["following"] is not None
    assert client.get_calendar("plant") == put
    assert "plant" in [one["name"] for one in client.calendars()]
    client.delete_calendar("plant")
    with pytest.raises(NotFound):
        client.get_calendar("plant")


def test_it_asks_for_health(served: Served, client: Client) -> None:
    assert client.is_alive()
    assert client.is_ready()["sql"]["ok"]
    with Client(served.url, None) as of_no_app:
        assert of_no_app.is_alive()
        # Without keys whoever asks is an operator, and sees all apps.
        assert of_no_app.list_timers()["items"] == []


def test_another_app_has_other_timers(served: Served, client: Client) -> None:
    make(client, "mine")
    for app in ("bank", "商店"):
        with Client(served.url, app) as other:
            assert list(other.timers()) == []
            assert make(other, "mine")["app"] == app


def test_a_session_of_ones_own_is_used_and_left_open(served: Served) -> None:
    session = requests.Session()
    session.headers["X-Of-Caller"] = "1"
    asked = []
    session.hooks["response"].append(lambda response, **_: asked.append(response.request))
    with Client(served.url, "shop", session=session) as client:
        make(client, "a")
    assert asked[0].headers["X-Of-Caller"] == "1"
    with Client(served.url, "shop", session=session) as client:
        assert client.get_timer("key:a")["key"] == "a"


@pytest.mark.parametrize("app", ["", " shop", "a\nb"])
def test_an_app_that_no_header_can_name_is_refused_at_once(app: str) -> None:
    with pytest.raises(ValueError, match="is not the name of an app"):
        Client("http://127.0.0.1:5000", app)


def test_a_request_without_a_key_is_told_where_the_client_takes_it_from() -> None:
    problem: Problem = {"type": "", "title": "", "status": 401, "detail": "no key", "code": 40101}
    assert "WANGTIMER_KEY_FILE" in str(refused(problem))
    assert "key=" in str(refused(problem))
    assert "WANGTIMER_KEY_FILE" not in str(refused(problem | {"code": 40102}))
