"""Describes what routes and models leave open in the OpenAPI document: fields, values, and answers by HTTP status."""

from collections.abc import Mapping
from typing import Any

from wangtimer.api.http.codes import ErrorCode
from wangtimer.callback.request import METHODS

_OF_LISTS = "the entries of this page, in the order of the list"
_MOMENT = "RFC 3339 with ms, UTC"

MEANINGS: Mapping[str, str] = {
    "anchorAt": f"the moment from which intervals are counted; {_MOMENT}",
    "app": "the app whose timer it is",
    "at": f"the one moment; {_MOMENT}",
    "atMs": "the same moment as at, in ms since 1970",
    "attempt": "from 1: the last attempt made, or the next one to make",
    "attempts": "every attempt so far, the first one first",
    "body": "the body of the call, as it is sent; empty: none",
    "broker": "the Celery broker",
    "code": "0: it was done. Else the error code; the meaning of a code never changes",
    "created": "how many timers were made",
    "cron": "the cron expression, as it was given",
    "cursor": "nextCursor of the previous page; valid only with the same app, filters and sort",
    "data": "the result",
    "days": "further days on which nothing fires, as in 2027-01-01",
    "dialect": "how cron is read",
    "done": "how many timers were changed",
    "egress": "the way out of the app's calls",
    "en": "in English",
    "enabled": "whether it fires at its moments",
    "endAt": f"nothing fires after it; {_MOMENT}",
    "error": "why the last attempt failed or was skipped; empty: it did neither",
    "every": "the interval",
    "everyDays": "the interval in days, at the time of day that anchorAt has in timezone",
    "everyMs": "the interval in ms",
    "excludeCalendar": "nothing fires on the days of this calendar",
    "failed": "how many failed or were refused",
    "field": "the field at fault, by its dotted name; empty: the request as a whole",
    "firings": "how many firings are planned in this minute",
    "firstSentAtMs": "when its first attempt was sent, ms since 1970; null: nothing was sent",
    "header": "each header's name with its values",
    "httpStatus": "the status of the target's last answer; null: there was none",
    "id": "the id that the service gave",
    "ids": "by their ids",
    "isBuiltIn": "true: every app has it, and it cannot be changed",
    "items": _OF_LISTS,
    "jitter": "each moment is delayed by at most this",
    "jitterMs": "each moment is delayed by at most this many ms",
    "key": "the app's own key for the timer; null: there is no such timer",
    "lastDueAt": f"when the last of these firings is due; {_MOMENT}; null: none is due",
    "limits": "the app's own limits; null takes one out",
    "latenessMs": "the first send minus the scheduled moment; null: nothing was sent",
    "matched": "how many match the request",
    "maxFirings": "the timer is finished after this many moments",
    "misfire": "what happens to firings that are found late",
    "misfireGraceMs": "a firing found later than this many ms is late",
    "msg": "what is wrong; what to do. Empty: it was done",
    "name": "its name, unique in the app",
    "namePrefix": "the name begins with this",
    "nextMoments": "the next moments of the schedule",
    "notReplayed": "the firings that are not replayed, and why",
    "notifyHTTPParam": "the HTTP call that the timer makes",
    "ok": "whether it answered in time",
    "planned": "how many firings were planned, due from now on",
    "policy": "what becomes of late firings: all are made, one only if no later moment has come, or none",
    "preview": "the schedule's next moments, the schedule in words, and warnings",
    "problem": "why not",
    "replayed": "how many firings are attempted once more",
    "schedule": "when it fires",
    "skipped": "how many were skipped",
    "sql": "the SQL server",
    "startAt": f"nothing fires before it; {_MOMENT}",
    "status": "its state or outcome",
    "statusName": "the status in a word",
    "store": "Redis or Valkey",
    "succeeded": "how many succeeded",
    "tag": "with this tag",
    "tags": "to find the timer by",
    "target": "the HTTP call that the timer makes",
    "text": "in English",
    "textZh": "in Chinese",
    "ticks": "whether a beat and a scheduler look for what is due: not so after 10 s without a look",
    "timer": "the timer as it is now",
    "timerID": "the timer's id",
    "timerId": "the timer's id",
    "timezone": "IANA zone of cron and of excluded days",
    "total": "how many there are in all",
    "url": "where the call goes",
    "warnings": "what may surprise about the schedule",
    "weekdays": "days of the week on which nothing fires",
    "words": "the schedule in words",
    "working": "exceptions: days on which timers do fire, as in 2027-01-02",
    "zh": "in Chinese",
}

