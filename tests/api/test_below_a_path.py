"""Behind a proxy that takes a path off, what leads back to the API has it again; only a trusted proxy says so."""

import pytest

from tests.api.keyed_world import KeyedWorld
from tests.api.world import present

# The setting, the header, and what `Location` begins with; the connection is from 127.0.0.1.
PREFIXES = [
    ("127.0.0.0/8", "/timers", "/timers/v1/"),
    ("127.0.0.0/8", "/a/timers-2.0", "/a/timers-2.0/v1/"),
    ("127.0.0.0/8", None, "/v1/"),
    ("127.0.0.0/8", "//evil.example", "/v1/"),
    ("127.0.0.0/8", "http://evil.example", "/v1/"),
    ("127.0.0.0/8", '/"><script>', "/v1/"),
    ("127.0.0.0/8", "/timers/../x", "/v1/"),
    ("127.0.0.0/8", "/.", "/v1/"),
    ("127.0.0.0/8", f"/{'x' * 199}", f"/{'x' * 199}/v1/"),
    ("127.0.0.0/8", f"/{'x' * 200}", "/v1/"),
    ("192.0.2.0/24", "/timers", "/v1/"),
    ("", "/timers", "/v1/"),
]


@pytest.mark.parametrize(("proxies", "prefix", "place"), PREFIXES)
def test_location_has_the_path_that_a_trusted_proxy_took_off(
    sqlite_url: str, redis_url: str, proxies: str, prefix: str | None, place: str
) -> None:
    world = KeyedWorld(sqlite_url, redis_url, present(), trusted_proxies=proxies)
    shop, headers = world.app_of("shop"), {} if prefix is None else {"X-Forwarded-Prefix": prefix}
    body = {"key": "new", "schedule": {"delay": "2h"}, "target": {"url": "http://target.example/"}}
    sent = {**headers, "Idempotency-Key": "once"}
    made, again = (world.ask("POST", "/v1/timers", shop, sent, json=body) for _ in range(2))
    fired = world.ask("POST", "/v1/timers/key:new:fire", shop, headers)
    assert made.headers["Location"] == again.headers["Location"] == f"{place}timers/{made.json['id']}"
    assert fired.headers["Location"] == f"{place}firings/{fired.json['id']}"
    assert f"localhost{place}timers" in world.client.get("/docs", headers=headers).text
    direct = world.ask("POST", "/v1/timers", shop, {"Idempotency-Key": "once"}, json=body)
    assert (direct.headers["Idempotent-Replayed"], direct.headers["Location"]) == (
        "true",
        f"/v1/timers/{made.json['id']}",
    )
    world.close()
