"""The page at `/docs` introduces the service, and its first request works as it stands there."""

import gzip
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
from wangtimer.base.own_servers import egress_rules_of, named_servers
from wangtimer.base.settings import Settings
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK, Peer


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
    assert made["target"] == {"url": "https://example.com/", "method": "GET", "headers": {}, "body": ""}
    world.clock.now += 6_000
    listed = run(world, pasted(page, "second-request"))
    assert [one["timerId"] for one in listed["items"]] == [made["id"]]


def test_its_first_call_is_one_that_egress_allows(world: KeyedWorld) -> None:
    """What `wangtimer up` allows; our own API is never among it."""
    settings = Settings(egress=PUBLIC_AND_LOOPBACK)
    rules = egress_rules_of(settings, named_servers(settings))
    target = urlsplit(run(world, pasted(world.client.get("/docs").text, "first-request"))["target"]["url"])
    assert target.hostname not in ("localhost", "127.0.0.1")
    assert rules.refusal(Peer(target.hostname or "", "93.184.215.14", 443)) == ""


def test_it_may_be_pasted_twice(world: KeyedWorld) -> None:
    page = world.client.get("/docs").text
    first, second = (run(world, pasted(page, "first-request")) for _ in range(2))
    assert first["id"] != second["id"]


def test_a_url_that_a_shell_would_read_as_more_is_not_shown() -> None:
    page = page_at("http://a$(id).example/")
    assert "$(id)" not in page
    assert "http://localhost:5000/v1/timers" in page


def test_the_document_is_zipped_for_those_who_take_it_so(world: KeyedWorld) -> None:
    plain = world.client.get("/openapi.json")
    zipped = world.client.get("/openapi.json", headers={"Accept-Encoding": "br, gzip"})
    assert (plain.headers.get("Content-Encoding"), zipped.headers["Content-Encoding"]) == (None, "gzip")
    assert gzip.decompress(zipped.data) == plain.data
    assert len(zipped.data) < len(plain.data) / 5
    assert plain.headers["Vary"] == zipped.headers["Vary"] == "Accept-Encoding"
    refused = world.client.get("/openapi.json", headers={"Accept-Encoding": "gzip;q=0"})
    assert refused.data == plain.data
