"""The finished document of an app: its front, then what its routes and models say, then the other parts here."""

from typing import Any

from flask_openapi.openapi import OpenAPI

from wangtimer.api.access.rights import RIGHTS, Open, Right, route_name
from wangtimer.api.document.described_document import (
    describe_answers,
    describe_fields,
    name_objects,
    name_values,
)
from wangtimer.api.document.examples import put_examples
from wangtimer.api.document.webhooks import put_webhooks
from wangtimer.api.v1.parameters import APP_HEADER
from wangtimer.core.apps.scopes import Scope

# How the tags of the compatible paths begin.
COMPATIBLE = "compatible "
DESCRIPTION = f"""\
Calls other services back, on time. Your service makes a timer over HTTP: a cron expression, an interval or one moment,
and the HTTP call to make. WangTimer makes that call at each moment, and again while it fails. The call is described
under `webhooks`.

* A request has an API key: `Authorization: Bearer wtk_...`. The key says the app and has scopes; each operation says
  the one it needs. An operator's key acts for every app, and names it in the header `{APP_HEADER}`.
* New clients use the paths under `/v1`.
* An error is a problem (RFC 9457) with a stable `code`. The page `/docs/errors` explains each code.
* Consumers that nobody can call connect to the stream, `/v1/consumers/...`. It has a document of its own, at
  `/v1/consumers/openapi.json`.
* The paths under `/api/timer/v1` and `/api/task/v1` are compatible with xTimer. They are frozen, and stay for its
  clients. Their operations have `x-compatibility: xtimer`, and their tags begin with `{COMPATIBLE.strip()}`.
"""

_TAGS = {
    "timers": "Timers: make, read, change, enable, disable, fire, delete, one or many at a time; preview a schedule.",
    "firings": "Firings: each is one moment of a timer and its outcome. Search, read, cancel, replay.",
    "calendars": "Calendars: the days on which timers that name one do not fire.",
    "targets": "Named targets: calls in one place, which timers name.",
    "brokers": "Brokers: where targets may send messages, as operators named and allowed it.",
    "signing": "Signing: the secrets with which an app's callbacks are signed.",
    "client certificates": "Client certificates: what an app's callbacks show to targets that ask who calls (mTLS).",
    "load": "Load: how many firings are planned in each future minute.",
    "dead letters": "Dead letters: firings that have failed for good, until they are replayed or discarded.",
    "failing hosts": "Failing hosts: those to which calls wait, or are made no more, because call after call failed.",
    "alert rules": "Alert rules: of which trouble an app is told, by webhook, mail or a robot of a chat.",
    "callbacks": "Callbacks: the calls that the service makes to yours.",
    "health": "Health: probes for an operator's tools.",
    "apps": "Apps and their API keys: for operators.",
}
_KEY = "Key"
_SECURITY = {
    _KEY: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "wtk_<id>_<secret><checksum>",
        "description": "An API key. The roles of an operation are the scopes that its key must have.",
    },
}


def put_front(document: dict[str, Any]) -> None:
    """Add what the service is, its server, parts and security schemes."""
    document["info"] |= {
        "description": DESCRIPTION,
        "license": {"name": "MIT", "identifier": "MIT"},
    }
    document["servers"] = [{"url": "/", "description": "The service that serves this document"}]
    document["externalDocs"] = {
        "url": "/docs",
        "description": "This document as a page, with an introduction",
    }
    compatible = [tag for tag in document["tags"] if tag["name"].startswith(COMPATIBLE)]
    document["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()] + compatible
    document["components"]["securitySchemes"] = _SECURITY
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            operation["security"] = _security(RIGHTS[route_name(method.upper(), path)])
            operation.pop("deprecated")
            if operation["tags"][0].startswith(COMPATIBLE):
                operation["x-compatibility"] = "xtimer"


def _security(right: Right) -> list[dict[str, list[str]]]:
    """Return the keys that an operation takes; an empty one: it needs none."""
    match right:
        case Open.WHOLLY:
            return []
        case Open.PARTLY:
            return [{}, {_KEY: [Scope.METRICS_READ.value]}]
        case Scope():
            return [{_KEY: [right.value]}]


def finish_document(app: OpenAPI) -> None:
    """Finish the document of an app that has all its routes. The app keeps it from then on."""
    document: dict[str, Any] = app.api_doc
    put_front(document)
    name_objects(document)
    describe_fields(document)
    name_values(document)
    describe_answers(document)
    put_examples(document)
    put_webhooks(document)
