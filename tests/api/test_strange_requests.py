"""Whatever is sent, the answer is an envelope and never a 5xx."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.world import DEF, DEFS, ENABLE, RECORDS, URL, World

anything = settings(
    max_examples=75,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
texts = st.text(max_size=30) | st.sampled_from(
    ["shop", "", "\0", "* * * * *", "@daily", "UTC", "2190-01-01T00:00:00Z", URL]
)
numbers = st.integers() | st.sampled_from(
    [0, 1, -1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 1_795_198_611_123]
)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
notifies = st.fixed_dictionaries(
    {},
    optional={"url": values | st.just(URL), "method": values, "header": values, "body": values, "x": values},
)
creates = st.fixed_dictionaries(
    {"app": values | st.just("shop"), "name": values | texts},
    optional={
        "cron": texts | values,
        "at": values,
        "delayMs": values,
        "timezone": texts,
        "notifyHTTPParam": notifies,
    },
)


def assert_envelope(world: World, method: str, path: str, **options: Any) -> None:
    answered = world.call(method, path, **options)
    assert answered.status < 500, answered.json
    assert (answered.status == 200) == (answered.code == 0)


@anything
@given(creates)
def test_no_create_is_too_strange(small_world: World, fields: dict[str, Any]) -> None:
    body = json.dumps(fields).encode()
    assert_envelope(small_world, "POST", DEF, data=body, content_type="application/json")


@anything
@given(st.binary(max_size=200), st.text(max_size=40))
def test_no_body_is_too_strange(small_world: World, body: bytes, content_type: str) -> None:
    for given_type in ("application/json", f"application/json; charset={content_type}", content_type):
        header = given_type.encode("ascii", "ignore").decode().replace("\r", "").replace("\n", "")
        assert_envelope(small_world, "POST", ENABLE, data=body, content_type=header)


@anything
@given(
    st.sampled_from([DEF, DEFS, RECORDS]),
    st.lists(
        st.tuples(
            st.sampled_from(["app", "id", "timerID", "limit", "cursor", "pending"]) | texts,
            texts | numbers.map(str),
        ),
        max_size=6,
    ),
)
def test_no_query_is_too_strange(small_world: World, path: str, pairs: list[tuple[str, str]]) -> None:
    assert_envelope(small_world, "GET", path, query_string=pairs)


@anything
@given(st.binary(max_size=60))
def test_no_raw_query_is_too_strange(small_world: World, raw: bytes) -> None:
    query = "".join(
        f"%{byte:02x}" if index % 3 else chr(byte & 0x7F or 0x41) for index, byte in enumerate(raw)
    )
    assert_envelope(small_world, "GET", RECORDS, query_string=query.replace("#", ""))


@pytest.mark.parametrize("value", ["1e5", "1", "null", "true", '""', '"x"', "[]", "{}"])
def test_more_values_than_any_request_has_are_refused_whatever_they_are(
    small_world: World, value: str
) -> None:
    """8 MB of floats, nulls or texts were read whole: millions of values."""
    body = '{"timers":[' + ",".join([value] * 200_002) + "]}"
    refused = small_world.send("POST", "/v1/timers:batchCreate", body.encode())
    assert (refused.status, refused.json["code"]) == (400, 40012)
    assert "200000 values" in refused.json["detail"]


def test_commas_and_brackets_within_texts_are_no_values(small_world: World) -> None:
    target = {"url": URL, "method": "POST", "body": '",[{' * 10_000}
    timers = [{"schedule": {"every": "1m"}, "target": target} for _ in range(21)]
    answered = small_world.send("POST", "/v1/timers:batchCreate", {"timers": timers})
    assert (answered.status, answered.json["created"]) == (200, 21)