MEANINGS_IN: Mapping[tuple[str, str], str] = {
    ("CalendarPage", "items"): "the built-in calendars, then the app's own",
    ("ManyTimersOutcome", "failed"): "the timers that were not changed, and why",
    ("NewTimerOutcome", "created"): "whether the timer was made",
    ("NewTimerOutcome", "id"): "the timer's id; null: it was not made",
    ("NewTimerOutcome", "key"): "the timer's key; null: it was not made",
    ("NewTimersOutcome", "items"): "what became of each timer, in the order of the request",
    ("NotReplayedFiring", "id"): "the firing's id",
    ("ShownTimer", "key"): "the app's own key for it, unique in the app",
    ("ShownTimerChange", "key"): "the app's own key for it, unique in the app",
    ("ListedTimer", "key"): "the app's own key for it, unique in the app",
    ("WarningData", "code"): "the kind of warning",
    ("ShownWarning", "code"): "the kind of warning",
    ("PartHealth", "error"): "why it did not answer; empty: it did",
}


def meaning_of(schema: str, field: str) -> str | None:
    """Return the meaning of a field of a schema ("": a parameter); None where it is not known."""
    return MEANINGS_IN.get((schema, field), MEANINGS.get(field))


# xTimer's numbers, with their names in generated clients.
_TIMER_NUMBERS = {1: "disabled", 2: "enabled", 3: "finished"}
_FIRING_NUMBERS = {0: "pending", 1: "accepted", 2: "succeeded", 3: "failed", 4: "skipped"}
_TIMERS = ("TimerData", "PlannedTimerData", "ListedTimerData")
_FIRINGS = ("RecordData",)


def describe_fields(document: dict[str, Any]) -> None:
    """Describe each field that its model does not describe, by the meaning of its name."""
    for name, schema in document["components"]["schemas"].items():
        for field, inner in schema.get("properties", {}).items():
            _describe_field(inner, name, field)
    for methods in document["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                _describe_field(parameter, "", parameter["name"])


def name_objects(document: dict[str, Any]) -> None:
    """Make each object inside a schema a schema of its own. Otherwise generators make a second type of it."""
    schemas = document["components"]["schemas"]
    for schema in list(schemas.values()):
        for field in schema.get("properties", {}).values():
            inner = field.get("items", {})
            if "properties" in inner:
                field["items"] = {"$ref": f"#/components/schemas/{inner['title']}"}
                schemas.setdefault(inner["title"], inner)


def name_values(document: dict[str, Any]) -> None:
    """List the values of each status and error code."""
    schemas = document["components"]["schemas"]
    for names, numbers in ((_TIMERS, _TIMER_NUMBERS), (_FIRINGS, _FIRING_NUMBERS)):
        for name in names:
            schemas[name]["properties"]["status"] |= _numbers(numbers)
            schemas[name]["properties"]["statusName"]["enum"] = list(numbers.values())
    schemas["LastOutcome"]["properties"]["statusName"]["enum"] = list(_FIRING_NUMBERS.values())
    schemas["NotifyData"]["properties"]["method"]["enum"] = ["", *sorted(METHODS)]
    codes = _numbers({code.number: code.name for code in ErrorCode})
    for name in ("Problem", "ErrorAnswer"):
        schemas[name]["properties"]["code"] |= codes
        # An error's envelope never has the code 0.
        schemas[name]["properties"]["code"].pop("default", None)
    schemas["Problem"]["properties"]["title"]["enum"] = [code.title for code in ErrorCode]


def _describe_field(part: dict[str, Any], schema: str, field: str) -> None:
    meaning = meaning_of(schema, field)
    if "description" not in part and meaning is not None:
        part["description"] = meaning


def _numbers(words: dict[int, str]) -> dict[str, list[Any]]:
    # Client generators read the names from this extension; without it they make up NUMBER_40001.
    return {"enum": list(words), "x-enum-varnames": [word.upper() for word in words.values()]}


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
                _describe_answer(operation["operationId"], status, answer)
            operation["responses"] = dict(sorted(answers.items()))


def _describe_answer(operation_id: str, status: str, answer: dict[str, Any]) -> None:
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
