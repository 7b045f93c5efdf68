"""Every error code of the API: stable numbers whose first three digits are the HTTP status.

`docs/api-errors.md` shows this table; a test compares the two. The meaning of a number never changes.
"""

from enum import Enum

from wangtimer.core.kinds.kinds import KINDS, asked_names

_SAY_WHEN = ", ".join(f"`{field.json_name}`" for kind in KINDS for field in kind.asked_by)
_SAY_WHEN_IN_V1 = ", ".join(f"`{name}`" for name in asked_names())


class ErrorCode(Enum):
    """What went wrong, as `code` in the answer; 0 means that nothing did."""

    BAD_REQUEST = 40000, "The HTTP request itself cannot be read."
    BROKEN_JSON = 40001, "The body is not JSON in UTF-8 (`NaN`, half surrogates and deep nesting included)."
    NOT_AN_OBJECT = 40002, "The body is JSON, but not an object."
    DUPLICATE_FIELD = (
        40003,
        "A field, a query parameter, or one of the headers `WangTimer-App`, `Idempotency-Key` and `If-Match` is given "
        "twice.",
    )
    UNKNOWN_FIELD = 40004, "A field or query parameter that does not exist here."
    MISSING_FIELD = 40005, "A required field or query parameter is missing."
    WRONG_TYPE = 40006, 'A field has the wrong type: `"1"` is not a number.'
    BAD_VALUE = 40007, "A value is too long, too short, out of range, or has characters it must not have."
    BAD_SCHEDULE = (
        40008,
        f"Not exactly one of {_SAY_WHEN} (in `/v1`: {_SAY_WHEN_IN_V1}); or one that cannot be read, "
        "never fires, or is long past; or an unknown zone or calendar; or any moment that cannot be read.",
    )
    BAD_CALLBACK = (
        40009,
        "`notifyHTTPParam` (in `/v1`: `target`) cannot be called: its URL, method or a header.",
    )
    BAD_CURSOR = 40010, "The cursor does not come from this operation with the same app, filters and sort."
    WRONG_HOST = 40011, "The `Host` is not a name of this service; `WANGTIMER_HTTP_HOSTS` can add it."
    TOO_MUCH_WORK = (
        40012,
        "The request takes more CPU than one may (about half a second): nothing of it is done. Send fewer timers, "
        "a shorter range, a smaller `maxFirings` or `count`, or a simpler `cron`. Also for JSON with more than 64 "
        "fields in an object, or more than 200,000 values.",
    )
    OWN_CALLBACK = (
        40013,
        "The request carries `webhook-id` and `X-WangTimer-*`: it is a callback of a timer. A callback may make no "
        "timers and no firings, or one timer could fire for ever.",
    )
    NO_KEY = (
        40101,
        "The request has no API key, and its operation needs one: send `Authorization: Bearer wtk_...`.",
    )
    BAD_KEY = 40102, "The API key cannot be read, has a slip, or is unknown."
    KEY_ENDED = 40103, "The API key was revoked, or has expired."
    SCOPE_MISSING = 40301, "The API key lacks the scope of this operation."
    OTHER_APP = 40302, "The API key is of another app than the request names."
    APP_DISABLED = (
        40303,
        "The app is disabled: its keys are refused, and operators can change nothing of it until they enable it.",
    )
    TOO_MANY_TIMERS = (
        40304,
        "The app would have more timers, or more bytes of them, than it may; both numbers are in the message.",
    )
    TOO_MANY_FIRINGS = (
        40305,
        "The app's enabled timers would plan more firings a second than they may; both figures are in the message.",
    )
    CALENDARS_TOO_LARGE = (
        40306,
        "The calendars of the app would take more bytes than they may; both numbers are in the message.",
    )
    WRONG_TOKEN = 40307, "The token is not of a call of this firing."
    UNKNOWN_TIMER = (
        40401,
        "This app has no timer with this id, name or key (another app's timer is unknown too).",
    )
    UNKNOWN_PATH = 40402, "No operation has this path."
    UNKNOWN_CALENDAR = 40403, "This app has uploaded no calendar of this name."
    UNKNOWN_FIRING = 40404, "This timer has no firing of this moment."
    UNKNOWN_APP = 40405, "There is no app of this name: an operator makes apps, `POST /v1/apps`."
    UNKNOWN_KEY = 40406, "There is no API key of this id."
    UNKNOWN_SECRET = 40407, "No signing secret with this id signs callbacks of this app."
    UNKNOWN_PAUSE = 40408, "Nothing of this name is paused."
    UNKNOWN_TARGET = 40409, "This app has no named target of this name."
    UNKNOWN_ALERT_RULE = 40410, "This app has no rule of alerts of this name."
    WRONG_METHOD = 40501, "The path has no operation with this HTTP method."
    NAME_TAKEN = (
        40901,
        "The app has a timer of this name, `data.existingId` (in `/v1`: of this key, `existingId`). Deleting that "
        "timer frees the name.",
    )
    WRONG_STATE = (
        40902,
        "The state of the timer or calendar does not allow it, such as a one-shot more than a minute past, or an "
        "app's 101st calendar. Or the first request with this Idempotency-Key is still under way.",
    )
    VERSION_CHANGED = (
        40903,
        "The timer has changed since the `version` that an edit gives, or since a bulk filter found it.",
    )
    PRECONDITION_FAILED = (
        41201,
        "`/v1` only: the timer has changed since the version of `If-Match`, or since a batch found it; or a `PUT` "
        "with `If-Match` found none.",
    )
    BODY_TOO_LARGE = (
        41301,
        "The request's body is over 64 KiB, or 8 MiB where it holds many timers; or one of these is over 64 KiB. "
        "The stream process takes 1 MiB. Also for a body in more than 100,000 chunks.",
    )
    WRONG_CONTENT_TYPE = 41501, "The body is not declared as `application/json` in UTF-8."
    KEY_REUSED = (
        42201,
        "An earlier request of the last 24 hours had this `Idempotency-Key` with another body.",
    )
    TOO_MANY_REQUESTS = (
        42901,
        "The app sends more requests a second than it may. Repeat after `Retry-After` seconds; `RateLimit` and "
        "`RateLimit-Policy` say what is left.",
    )
    TOO_MANY_REPLAYS = (
        42902,
        "The app may replay and backfill no more firings within this hour. Repeat after `Retry-After` seconds.",
    )
    INTERNAL = 50001, "A fault of the service; it is in its log."
    STORE_AWAY = (
        50301,
        "SQL or Redis did not answer. Repeat after `Retry-After` seconds; a change may or may not have been "
        "made, so a repeated create can answer 40901.",
    )
    NOT_READY = 50302, "`/readyz` only: at least one of SQL, store and broker does not answer."
    TOO_MANY_AT_ONCE = (
        50303,
        "This process already runs as many exports as it may, a quarter of its threads, looks through very many "
        "timers, firings or entries for two requests, or has four large requests: batches of over 100 timers or "
        "64 KiB, replays, backfills; for one app half as many. Ask for one timer, a shorter time or what few "
        "timers meet, or repeat after `Retry-After` seconds.",
    )

    NOT_ON_RECORD = (
        50304,
        "`:ack`, `:nack` and `:heartbeat` only: the answer 202 of the call is not on record yet. Repeat after "
        "`Retry-After` seconds.",
    )

    TOOK_TOO_LONG = (
        50305,
        "SQL answers, but ended a statement that took too long. Ask for less, or repeat after `Retry-After` "
        "seconds; a change may or may not have been made.",
    )

    def __init__(self, number: int, meaning: str) -> None:
        self.number = number
        self.meaning = meaning

    @classmethod
    def of(cls, number: int) -> "ErrorCode":
        """Return the code of this number; raises KeyError."""
        return {code.number: code for code in cls}[number]

    @property
    def status(self) -> int:
        """The HTTP status the code goes with."""
        return self.number // 100

    @property
    def title(self) -> str:
        """The code in words."""
        return self.name.replace("_", " ").capitalize()
