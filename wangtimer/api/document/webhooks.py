"""The `webhooks` of the document: the call that a timer makes. `wangtimer/executor/request_maker.py` writes it."""

from typing import Any

from wangtimer.core.flow.continuity import MOST_LOST

_DESCRIPTION = """\
The call that a timer makes at each of its moments. Its URL, method, headers and body are the `target` of the timer: the
method is POST unless the target names another. Headers of the target are sent unchanged. Every call also has the
headers below.

**It may come more than once.** Every attempt of a firing has the same `webhook-id`. A receiver acts only once if it
remembers the ids it has acted on and drops repeats.

**It is tried again** after every result but a 2xx answer: as the timer's `retry` says, else that of its
named target, else that of its app, else after 1, 2, 4 s and so on, at most 5 minutes (±20 %), eleven attempts in all
(`WANGTIMER_MOST_ATTEMPTS`). Then the firing has failed, and `POST /v1/firings/{firing_id}:replay` attempts it anew. An
answer 429 or 503 may say when it is tried again, by `Retry-After`. 410 is final, and disables the timer. While a target
hangs, firings that wait for it use no attempt.

**It may take 10 s in all** (`WANGTIMER_CALLBACK_TIMEOUT_MS`), connecting included, or less where the target has a
`timeout`. For longer work answer 202 first, and work after.

**It is signed** as Standard Webhooks has it: HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the body, divided by
dots. `POST /v1/signing-secrets` makes a secret. An app that switched signing off gets no timestamp and no signature.

Firings of one timer may overlap."""

# Headers by their names: what each is, its schema, an example.
_HEADERS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "webhook-id": (
        "the firing's id (Standard Webhooks): the same on every attempt; `GET /v1/firings/{firing_id}` reads it",
        {"type": "string"},
        "890342217101453-1795207483000",
    ),
    "webhook-timestamp": (
        "when this attempt was signed, s since 1970; refuse one that is more than 300 s off",
        {"type": "integer", "format": "int64"},
        1795207483,
    ),
    "webhook-signature": (
        "one signature a secret, `v1,` and base64; two, divided by a space, while a secret is replaced",
        {"type": "string", "pattern": "^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)*$"},
        "v1,Qk6ePLxzYN4FRVfO4zjOUhzHxTEf7Jzf1V2sYmUcKq8=",
    ),
    "X-WangTimer-Timer": ("the timer's id", {"type": "integer", "format": "int64"}, 890342217101453),
    "X-WangTimer-Fire-At": (
        "the scheduled moment, ms since 1970: not when this attempt is sent",
        {"type": "integer", "format": "int64"},
        1795207483000,
    ),
    "X-WangTimer-Attempt": (
        "which attempt it is, from 1; a replay has the next number",
        {"type": "integer", "format": "int32", "minimum": 1, "maximum": 32_767},
        1,
    ),
    "X-WangTimer-Sequence": (
        "the firing's number, of a timer with `numbered`; not there: it has none",
        {"type": "integer", "format": "int64", "minimum": 1},
        17,
    ),
    "X-WangTimer-Last-Success": (
        "of a timer with `numbered`: the last planned moment before that succeeded, ms since 1970; not there: none of "
        "the 1,000 firings before it did",
        {"type": "integer", "format": "int64"},
        1795207423000,
    ),
    "X-WangTimer-Lost-Since": (
        "of a timer with `numbered`: how many moments since then failed for good or were skipped by a policy; 1000: "
        "that many or more; not there: it was not counted",
        {"type": "integer", "format": "int32", "minimum": 0, "maximum": MOST_LOST},
        0,
    ),
    "X-WangTimer-App": ("the app whose timer it is, in UTF-8", {"type": "string"}, "shop"),
    "User-Agent": (
        "`WangTimer/` and the version, unless the target names another",
        {"type": "string"},
        "WangTimer/0.2.0",
    ),
}

_MAY_BE_MISSING = (
    "User-Agent",
    "webhook-timestamp",
    "webhook-signature",
    "X-WangTimer-Sequence",
    "X-WangTimer-Last-Success",
    "X-WangTimer-Lost-Since",
)

_BODY = {
    "description": "The target's `body`, byte for byte, in UTF-8; empty where it has none. Its `Content-Type` is the "
    "target's own header. Without one it is `application/json` where the body is JSON, else "
    "`text/plain; charset=utf-8`.",
    "required": False,
    "content": {
        "application/json": {
            "schema": {"description": "any JSON that the target has as its body"},
            "examples": {"Json": {"summary": "A body that is JSON", "value": {"order": 42}}},
        },
        "text/plain": {
            "schema": {"type": "string", "description": "any other text"},
            "examples": {"Text": {"summary": "Any other body", "value": "close order 42"}},
        },
    },
}

_ANSWERS = {
    "2XX": "Success. The start of the answer's body is kept as `output` of the attempt; the rest is ignored.",
    "3XX": "Failure: redirects are not followed. It is tried again.",
    "4XX": "Failure. It is tried again; 429 may say when, by `Retry-After`. 410 is final and disables the timer, "
    "unless its policy names it.",
    "5XX": "Failure. It is tried again; 503 may say when, by `Retry-After`.",
    "default": "No answer in time, no connection, or a broken answer: failure. It is tried again; `error` of the "
    "attempt says which.",
}


def put_webhooks(document: dict[str, Any]) -> None:
    """Add the call that a timer makes."""
    operation = {
        "operationId": "timerFired",
        "tags": ["callbacks"],
        "summary": "A timer's moment has come",
        "description": _DESCRIPTION,
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": name not in _MAY_BE_MISSING,
                "description": description,
                "schema": schema,
                "example": example,
            }
            for name, (description, schema, example) in _HEADERS.items()
        ],
        "requestBody": _BODY,
        "responses": {
            status: {
                "description": description,
                "content": {
                    "*/*": {
                        "schema": {"description": "anything"},
                        "examples": {"Any": {"summary": "Any text", "value": "ok"}},
                    }
                },
            }
            for status, description in _ANSWERS.items()
        },
    }
    document["webhooks"] = {"timerFired": {"post": operation}}
