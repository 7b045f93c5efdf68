"""Values that are within their count and, as they are stored, wider than their column."""

import pytest

from tests.api.test_refused import URL
from tests.api.world import DEF, World
from wangtimer.core.timers.fields import MOST_TAGS, TAG_CHARACTERS

# Each takes two characters as JSON.
DOUBLED = ['"', "\\"]


def tags_of(sign: str) -> list[str]:
    """Tags of the most there may be, all different."""
    return [sign * (TAG_CHARACTERS - 1) + chr(ord("a") + number) for number in range(MOST_TAGS)]


@pytest.mark.parametrize("sign", DOUBLED)
def test_tags_of_nothing_but_quotes_are_refused_by_their_field(world: World, sign: str) -> None:
    """2,113 characters as they are stored, where 2,048 fit."""
    answered = world.create(tags=[*tags_of(sign)[:-1], sign * TAG_CHARACTERS])
    assert (answered.status, answered.code, answered.json["field"]) == (400, 40007, "tags")
    assert "2048 fit" in answered.msg
    assert world.stored() == (0, 0)


def test_they_spoil_no_other_timer_of_a_batch(world: World) -> None:
    nightly = {"schedule": {"cron": "0 0 * * *"}, "target": {"url": URL}, "enabled": False}
    bad, good = nightly | {"tags": tags_of('"')}, nightly | {"tags": ["plain"]}
    rows = world.send("POST", "/v1/timers:batchCreate", {"timers": [bad, good]}).json["items"]
    assert [row["problem"] and row["problem"]["code"] for row in rows] == [40007, None]
    assert world.stored() == (1, 0)


def test_an_edit_and_a_put_are_refused_as_a_create_is(world: World) -> None:
    timer_id = world.made(tags=["plain"])
    edited = world.patch(app="shop", id=timer_id, tags=tags_of('"'))
    assert (edited.status, edited.code, edited.json["field"]) == (400, 40007, "tags")
    whole = {"schedule": {"cron": "0 0 * * *"}, "target": {"url": URL}, "tags": tags_of('"')}
    put = world.send("PUT", f"/v1/timers/{timer_id}", whole, rule="/v1/timers/{which}")
    assert (put.status, put.json["code"], put.json["pointer"]) == (400, 40007, "/tags")
    assert world.get(DEF, app="shop", id=timer_id).data["tags"] == ["plain"]


@pytest.mark.parametrize("sign", ["\U0001f552", "é", "'", "/", "<"])
def test_what_takes_one_character_as_it_is_stored_is_taken_whole(world: World, sign: str) -> None:
    tags = tags_of(sign)
    timer_id = world.made(tags=tags)
    assert sorted(world.get(DEF, app="shop", id=timer_id).data["tags"]) == sorted(tags)


def test_the_longest_of_everything_else_is_taken(world: World) -> None:
    """Names, header values and bodies of quotes, backslashes and controls, as wide as each may be."""
    call = {"url": URL, "header": {"X-A": '"\\' * 4_000}, "body": '\\"\u0001' * 3_000}
    wide = {"app": '"' * 64, "name": "\\" * 128, "notifyHTTPParam": call, "excludeCalendar": '"' * 64}
    days = [
        f"{year}-{month:02}-{day:02}"
        for year in range(2000, 2024)
        for month in range(1, 13)
        for day in (1, 9)
    ]
    path, rule = "/v1/calendars/" + "%22" * 64, "/v1/calendars/{name}"
    assert world.send("PUT", path, {"days": days}, app=wide["app"], rule=rule).status == 200
    timer_id = world.made(**wide)
    read = world.get(DEF, app=wide["app"], id=timer_id).data
    assert read["notifyHTTPParam"]["body"] == call["body"]
