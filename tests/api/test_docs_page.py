"""The page at `/docs` introduces the service, and its first request works as it stands there."""

import html
import json
import re
import shlex
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.api.keyed_world import KeyedWorld
from tests.api.world import present
from wangtimer.api.document.docs_page import page_at


@pytest.fixture
def world(sqlite_url: str, redis_url: str) -> Any:
    world = KeyedWorld(sqlite_url, redis_url, present())
    yield world
    world.close()


def pasted(page: str, name: str) -> list[str]:
    """Return the words of a command on the page, as a shell reads them."""
    found = re.search(rf'<pre id="{name}">(.*?)</pre>', page, re.DOTALL)
    assert found is not None, name
    return shlex.split(html.unescape(found[1]))


def run(world: KeyedWorld, words: list[str]) -> Any:
    """Do what curl does with these words; return the answer."""
    assert words.pop(0) == "curl"
    url, headers, body = words.pop(0), {}, None
    while words:
        option, value = words.pop(0), words.pop(0)
        if option == "-H":
            if value == "@.wangtimer/key":
                value = f"Authorization: Bearer {world.app_of('demo')}"
            name, _, headers[name] = (part.strip() for part in value.partition(":"))
        else:
            assert option == "-d"
            body = value
    place = urlsplit(url)
    method = "GET" if body is None else "POST"
    answer = world.client.open(
        place.path,
        method=method,
        query_string=place.query,
        headers=headers,
        data=body,
        base_url=f"http://{place.netloc}",
    )
    assert answer.status_code in (200, 201), answer.text
    return json.loads(answer.text)


def test_the_root_leads_people_to_it(world: KeyedWorld) -> None:
    page = world.client.get("/", follow_redirects=True)
    assert page.request.path == "/docs"
    assert "<h1>WangTimer</h1>" in page.text
    assert "The first request" in page.text


@pytest.mark.parametrize("host", ["localhost:5000", "127.0.0.1:8080"])
def test_its_first_request_works_as_pasted_and_the_second_shows_what_came_of_it(
    world: KeyedWorld, host: str
) -> None:
    page = world.client.get("/docs", headers={"Host": host}).text
    made = run(world, pasted(page, "first-request"))
    assert (made["app"], made["enabled"]) == ("demo", True)
    assert made["target"] == {"url": f"http://{host}/healthz", "method": "GET", "headers": {}, "body": ""}
    assert world.client.get("/healthz", headers={"Host": host}).status_code == 200
    world.clock.now += 6_000
    listed = run(world, pasted(page, "second-request"))
    assert [one["timerId"] for one in listed["items"]] == [made["id"]]


def test_it_may_be_pasted_twice(world: KeyedWorld) -> None:
    page = world.client.get("/docs").text
    first, second = (run(world, pasted(page, "first-request")) for _ in range(2))
    assert first["id"] != second["id"]


def test_a_url_that_a_shell_would_read_as_more_is_not_shown() -> None:
    page = page_at("http://a$(id).example/")
    assert "$(id)" not in page
    assert "http://localhost:5000/v1/timers" in page
