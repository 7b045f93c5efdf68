"""The client against the real service."""

import csv
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.client.outcomes import fired
from tests.client.served import Served, cut_off_redis
from wangtimer.client import Callback, Client, Conflict, NotFound, Refused
from wangtimer.core.timers.told import COUNTS_WITHIN_MS

CALLBACK: Callback = {"url": "http://target.example/", "header": {"X-Tag": ["a", "b"]}, "body": "{}"}


def make(client: Client, name: str, **fields: Any) -> int:
    return client.create_timer(name, CALLBACK, **({"cron": "@daily"} | fields))["id"]


def test_switching_off_tells_what_becomes_of_the_next_moment(client: Client) -> None:
    ids = [make(client, name, cron="0 0 1 1 *") for name in ("a", "b")]
    disabled = client.disable_timer(ids[0])
    assert disabled["stopped"] is not None
    assert disabled["stopped"]["state"] == "cancelled"
    assert client.delete_timer(ids[0]) == {"stopped": disabled["stopped"], "countsWithinMs": 1_000}
    changed = client.change_timers("disable", ids=[ids[1]])
    assert changed["stopped"] == [{"id": ids[1], **disabled["stopped"]}]


def test_every_change_says_how_soon_it_counts(
    served: Served, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed() -> list[Any]:
        timer_id = make(client, "a", cron="0 0 1 1 *")
        client.enable_timer(timer_id)
        return [
            client.edit_timer(timer_id, misfire="skip"),
            client.put_timer("a", CALLBACK, cron="0 0 2 1 *"),
            client.cancel_firing(timer_id, client.get_timer(timer_id)["nextFireAt"] or ""),
            client.disable_timer(timer_id),
            client.change_timers("enable", ids=[timer_id]),
            client.change_timers("delete", ids=[timer_id]),
            client.delete_timer(make(client, "b")),
        ]

    assert [answer["countsWithinMs"] for answer in changed()] == [1_000] * 7
    cut_off_redis(served.world, monkeypatch)
    assert [answer["countsWithinMs"] for answer in changed()] == [COUNTS_WITHIN_MS] * 7


def test_a_name_in_use_is_answered_with_whose_it_is(client: Client) -> None:
    made = client.create_timer("a", {"url": "http://target.example/"}, cron="@daily")
    with pytest.raises(Conflict) as caught:
        client.create_timer("a", {"url": "http://target.example/"}, cron="@daily")
    assert caught.value.existing_id == made["id"]
    many = client.create_timers(
        [{"name": "a", "callback": {"url": "http://target.example/"}, "cron": "@daily"}]
    )
    assert many["data"][0]["existingId"] == made["id"]


def test_a_timer_is_made_read_edited_switched_and_deleted(client: Client) -> None:
    made = client.create_timer(
        "expire", CALLBACK, cron="0 9 * * 1-5", timezone="Asia/Shanghai", tags=["a"], max_firings=3
    )
    assert made["words"]["en"].startswith("at 09:00 from Monday to Friday")
    assert made["notifyHTTPParam"]["header"] == {"X-Tag": ["a", "b"]}
    assert client.enable_timer(made["id"])["statusName"] == "enabled"
    edited = client.edit_timer(made["id"], version=2, tags=None, max_firings=None, misfire="skip")
    assert "tags" not in edited
    assert "maxFirings" not in edited
    assert (edited["misfire"], edited["cron"]) == ("skip", "0 9 * * 1-5")
    assert client.disable_timer(made["id"])["statusName"] == "disabled"
    unable = client.unable_timer(made["id"])
    assert unable == {
        **client.get_timer(made["id"]),
        "stopped": unable["stopped"],
        "countsWithinMs": unable["countsWithinMs"],
    }
    client.delete_timer(made["id"])
    with pytest.raises(NotFound) as caught:
        client.get_timer(made["id"])
    assert (caught.value.status, caught.value.code, caught.value.field) == (404, 40401, "id")


def test_refusals_say_code_field_and_message(client: Client) -> None:
    with pytest.raises(Refused) as caught:
        client.create_timer("bad", CALLBACK, cron="61 * * * *")
    assert (caught.value.status, caught.value.code, caught.value.field) == (400, 40008, "cron")
    assert str(caught.value) == f"{caught.value.msg} (40008)"
    make(client, "taken")
    with pytest.raises(Conflict) as taken:
        make(client, "taken")
    assert (taken.value.code, taken.value.field) == (40901, "name")


def test_moments_may_be_text_ms_or_datetimes_of_any_zone_and_are_never_earlier(client: Client) -> None:
    moment = datetime(2030, 1, 1, 8, 0, 0, 123_400, tzinfo=timezone(timedelta(hours=8)))
    made = client.create_timer("once", CALLBACK, at=moment)
    assert made["at"] == "2030-01-01T00:00:00.124Z"
    assert client.create_timer("ms", CALLBACK, at=made["atMs"])["at"] == made["at"]
    with pytest.raises(ValueError, match="no time zone"):
        client.create_timer("naive", CALLBACK, at=datetime(2030, 1, 1))


def test_timers_come_page_after_page_filtered_and_sorted(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.client.calls.MOST_A_PAGE", 2)
    for name in ("a", "b", "c", "d", "other"):
        make(client, name, tags=["letters"] if len(name) == 1 else None)
    assert [timer["name"] for timer in client.timers(tag="letters", sort="-name")] == ["d", "c", "b", "a"]
    assert [timer["name"] for timer in client.timers(name_contains="THE")] == ["other"]
    numbered = client.list_timers(page_index=2, page_size=3)
    assert ([timer["name"] for timer in numbered["data"]], numbered["total"]) == (["d", "other"], 5)
    assert client.list_timers_by_name("a")["total"] == 1


def test_firings_come_page_after_page(
    served: Served, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wangtimer.client.calls.MOST_A_PAGE", 2)
    timer_id = make(client, "each", cron="* * * * * *")
    moments = fired(served.world, timer_id, 5)
    assert [one["fireAtMs"] for one in client.firings(id=timer_id)] == moments[::-1]
    since = datetime.fromtimestamp(moments[3] / 1_000, UTC)
    assert [one["fireAtMs"] for one in client.firings(since=since, status="succeeded")] == moments[:2:-1]
    page = client.list_records(timer_id, limit=3)
    assert page["nextCursor"] is not None
    rest = client.list_records(timer_id, cursor=page["nextCursor"])
    assert [one["fireAtMs"] for one in page["data"] + rest["data"]] == moments[::-1]


def test_an_export_is_text_in_pieces(served: Served, client: Client) -> None:
    timer_id = make(client, "each", cron="* * * * * *")
    moments = fired(served.world, timer_id, 3)
    lines = b"".join(client.export_firings()).decode().splitlines()
    assert [json.loads(line)["fireAtMs"] for line in lines] == moments[::-1]
    text = b"".join(client.export_firings(format="csv", since=moments[1])).decode()
    assert [int(row["fireAtMs"]) for row in csv.DictReader(text.splitlines())] == moments[:0:-1]
    with pytest.raises(Refused, match="since"):
        next(client.export_firings(since="yesterday"))


def test_a_preview_stores_nothing(served: Served, client: Client) -> None:
    seen = client.preview_schedule(count=2, every_ms=60_000, exclude_calendar="weekends")
    assert len(seen["nextMoments"]) == 2
    assert served.world.stored() == (0, 0)


def test_calendars_are_put_read_listed_and_deleted(client: Client) -> None:
    put = client.put_calendar("plant", weekdays=[6, 7], days=["2027-01-01"], working=["2027-01-09"])
    assert put["edited"] == 0
    assert client.get_calendar("plant") == put["data"]
    assert "plant" in [one["name"] for one in client.list_calendars()]
    client.delete_calendar("plant")
    with pytest.raises(NotFound):
        client.get_calendar("plant")


def test_it_asks_for_health(client: Client) -> None:
    assert client.is_alive()
    assert client.is_ready()["sql"]["ok"]


def test_another_app_has_other_timers(served: Served, client: Client) -> None:
    make(client, "mine")
    with Client(served.url, "bank") as other:
        assert list(other.timers()) == []
