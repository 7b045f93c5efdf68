"""What each answer of an operation means, by its HTTP status."""

from typing import Any

from wangtimer.api.http.codes import ErrorCode

_SUCCESS = {
    "200": "It is done; the body has the result.",
    "201": "It is made; `Location` says where.",
    "204": "It is done; the answer has no body.",
}
_FAULTS = {
    400: "The request is refused: it cannot be read, or one of its values is not allowed. Nothing is done.",
    401: "The request has no API key, or one that is unknown or has ended. Nothing is done.",
    403: "The API key may not do this: another app, a missing scope, a disabled app, or a limit of the app that is "
    "reached. Nothing is done.",
    404: "There is no such app, timer, firing, calendar, key or path.",
    409: "The key is taken, or the state of the timer or calendar does not allow it. Nothing is done.",
    412: "The timer has changed since the version of `If-Match`. Nothing is done.",
    413: "The body is too large. Nothing is done.",
    415: "The body is not declared as JSON. Nothing is done.",
    422: "An earlier, different request had this `Idempotency-Key`. Nothing is done.",
    429: "The app asks faster than it may. Nothing is done.",
    500: "A fault of the service; its log has the details.",
    503: "SQL or Redis does not answer. Repeat it after `Retry-After` seconds; a change may or may not have been made.",
}
# For `/readyz`, which answers 503 itself.
_UNREADY = "At least one of SQL, store and broker does not answer."
RETRY_AFTER = {
    "description": "seconds to wait before the request is repeated",
    "schema": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 3600},
    "example": 1,
}

# By draft-ietf-httpapi-ratelimit-headers-10; each answer to an app's key has both.
RATE_LIMIT = {
    "RateLimit-Policy": {
        "description": "the app's quota of requests, and its window in s",
        "schema": {"type": "string"},
        "example": '"requests";q=400;w=2',
    },
    "RateLimit": {
        "description": "how many requests are left of the quota, and in how many s it is whole again",
        "schema": {"type": "string"},
        "example": '"requests";r=0;t=1',
    },
}


def describe_answers(document: dict[str, Any]) -> None:
    """Describe each answer and the codes an error may have; sort the answers by status."""
    for methods in document["paths"].values():
        for operation in methods.values():
            answers = operation["responses"]
            for status, answer in answers.items():
                _describe(operation["operationId"], status, answer)
            operation["responses"] = dict(sorted(answers.items()))


def _describe(operation_id: str, status: str, answer: dict[str, Any]) -> None:
    if status in _SUCCESS:
        answer["description"] = _SUCCESS[status]
        return
    if int(status) not in _FAULTS:
        return
    meaning = _UNREADY if (operation_id, status) == ("isReady", "503") else _FAULTS[int(status)]
    codes = ", ".join(str(code.number) for code in ErrorCode if code.status == int(status))
    answer["description"] = f"{meaning} Codes: {codes}."
    if status == "503" and operation_id != "isReady":
        answer["headers"] = {"Retry-After": RETRY_AFTER}
    if status == "429":
        answer["headers"] = {"Retry-After": RETRY_AFTER} | RATE_LIMIT
