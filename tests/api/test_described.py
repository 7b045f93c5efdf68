"""Nothing in the OpenAPI document is left without words and examples, and its examples are true to its schemas."""

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.api.test_generators import objects_in
from tests.in_one import in_one
from wangtimer.api.access.rights import RIGHTS, Open
from wangtimer.api.openapi import document

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = json.loads(document())
SCHEMAS, EXAMPLES = (DOCUMENT["components"][name] for name in ("schemas", "examples"))
CODES_PAGE = ROOT / "docs/api-errors.md"
# The web server's own, in HTML, before a request is one of ours.
TOO_LONG = "414"

OPERATIONS = [
    pytest.param(path, operation, id=operation["operationId"])
    for place in ("paths", "webhooks")
    for path, methods in DOCUMENT[place].items()
    for operation in methods.values()
]
each_operation = in_one(("path", "operation"), OPERATIONS)


def contents_of(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a request body or an answer may hold, by media type."""
    yield from part.get("content", {}).values()


def examples_of(content: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the examples, by their names."""
    found = {}
    for name, example in content.get("examples", {}).items():
        whole = EXAMPLES[example["$ref"].rpartition("/")[2]] if "$ref" in example else example
        assert whole["summary"], name
        found[name] = whole["value"]
    return found


def texts_below_fields() -> Iterator[tuple[str, str, str, str]]:
    """Yield each text below a field of a model, with the model's module and name and the field's name."""
    for path in sorted(
        path for room in ("api", "features") for path in (ROOT / "wangtimer" / room).rglob("*.py")
    ):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for model in ast.parse(path.read_text()).body:
            for field, below in pairwise(model.body) if isinstance(model, ast.ClassDef) else ():
                match field, below:
                    case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                        yield module, model.name, name, " ".join(text.split())


def check(value: Any, schema: dict[str, Any]) -> None:
    jsonschema.validate(value, {**schema, "components": DOCUMENT["components"]})


def test_a_text_below_a_field_is_its_description() -> None:
    texts = list(texts_below_fields())
    assert len(texts) > 100
    lost = [
        f"{module}.{model}.{name}"
        for module, model, name, text in texts
        if getattr(import_module(module), model).model_fields[name].description != text
    ]
    assert not lost, "the description of their type takes the place of these: write Field(description=...)"


@in_one("name", SCHEMAS)
def test_every_schema_and_every_property_is_described(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema.get("description"), name
    missing = [field for field, one in schema.get("properties", {}).items() if not one.get("description")]
    assert not missing, (
        f"{name}: describe them in the model, or in wangtimer/api/document/described_document.py"
    )


def test_no_object_within_a_schema_is_left_out_of_this() -> None:
    within = [one for schema in SCHEMAS.values() for one in objects_in(schema) if "properties" in one]
    assert len(within) == sum("properties" in schema for schema in SCHEMAS.values())


@each_operation
def test_every_operation_parameter_body_and_answer_is_described(path: str, operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    assert operation["responses"]
    for parameter in operation.get("parameters", []):
        assert parameter.get("description"), parameter["name"]
    for status, answer in operation["responses"].items():
        assert len(answer["description"].split()) > 3, f"{status} {answer['description']!r}"
        assert all(header["description"] for header in answer.get("headers", {}).values())


@each_operation
def test_every_request_has_an_example_that_its_schema_takes(path: str, operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        if "example" in parameter:
            check(parameter["example"], parameter["schema"])
        assert "example" in parameter or not parameter["required"], parameter["name"]
    for content in contents_of(operation.get("requestBody", {})):
        shown = examples_of(content)
        assert shown
        for value in shown.values():
            check(value, content["schema"])


@each_operation
def test_every_answer_has_an_example_that_its_schema_takes(path: str, operation: dict[str, Any]) -> None:
    for status, answer in operation["responses"].items():
        for header in answer.get("headers", {}).values():
            check(header["example"], header["schema"])
        for content in contents_of(answer):
            shown = examples_of(content)
            assert shown or status == TOO_LONG, status
            for value in shown.values():
                check(value, content["schema"])
                if status.isdigit() and int(status) >= 400:
                    assert value["code"] // 100 == int(status)


def test_every_code_in_the_document_is_in_docs_api_errors_and_the_other_way_round() -> None:
    rows = {int(number) for number in re.findall(r"^\| (\d{5}) \|", CODES_PAGE.read_text(), re.M)}
    named = {int(one) for one in re.findall(r"\b[45]\d{4}\b", json.dumps(DOCUMENT["paths"]))}
    of_examples = {example["value"]["code"] for example in EXAMPLES.values()}
    assert named <= rows
    assert of_examples <= rows
    for schema in ("Problem", "ErrorAnswer"):
        assert set(SCHEMAS[schema]["properties"]["code"]["enum"]) == rows


def test_every_status_and_code_lists_its_values() -> None:
    for name, schema in SCHEMAS.items():
        for field in ("status", "statusName", "state", "kind", "method"):
            one = schema.get("properties", {}).get(field)
            if one is not None and (name, field) != ("Problem", "status"):
                listed = [inner for inner in objects_in(one) if "enum" in inner or "$ref" in inner]
                assert listed or one.get("maximum") == 1, f"{name}.{field}"


def test_every_kept_example_belongs_to_an_operation_that_there_is() -> None:
    kept = json.loads(Path("wangtimer/api/document/examples.json").read_text())
    assert kept["operations"].keys() == {one.id for one in OPERATIONS} - {"timerFired"}


def test_an_operation_asks_for_a_key_with_its_scope() -> None:
    (scheme,) = DOCUMENT["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            needs_none = RIGHTS[f"{method.upper()} {path}"] in (Open.WHOLLY, Open.PARTLY)
            scopes = [key["Key"] for key in operation["security"] if key]
            assert needs_none or (len(scopes) == 1 and len(scopes[0]) == 1), operation["operationId"]


def test_the_compatible_paths_are_marked() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            is_marked = operation.get("x-compatibility") == "xtimer"
            assert is_marked == path.startswith("/api/"), operation["operationId"]
            assert operation["tags"][0].startswith("compatible ") == is_marked


def test_every_tag_is_described_and_used() -> None:
    used = {
        tag
        for place in ("paths", "webhooks")
        for methods in DOCUMENT[place].values()
        for operation in methods.values()
        for tag in operation["tags"]
    }
    assert {tag["name"] for tag in DOCUMENT["tags"] if tag["description"]} == used
