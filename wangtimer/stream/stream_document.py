"""The OpenAPI document of the stream, which it serves at `/v1/consumers/openapi.json` and `/openapi.json`.

It is not the API's server, so not its document.
"""

from typing import Any

from wangtimer.api.v1.problems import CODES_PAGE, MEDIA_TYPE
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.messages.consumer_group import GROUP_CHARACTERS
from wangtimer.stream.events_endpoint import MOST_WINDOW, USUAL_WINDOW
from wangtimer.stream.words import SaidWords

TAG = "consumers"
_DESCRIPTION = f"""\
Firings for services that nobody can call: a consumer connects, and is sent the firings of its group as server-sent
events. It says of each what became of it. Behind the proxy that is shipped, these paths are at the address of the API.

* A request has an API key of the app: `Authorization: Bearer wtk_...`.
* An error is a problem (RFC 9457) with a stable `code`. The page `{CODES_PAGE}` explains each code.
"""
_VERBS = {
    "ack": ("ackOfConsumer", "Say that firings are done", "Each of them has succeeded."),
    "nack": (
        "nackOfConsumer",
        "Say that firings have failed",
        "Each is tried again as its timer's `retry` says; with `final` it has failed for good.",
    ),
    "heartbeat": (
        "heartbeatOfConsumer",
        "Say that firings are still worked on",
        "Each may be acknowledged for another `ackTimeout`, until `ackBy`.",
    ),
}
_STATUSES = {
    "400": "Something in the request is wrong",
    "401": "The key is missing, or counts no more",
    "403": f"The key lacks the scope `{Scope.FIRINGS_CONSUME.value}`",
    "404": "Nothing is at this path",
    "405": "The path takes another method",
    "413": "The body is over 1 MiB",
    "429": "Too many requests, or as many consumers as there may be",
    "500": "A fault of the service",
    "503": "SQL or Redis is away, or as many requests are being read as are at once",
}


def stream_document(version: str) -> dict[str, Any]:
    """Return the document."""
    words = SaidWords.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = words.pop("$defs") | {
        "SaidWords": words,
        "Firing": _object(
            ("id", "attempt", "headers", "ackTimeoutMs", "ackBy"),
            id={"type": "string", "description": "the firing's id: the same on every attempt"},
            attempt={"type": "integer", "minimum": 1},
            headers={
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "those of a call; X-WangTimer-Ack-Token is the token of a word",
            },
            body={"type": "string", "description": "the body, where it is text"},
            bodyBase64={"type": "string", "description": "the body, where it is none"},
            ackTimeoutMs={"type": "integer"},
            ackBy={"type": "string", "format": "date-time", "description": "until when a word counts"},
        ),
        "Items": _object(("items",), items={"type": "array", "items": _ref("Item")}),
        "Item": _object(
            ("id",),
            id={"type": "string"},
            ackBy={"type": "string", "format": "date-time", "description": "of a heartbeat"},
            problem=_ref("Problem") | {"description": "why the word did not count; 503: say it again"},
        ),
        "Problem": _object(
            ("type", "title", "status", "detail", "code"),
            type={"type": "string", "description": "where its code is explained, relative to this address"},
            title={"type": "string"},
            status={"type": "integer"},
            detail={"type": "string", "description": "what is wrong; what to do"},
            code={"type": "integer"},
            parameter={"type": "string", "description": "what of the request is wrong"},
        ),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "WangTimer, stream of consumers", "version": version, "description": _DESCRIPTION},
        "servers": [{"url": "/", "description": "The stream that serves this document"}],
        "tags": [{"name": TAG, "description": "Consumers: take firings, and say what became of them."}],
        "paths": {
            "/v1/consumers/{group}/events": {"get": _events()},
            **{f"/v1/consumers/{{group}}:{verb}": {"post": _words(*told)} for verb, told in _VERBS.items()},
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "Key": {"type": "http", "scheme": "bearer", "bearerFormat": "wtk_<id>_<secret><checksum>"}
            },
        },
    }


def _events() -> dict[str, Any]:
    window = {"type": "integer", "minimum": 1, "maximum": MOST_WINDOW, "default": USUAL_WINDOW}
    said = "how many firings the consumer may have that it has not acknowledged"
    stream = {
        "description": "Server-sent events, until the connection ends. `firing` has a Firing as its data; `closing` "
        "says in words why the connection ends. A line with `:` comes every 15 s.",
        "headers": {
            "X-Accel-Buffering": {"schema": {"const": "no"}, "description": "no proxy keeps events back"}
        },
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
    return _operation(
        "connectConsumer",
        "Take firings of a group",
        "Each firing goes to one consumer of the group. What a consumer has not acknowledged when its connection ends "
        "comes to another one at once. The data of an event is `#/components/schemas/Firing`.",
        stream,
        [{"name": "window", "in": "query", "schema": window, "description": said}],
    )


def _words(name: str, summary: str, text: str) -> dict[str, Any]:
    answered = {
        "description": "What became of each word, in their order; one that fails costs no other",
        "content": {"application/json": {"schema": _ref("Items")}},
    }
    body = {"required": True, "content": {"application/json": {"schema": _ref("SaidWords")}}}
    operation = _operation(name, summary, text, answered, []) | {"requestBody": body}
    slow = {
        "description": "The body did not arrive in time",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
    operation["responses"]["408"] = slow
    return operation


def _operation(
    name: str, summary: str, text: str, answered: dict[str, Any], parameters: list[dict[str, Any]]
) -> dict[str, Any]:
    group = {
        "name": "group",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "maxLength": GROUP_CHARACTERS},
        "description": "the group that the target names",
    }
    problem = {MEDIA_TYPE: {"schema": _ref("Problem")}}
    return {
        "operationId": name,
        "tags": [TAG],
        "summary": summary,
        "description": text,
        "security": [{"Key": [Scope.FIRINGS_CONSUME.value]}],
        "parameters": [group, *parameters],
        "responses": {"200": answered}
        | {status: {"description": said, "content": problem} for status, said in _STATUSES.items()},
    }


def _object(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
