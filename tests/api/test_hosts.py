"""A `Host` that is no name of this service is refused: a web page may have led its own name here."""

import pytest

from tests.api.world import World
from wangtimer.api.http.browser_rules import AllowedHosts
from wangtimer.base.settings import Settings

HEALTH = [
    "/healthz",
    "/readyz",
    "/metrics",
    "/",
    "/docs",
    "/docs/errors",
    "/openapi.json",
    "/api/timer/v1/defs?app=shop",
    "/nothing",
]


def test_each_of_several_addresses_is_a_name() -> None:
    names = allowed("10.0.0.1:5000, api.example:80")
    assert (names.allow("10.0.0.1"), names.allow("api.example"), names.allow("10.0.0.2")) == (
        True,
        True,
        False,
    )


def allowed(bind: str = "127.0.0.1:5000", hosts: str = "") -> AllowedHosts:
    return AllowedHosts.of(Settings(http_bind=bind, http_hosts=hosts), bind)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:5000", "LOCALHOST.:1", "127.0.0.1:5000", "[::1]:80"]
)
def test_the_loopback_s_names_are_allowed_whatever_it_is_bound_to(host: str) -> None:
    for bind in ("127.0.0.1:5000", "10.1.2.3:80", "0.0.0.0:5000", "[::]:5000"):
        assert allowed(bind).allow(host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:5000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.9.9.9",
        "user@localhost",
        "localhost/..",
        "localhost:port",
        "[::1",
        "",
        " localhost",
    ],
)
def test_other_names_and_addresses_are_not(host: str) -> None:
    assert not allowed().allow(host)


def test_bound_to_one_address_or_name_that_one_is_allowed() -> None:
    assert allowed("10.1.2.3:80").allow("10.1.2.3:8080")
    assert allowed("timers.corp:80").allow("Timers.Corp")
    assert not allowed("10.1.2.3:80").allow("10.1.2.4")


@pytest.mark.parametrize("bind", ["0.0.0.0:5000", "[::]:5000", ":5000"])
def test_bound_to_all_any_address_is_allowed_and_no_name(bind: str) -> None:
    """A page cannot rebind an address."""
    assert allowed(bind).allow("192.168.7.7:5000")
    assert allowed(bind).allow("[fe80::1]:5000")
    assert not allowed(bind).allow("evil.example:5000")


def test_the_setting_adds_names_and_a_star_is_any() -> None:
    hosts = allowed(hosts=" Timers.example , web")
    assert hosts.allow("timers.example:443")
    assert hosts.allow("web")
    assert not hosts.allow("evil.example")
    assert allowed(hosts="*").allow("evil.example")


@pytest.mark.parametrize("path", HEALTH)
def test_every_path_refuses_another_host_and_names_the_setting(small_world: World, path: str) -> None:
    answered = small_world.call("GET", path, headers={"Host": "evil.example"})
    assert (answered.status, answered.code, answered.json["field"]) == (400, 40011, "Host")
    assert "WANGTIMER_HTTP_HOSTS" in answered.msg
    small_world.client.get(path, headers={"Host": "127.0.0.1"})


def test_what_a_web_page_posts_under_its_own_name_makes_no_timer(small_world: World) -> None:
    body = b'{"app":"shop","name":"a","delayMs":0,"notifyHTTPParam":{"url":"http://h/"}}'
    options = {"data": body, "content_type": "application/json", "headers": {"Host": "evil.example"}}
    assert small_world.call("POST", "/api/timer/v1/def", **options).code == 40011
    assert small_world.stored() == (0, 0)
