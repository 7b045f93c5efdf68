"""Every constraint of the OpenAPI document is refused in our own words: which field, what is wrong, what to write.

`every_breach` and what it is made of serve tests/api/v1/test_every_operation.py too.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from tests.api.world import ENABLE, URL, World
from wangtimer.api.openapi import document

DOCUMENT = json.loads(document())
PYDANTIC = re.compile(r"\b(String|Input|List|Value|Tuple|Dictionary|Object|should|validation|valid|item)\b")


class Breach(NamedTuple):
    """A request in which one field breaks one constraint of its schema."""

    method: str
    path: str
    part: str
    fields: dict[str, Any]
    field: str


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return resolved(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    given = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return resolved(given[0]) | schema if given else schema


def sample(schema: dict[str, Any], name: str = "") -> Any:
    """Return a value the schema allows."""
    schema = resolved(schema)
    if name == "url":
        return URL
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type", "string"):
        case "object":
            required = schema.get("required", ())
            # An operator, as whom all tests call, names an app.
            return {
                key: sample(one, key)
                for key, one in schema["properties"].items()
                if key in required or key == "app"
            }
        case "array":
            return [sample(schema["items"])]
        case "integer":
            return int(schema.get("minimum", 1))
        case "boolean":
            return True
        case _:
            return schema.get("examples", ["x"])[0]


def breaches(schema: dict[str, Any]) -> Iterator[Any]:
    """Yield values that break the schema, each in one way."""
    if "enum" in schema:
        yield "nonsense"
    if "minimum" in schema:
        yield int(schema["minimum"]) - 1
    if "maximum" in schema:
        yield int(schema["maximum"]) + 1
    if schema.get("minLength"):
        yield ""
    if "maxLength" in schema:
        yield "a" * (schema["maxLength"] + 1)
    if "pattern" in schema:
        yield next(text for text in ("a b", "a\x01b") if not re.search(schema["pattern"], text))
    if schema.get("minItems"):
        yield []
    if "maxItems" in schema:
        yield [sample(schema["items"])] * (schema["maxItems"] + 1)
    if schema.get("type") in ("integer", "boolean", "array"):
        yield "nonsense"


def broken(schema: dict[str, Any], path: str = "") -> Iterator[tuple[Any, str]]:
    """Yield values of which a part breaks the schema, and the name of that part."""
    schema = resolved(schema)
    yield from ((value, path) for value in breaches(schema))
    for name, inner in schema.get("properties", {}).items():
        for value, field in broken(inner, f"{path}.{name}".strip(".")):
            yield sample(schema) | {name: value}, field
    if "items" in schema:
        yield from (([value], field) for value, field in broken(schema["items"], f"{path}.0"))


def every_breach(paths: Mapping[str, Any]) -> Iterator[Breach]:
    for path, methods in paths.items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                yield from (Breach(method, path, "json", *one) for one in broken(schema))
            given = operation.get("parameters", [])
            # Of two spellings of an id neither is required by itself.
            required = {
                one["name"]: sample(one["schema"])
                for one in given
                # An operator, as whom all tests call, names an app.
                if one["in"] == "query" and (one.get("required") or one["name"] in ("id", "app"))
            }
            # A parameter of a path is a text, and what it may spell is tested with its resource.
            for parameter in (one for one in given if one["in"] != "path"):
                name, part = parameter["name"], "query" if parameter["in"] == "query" else "headers"
                for value, field in broken(parameter["schema"], name):
                    yield Breach(
                        method, path, part, (required if part == "query" else {}) | {name: value}, field
                    )


def send(world: World, breach: Breach) -> Any:
    options: dict[str, Any] = {"query_string" if breach.part == "query" else breach.part: breach.fields}
    if breach.part == "headers":
        schema = DOCUMENT["paths"][breach.path][breach.method]["requestBody"]["content"]["application/json"]
        options["json"] = sample(schema["schema"])
    return world.call(breach.method.upper(), breach.path, **options)


def test_every_breach_is_refused_in_our_own_words(small_world: World) -> None:
    seen = 0
    compatible = {path: one for path, one in DOCUMENT["paths"].items() if not path.startswith("/v1/")}
    for breach in every_breach(compatible):
        answered = send(small_world, breach)
        # Of many timers each is refused by itself.
        refused = answered.data[0] if answered.status == 200 else answered.json
        said = (breach.method, breach.path, breach.field, refused)
        assert refused["code"] // 100 == 400, said
        assert not PYDANTIC.search(refused["msg"]), said
        assert refused["field"].startswith(breach.field.removeprefix("timers.0.")), said
        seen += 1
    assert seen > 150


@pytest.mark.parametrize(
    ("fields", "msg"),
    [
        ({"name": ""}, "name: it has no characters; write 1 or more"),
        ({"maxFirings": 0}, "maxFirings: it is 0; write 1 or more"),
        ({"tags": ["a"] * 17}, "tags: it has 17 entries; write 16 at most"),
        ({"maxFirings": 10_001}, "maxFirings: it is 10001; write 10000 at most"),
        ({"startAt": -1}, "startAt: it lies outside the years 1970 to 2199; write one within them"),
        (
            {"notifyHTTPParam": {"url": "http://shop:x/"}},
            "notifyHTTPParam.url: its host or port cannot be read; write it as in http://host:8080/path",
        ),
        (
            {"misfire": "some"},
            "misfire: 'some' is not one of its values; write 'fire_all', 'fire_latest' or 'skip'",
        ),
    ],
)
def test_what_is_wrong_comes_with_what_to_write(small_world: World, fields: dict[str, Any], msg: str) -> None:
    assert small_world.create(**fields).msg == msg


def test_a_number_too_long_to_read_is_told_in_our_words(small_world: World) -> None:
    raw = f'{{"app":"shop","id":{"9" * 5_000}}}'
    answered = small_world.call("POST", ENABLE, data=raw, content_type="application/json")
    assert answered.msg.startswith("request: the body is not JSON: it has a number of 5000 digits; ")
