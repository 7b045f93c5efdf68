"""What generators of clients need of the document; `make clients` runs three of them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from wangtimer.api import create_app

METHODS = {"get", "put", "post", "delete", "patch"}
# Of OpenAPI 3.2; generators of 3.1 pass over them, or stop.
OF_3_2 = {
    "additionalOperations",
    "query",
    "itemSchema",
    "itemEncoding",
    "prefixEncoding",
    "$self",
    "dataValue",
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return create_app().api_doc


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        assert methods.keys() <= METHODS
        yield from methods.values()


def objects_in(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a part of the document."""
    if isinstance(part, dict):
        yield part
        for inner in part.values():
            yield from objects_in(inner)
    if isinstance(part, list):
        for inner in part:
            yield from objects_in(inner)


def schemas_in(part: Any) -> list[dict[str, Any]]:
    """Return every object in a part of the document that says its type."""
    return [one for one in objects_in(part) if isinstance(one.get("type"), str)]


def test_operation_ids_are_unique_names(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for operation in operations(document)]
    assert not [one for one, times in Counter(map(str.lower, ids)).items() if times > 1]
    assert all(one.isalnum() and one[0].islower() for one in ids)


def test_each_operation_has_one_tag_and_the_document_has_it(document: dict[str, Any]) -> None:
    tags = {tag["name"] for tag in document["tags"]}
    for operation in operations(document):
        assert len(operation["tags"]) == 1
        assert operation["tags"][0] in tags


def test_every_body_is_a_schema_with_a_name(document: dict[str, Any]) -> None:
    for operation in operations(document):
        places = [*operation["responses"].values()]
        places += [operation["requestBody"]] if "requestBody" in operation else []
        for place in places:
            of_json = place.get("content", {}).get("application/json")
            assert of_json is None or of_json["schema"].keys() == {"$ref"}, operation["operationId"]


def test_objects_within_have_names_too(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        for field, inner in schema.get("properties", {}).items():
            whole = [one for one in schemas_in(inner) if one["type"] == "object" and "properties" in one]
            assert all(one.get("title", "").isalnum() for one in whole), f"{name}.{field}"


def test_schema_names_differ_by_more_than_their_case(document: dict[str, Any]) -> None:
    names = list(document["components"]["schemas"])
    assert len({name.lower() for name in names}) == len(names)
    assert all(name.isalnum() for name in names)


def test_no_schema_is_named_as_what_makes_another(document: dict[str, Any]) -> None:
    """Go's clients make a `Timer` by `NewTimer`."""
    names = set(document["components"]["schemas"])
    assert not names & {f"New{name}" for name in names}


def test_whole_numbers_say_how_many_bits_they_need(document: dict[str, Any]) -> None:
    numbers = [schema for schema in schemas_in(document) if schema["type"] == "integer"]
    assert len(numbers) > 50
    assert not [schema for schema in numbers if schema.get("format") not in ("int32", "int64")]
    too_big = [one for one in numbers if one["format"] == "int32" and one.get("maximum", 2**31) >= 2**31]
    assert not too_big


def test_a_union_of_types_has_one_name_wherever_it_stands(document: dict[str, Any]) -> None:
    unions = [one for one in objects_in(document) if "anyOf" in one and _width(one) > 1]
    assert {schema.get("title") for schema in unions} <= {"GivenMoment", None}
    for schema in unions:
        if schema.get("title") == "GivenMoment":
            assert [one["type"] for one in schema["anyOf"]] == ["string", "integer", "null"]


def test_values_of_an_enum_are_unique_words(document: dict[str, Any]) -> None:
    for schema in schemas_in(document):
        values = schema.get("enum", [])
        assert len(set(values)) == len(values)
        # A number has a word beside it: without one, generators make up NUMBER_40001.
        words = schema.get("x-enum-varnames", values)
        assert len(set(words)) == len(values)
        assert all(isinstance(word, str) for word in words)


def test_nothing_of_openapi_3_2_is_used(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    found = {key for one in objects_in(document["paths"]) for key in one} & OF_3_2
    assert not found


def _width(schema: dict[str, Any]) -> int:
    return len([one for one in schema["anyOf"] if one.get("type") != "null"])
