"""Whatever is sent to v1, the answer is as documented and never a 5xx."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.api.test_strange_requests import anything, texts, values
from tests.api.v1.world import TIMERS, URL, V1World

spans = texts | st.sampled_from(["90s", "1h30m", "PT90S", "P1D", "0s", "-1s", "9" * 40 + "d", "P9999999D"])
schedules = st.fixed_dictionaries(
    {},
    optional={
        "cron": texts | values,
        "every": spans | values,
        "at": values,
        "delay": spans | values,
        "jitter": spans,
        "timezone": texts,
        "excludeCalendar": texts,
        "maxFirings": values,
        "x": values,
    },
)
targets = st.fixed_dictionaries(
    {"url": values | st.just(URL)},
    optional={"method": values, "headers": values, "body": values, "json": values},
)
timers = st.fixed_dictionaries(
    {"schedule": schedules | values, "target": targets | values},
    optional={"key": values | texts, "tags": values, "enabled": values, "misfire": values},
)


def assert_answered(world: V1World, method: str, path: str, body: Any = None, **options: Any) -> None:
    assert world.send(method, path, body, **options).status < 500


@anything
@given(timers)
def test_no_timer_is_too_strange(small_world: V1World, fields: dict[str, Any]) -> None:
    assert_answered(small_world, "POST", TIMERS, fields)


@anything
@given(st.dictionaries(st.sampled_from(["schedule", "target", "key", "tags", "misfire"]), values))
def test_no_patch_is_too_strange(small_world: V1World, fields: dict[str, Any]) -> None:
    assert_answered(small_world, "PATCH", f"{TIMERS}/key:none", fields, rule=f"{TIMERS}/{{which}}")


@anything
@given(
    st.dictionaries(st.sampled_from(["key", "sort", "limit", "cursor", "tag", "nextBefore"]) | texts, texts)
)
def test_no_query_is_too_strange(small_world: V1World, query: dict[str, str]) -> None:
    assert_answered(small_world, "GET", TIMERS, query=query)
    assert_answered(small_world, "GET", "/v1/firings", query=query)


@anything
@given(st.from_regex(r"[^/?#]{1,40}", fullmatch=True), st.sampled_from(["", "key:"]))
def test_no_name_of_a_timer_is_too_strange(small_world: V1World, name: str, prefix: str) -> None:
    if name in (".", ".."):
        return
    assert_answered(small_world, "GET", f"{TIMERS}/{prefix}{_quoted(name)}", rule=f"{TIMERS}/{{which}}")


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "replace"))
