"""Each request on a page is one that the OpenAPI document describes: its method, its path, its parameters, its body."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jsonschema import Draft202012Validator

from tests.docs.blocks import ROOT, blocks, name_of, pages
from tests.in_one import in_one

DOCUMENT: dict[str, Any] = json.loads((ROOT / "openapi.json").read_text())
API = "localhost:5000"
# Served beside the document.
NOT_DESCRIBED = {"/metrics", "/openapi.json", "/docs", "/"}


@dataclass(frozen=True, slots=True)
class Request:
    where: str
    method: str
    path: str
    query: tuple[str, ...]
    headers: tuple[str, ...]
    body: str | None


def requests_of(page: Path) -> list[Request]:
    return [
        request_of(f"{name_of(page)}:{block.line}", words)
        for block in blocks(page)
        if block.language == "sh"
        for words in commands(block.text)
        if any(API in word for word in words)
    ]


def commands(text: str) -> list[list[str]]:
    """Return the words of each `curl` of a block: up to what ends a command in the shell."""
    # A variable of the shell within a body stands for a number, as it does within a path.
    plain = re.sub(r"'\$\w+'|\$\w+", "1", text.replace("\\\n", " ")).replace("$(", "(")
    lexer = shlex.shlex(plain, posix=True, punctuation_chars="|;&()\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    lexer.commenters = "#"
    found: list[list[str]] = []
    inside = False
    for word in lexer:
        if word == "curl":
            found.append([])
            inside = True
        elif word and set(word) <= set("|;&()\n"):
            inside = False
        elif inside:
            found[-1].append(word)
    return found


def request_of(where: str, words: list[str]) -> Request:
    method, body, headers, url = "", None, [], ""
    rest = iter(words)
    for word in rest:
        if word == "-X":
            method = next(rest)
        elif word == "-H":
            headers.append(next(rest))
        elif word in ("-d", "--data", "--data-binary"):
            body = next(rest)
        elif API in word:
            url = word
    parts = urlsplit(url if "//" in url else f"http://{url}")
    query = tuple(name for name, _ in parse_qsl(parts.query))
    return Request(
        where, method or ("GET" if body is None else "POST"), parts.path, query, tuple(headers), body
    )


def operation_of(request: Request) -> dict[str, Any]:
    for path, methods in DOCUMENT["paths"].items():
        pattern = re.sub(r"\\{\w+\\}", "[^/]+?", re.escape(path))
        if request.method.lower() in methods and re.fullmatch(pattern, request.path):
            found: dict[str, Any] = methods[request.method.lower()]
            # A verb behind a colon is no part of an id.
            if (":" in path) == bool(re.search(r":[a-z]\w+$", re.sub("key:[^:/]+", "", request.path))):
                return found
    raise AssertionError(f"{request.where}: the document has no {request.method} {request.path}")


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    name = part.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["schemas"][name] if name else part


REQUESTS = [request for page in pages() for request in requests_of(page) if request.path not in NOT_DESCRIBED]


def test_there_are_many() -> None:
    assert len(REQUESTS) > 60


@in_one("request_", REQUESTS)
def test_the_document_describes_it(request_: Request) -> None:
    operation = operation_of(request_)
    named = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
    assert set(request_.query) <= named, request_.where
    if operation["security"] and {} not in operation["security"]:
        has_key = any(header.endswith("key") for header in request_.headers)
        assert has_key or request_.path.startswith("/api/"), request_.where
    content = operation.get("requestBody", {}).get("content")
    if content is None:
        assert not request_.body, request_.where
        return
    assert request_.body is not None, request_.where
    assert "Content-Type: application/json" in request_.headers, request_.where
    body = json.loads(request_.body)
    schema = {**resolved(content["application/json"]["schema"]), "components": DOCUMENT["components"]}
    errors = [error.message for error in Draft202012Validator(schema).iter_errors(body)]
    assert errors == [], request_.where
    assert unknown_fields(content["application/json"]["schema"], body) == [], request_.where


def unknown_fields(schema: dict[str, Any], value: Any, at: str = "") -> list[str]:
    """Return the fields that no schema names: the service refuses them, and JSON Schema lets them pass."""
    schema = resolved(schema)
    kinds = [resolved(one) for one in schema.get("anyOf", schema.get("allOf", []))]
    if kinds:
        return min((unknown_fields(kind, value, at) for kind in kinds), key=len)
    if isinstance(value, list):
        return [one for item in value for one in unknown_fields(schema.get("items", {}), item, at)]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    known = schema["properties"]
    found = [f"{at}/{name}" for name in value if name not in known]
    return found + [
        one
        for name in value
        if name in known
        for one in unknown_fields(known[name], value[name], f"{at}/{name}")
    ]
