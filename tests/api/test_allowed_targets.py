"""A URL whose address the rules of egress refuse is refused when the timer is made or edited, on both paths."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.api.v1.world import TIMERS, V1World
from tests.api.world import DEF, definition, present
from wangtimer.api.http.allowed_targets import check_way_out

REFUSED_URLS = (
    "http://127.0.0.1/", "http://127.1:8080/a", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/",
    "http://[::1]/", "http://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "http://169.254.169.254/latest/",
    "http://0xa9fea9fe/", "http://[fd00:ec2::254]/", "http://10.0.0.1/", "http://192.168.1/", "http://0/",
    "http://localhost:8000/x", "https://a.localhost/",
)  # fmt: skip
ALLOWED_URLS = ("http://8.8.8.8/", "https://[2606:4700::1111]/", "http://10.9.0.1:8080/", "http://localhost.example/",
                "http://metadata.google.internal/", "http://[::ffff:8.8.8.8]/")  # fmt: skip
SAID = "this deployment does not allow calls to its address"


@pytest.fixture
def ruled_world(sqlite_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[V1World]:
    """Both paths, where public addresses are allowed, one network beside, and the store is at 10.9.0.6."""
    monkeypatch.setenv("WANGTIMER_EGRESS", "public,10.9.0.0/24:8080")
    world = V1World(sqlite_url, redis_url, present())
    world.wiring.database.create_tables()
    yield world
    world.close()


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_a_timer_whose_url_has_such_an_address_is_not_made(ruled_world: V1World, url: str) -> None:
    answered = ruled_world.create(notifyHTTPParam={"url": url})
    assert (answered.status, answered.json["field"]) == (400, "notifyHTTPParam.url")
    assert SAID in answered.msg
    body = {"key": "a", "schedule": {"cron": "* * * * *"}, "target": {"url": url}}
    told = ruled_world.send("POST", TIMERS, body)
    assert told.status == 400
    assert SAID in str(told.json)
    assert ruled_world.stored() == (0, 0)


@pytest.mark.parametrize("url", ALLOWED_URLS)
def test_other_addresses_and_all_names_are_taken(ruled_world: V1World, url: str) -> None:
    """DNS decides about a name when the call connects."""
    assert ruled_world.create(notifyHTTPParam={"url": url}).code == 0


def test_localhost_is_taken_where_either_of_its_addresses_may_be_called(
    sqlite_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANGTIMER_EGRESS", "public,127.0.0.0/8")
    world = V1World(sqlite_url, redis_url, present())
    world.wiring.database.create_tables()
    assert world.create(notifyHTTPParam={"url": "http://localhost:8000/x"}).code == 0
    world.close()


def test_an_edit_to_such_an_address_changes_nothing(ruled_world: V1World) -> None:
    timer_id = int(ruled_world.create().json["id"])
    fields = {"app": "shop", "id": timer_id, "notifyHTTPParam": {"url": "http://127.0.0.1/"}}
    answered = ruled_world.call("PATCH", DEF, json=fields)
    assert (answered.status, answered.json["field"]) == (400, "notifyHTTPParam.url")
    assert SAID in answered.msg
    notify = ruled_world.wiring.timers.get("shop", timer_id).definition.notify
    assert notify.url == definition()["notifyHTTPParam"]["url"]


def test_without_rules_nothing_is_said_early(small_world: V1World) -> None:
    """The engine, which does not start without rules, is the judge."""
    assert small_world.wiring.settings.egress == ""
    assert small_world.create(notifyHTTPParam={"url": "http://127.0.0.1/"}).code == 0


def test_our_own_servers_are_refused_where_their_network_is_allowed(
    sqlite_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANGTIMER_EGRESS", "public,127.0.0.0/8,::1")
    monkeypatch.setenv("WANGTIMER_HTTP_BIND", "127.0.0.1:5000")
    world = V1World(sqlite_url, redis_url, present())
    world.wiring.database.create_tables()
    port = redis_url.rpartition(":")[2].partition("/")[0]
    for own in (port, "5000", "5001"):
        answered = world.post(DEF, **definition(notifyHTTPParam={"url": f"http://127.0.0.2:{own}/"}))
        assert answered.status == 400
        assert SAID in answered.msg
    assert world.create(notifyHTTPParam={"url": "http://127.0.0.1:5002/"}).code == 0
    world.close()


def test_a_file_of_timers_is_read_without_a_deployment() -> None:
    check_way_out("http://127.0.0.1/", "shop")
    with Flask(__name__).app_context(), pytest.raises(KeyError):  # an app of ours has settings
        check_way_out("http://127.0.0.1/", "shop")


def set_for(world: V1World, app: str, **egress: object) -> None:
    """Set it as of long ago: a process believes for some seconds what it knows."""
    world.wiring.apps.create_missing(app, {}, world.clock.now)
    world.wiring.apps.change(app, world.clock.now, {}, egress=egress)
    world.wiring.app_directory._kept.clear()


def refused_by_both(world: V1World, url: str, said: str) -> None:
    answered = world.create(notifyHTTPParam={"url": url})
    assert (answered.status, answered.json["field"]) == (400, "notifyHTTPParam.url")
    assert said in answered.msg
    told = world.send("POST", TIMERS, {"key": "a", "schedule": {"cron": "* * * * *"}, "target": {"url": url}})
    assert told.status == 400
    assert told.json["pointer"] == "/target/url"
    assert said in str(told.json)
    assert world.stored() == (0, 0)


HTTPS_ONLY = "the app may call https only"
ORDERS, TARGET = "/v1/targets/orders", "/v1/targets/{name}"


def test_an_app_with_https_only_makes_no_timer_with_plain_http(ruled_world: V1World) -> None:
    set_for(ruled_world, "shop", httpsOnly=True)
    refused_by_both(ruled_world, "http://target.example/", HTTPS_ONLY)
    assert ruled_world.create(notifyHTTPParam={"url": "https://target.example/"}).code == 0
    assert ruled_world.create(app="bank", notifyHTTPParam={"url": "http://target.example/"}).code == 0


def test_an_app_with_https_only_edits_no_timer_to_plain_http(ruled_world: V1World) -> None:
    timer_id = int(ruled_world.create(notifyHTTPParam={"url": "https://target.example/"}).json["id"])
    set_for(ruled_world, "shop", httpsOnly=True)
    for path, body in (
        (f"{TIMERS}/{timer_id}", {"target": {"url": "http://target.example/"}}),
        (f"{TIMERS}/{timer_id}", {"target": {"url": "http://other.example/"}}),
    ):
        answered = ruled_world.send("PATCH", path, body, rule=f"{TIMERS}/{{which}}")
        assert (answered.status, answered.json["pointer"]) == (400, "/target/url")
        assert HTTPS_ONLY in str(answered.json)
    whole = {"schedule": {"cron": "* * * * *"}, "target": {"url": "http://target.example/"}}
    replaced = ruled_world.send("PUT", f"{TIMERS}/{timer_id}", whole, rule=f"{TIMERS}/{{which}}")
    assert replaced.status == 400
    notify = ruled_world.wiring.timers.get("shop", timer_id).definition.notify
    assert notify.url == "https://target.example/"


def test_a_named_target_of_an_app_with_https_only_is_not_plain_http(ruled_world: V1World) -> None:
    assert ruled_world.send("PUT", ORDERS, {"url": "https://a.example/"}, rule=TARGET).status == 201
    set_for(ruled_world, "shop", httpsOnly=True)
    for method in ("PUT", "PATCH"):
        told = ruled_world.send(method, ORDERS, {"url": "http://a.example/"}, rule=TARGET)
        assert (told.status, told.json["pointer"], HTTPS_ONLY in str(told.json)) == (400, "/url", True)
    # A timer that goes through it has no URL of its own to be judged.
    named = {"key": "a", "schedule": {"cron": "* * * * *"}, "target": {"name": "orders", "path": "/a"}}
    assert ruled_world.send("POST", TIMERS, named).status == 201


def test_a_named_target_whose_url_has_a_refused_address_is_not_made(ruled_world: V1World) -> None:
    told = ruled_world.send("PUT", ORDERS, {"url": "http://169.254.169.254/latest/"}, rule=TARGET)
    assert (told.status, SAID in str(told.json)) == (400, True)


def test_an_address_that_is_allowed_for_one_app_is_taken_from_no_other(ruled_world: V1World) -> None:
    set_for(ruled_world, "bank", allow=["10.1.0.0/16"])
    refused_by_both(ruled_world, "http://10.1.2.3/", SAID)
    assert ruled_world.create(app="bank", notifyHTTPParam={"url": "http://10.1.2.3/"}).code == 0
    assert ruled_world.create(app="bank", notifyHTTPParam={"url": "http://10.2.2.3/"}).status == 400


def test_no_app_may_call_metadata_or_our_own_servers(ruled_world: V1World) -> None:
    set_for(ruled_world, "shop", allow=["0.0.0.0/0"])
    port = ruled_world.wiring.settings.store_url.rpartition(":")[2].partition("/")[0]
    for url in ("http://169.254.169.254/", f"http://127.0.0.1:{port}/"):
        refused_by_both(ruled_world, url, SAID)
