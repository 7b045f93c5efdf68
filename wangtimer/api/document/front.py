"""The front of the document: what the service is, its parts, and how a request names its app."""

from typing import Any

from wangtimer.api.v1.parameters import APP_HEADER

# How the tags of the compatible paths begin.
COMPATIBLE = "compatible "
DESCRIPTION = f"""\
Calls other services back, on time. Your service makes a timer over HTTP: a cron expression, an interval or one moment,
and the HTTP call to make. WangTimer makes that call at each moment, and again while it fails. The call is described
under `webhooks`.

* New clients use the paths under `/v1`. A request there names its app in the header `{APP_HEADER}`. Only an
  operator's load of all apps names none.
* An error is a problem (RFC 9457) with a stable `code`. The page `/docs/errors` explains each code.
* The paths under `/api/timer/v1` and `/api/task/v1` are compatible with xTimer. They are frozen, and stay for its
  clients. Their operations have `x-compatibility: xtimer`, and their tags begin with `{COMPATIBLE.strip()}`.
"""

_TAGS = {
    "timers": "Timers: make, read, change, enable, disable, fire, delete, one or many at a time; preview a schedule.",
    "firings": "Firings: each is one moment of a timer and its outcome. Search, read, cancel, replay.",
    "calendars": "Calendars: the days on which timers that name one do not fire.",
    "signing": "Signing: the secrets with which an app's callbacks are signed.",
    "load": "Load: how many firings are planned in each future minute.",
    "callbacks": "Callbacks: the calls that the service makes to yours.",
    "health": "Health: probes for an operator's tools.",
}
_SECURITY = {
    "App": {
        "type": "apiKey",
        "in": "header",
        "name": APP_HEADER,
        "description": "Names the app whose timers a request is about. It is no password: whoever reaches the port can "
        "name any app. Let only services you trust reach it. Keys of apps, as bearer tokens, are to come "
        "beside it; no key is read yet.",
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
    for methods in document["paths"].values():
        for operation in methods.values():
            names_app = any(one["name"] == APP_HEADER for one in operation.get("parameters", ()))
            operation["security"] = [{"App": []}] if names_app else []
            operation.pop("deprecated")
            if operation["tags"][0].startswith(COMPATIBLE):
                operation["x-compatibility"] = "xtimer"
