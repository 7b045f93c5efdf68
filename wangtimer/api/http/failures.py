"""Turns a raised error into the error that a caller reads; of a path of no operation it says which was meant."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

import structlog
from flask import Flask, Response, current_app, request
from werkzeug.exceptions import ClientDisconnected, HTTPException, MethodNotAllowed, NotFound

from wangtimer.api.http.api_models import ConflictData, ErrorAnswer, send
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.reading import MOST_BODY
from wangtimer.api.http.refusals import code_of
from wangtimer.core.errors import (
    Conflict,
    InvalidInput,
    Limited,
    LimitReached,
    NameInUse,
    NotOnRecord,
    StoreAway,
    TooFast,
    TookTooLong,
    TooManyAtOnce,
    TooMuchWork,
    UnknownAlertRule,
    UnknownFiring,
    UnknownSecret,
    UnknownTarget,
    UnknownTimer,
    Unplannable,
    Unreadable,
    VersionChanged,
    WangTimerError,
    WrongToken,
)
from wangtimer.core.near_misses import Names

V1 = "/v1/"
_DOCS = "/docs shows what there is"
# Words of other schedulers for the first part of a path.
_OF_OTHERS = dict.fromkeys(
    ("job", "jobs", "task", "tasks", "cron", "crons", "reminders", "alarms"), "timers"
) | {
    **dict.fromkeys(("run", "runs", "execution", "executions", "history", "logs"), "firings"),
    **dict.fromkeys(("webhook", "webhooks", "callbacks", "endpoints"), "targets"),
}


def verb_at(path: str, *methods: str) -> str | None:
    """Return the verb that stands behind the last colon of a path, if there is one with one of these methods."""
    for method in methods:
        try:
            rule, _ = current_app.url_map.bind("").match(path, method, return_rule=True)
        except HTTPException:
            continue
        _, colon, verb = rule.rule.rpartition(":")
        if colon and verb.isalpha() and path.endswith(f":{verb}"):
            return str(verb)
    return None


def mend_of(path: str) -> str:
    """Return what to write instead of a path of no operation."""
    stem, _, last = path.rpartition("/")
    if stem and not last and current_app.url_map.bind("").allowed_methods(stem):
        return f"leave out the slash at its end: {_shown_path(stem)}"
    if verb_at(f"{stem}:{last}", "POST", "GET"):
        return f"a verb stands behind a colon: write {_shown_path(stem)}:{last}"
    if path.startswith("/v1/timers/key:"):
        return "a key with a slash cannot stand in a path; GET /v1/timers?key=... finds the timer's id"
    name = path.removeprefix(V1).strip("/").partition("/")[0].partition(":")[0]
    rules = (rule.rule for rule in current_app.url_map.iter_rules() if rule.rule.startswith(V1))
    known = {rule.removeprefix(V1).partition("/")[0].partition(":")[0] for rule in rules}
    meant = _OF_OTHERS.get(name.lower()) or Names(known).meant_by(name)
    if meant is None or path.startswith(f"{V1}{meant}"):
        return _DOCS
    return f"did you mean {V1}{meant}? {_DOCS}"


def _shown_path(path: str) -> str:
    return quote(path, safe="/:")[:100]


log = structlog.get_logger()

RETRY_AFTER_S = 1
# s; an export takes some seconds.
RETRY_EXPORT_AFTER_S = 5
# s; what took too long would do so again at once.
RETRY_LONG_AFTER_S = 30

_BY_STATUS = {
    405: (ErrorCode.WRONG_METHOD, "not a method of this path; the Allow header names those it has"),
    413: (ErrorCode.BODY_TOO_LARGE, f"the body is over {MOST_BODY}; shorten it"),
    415: (ErrorCode.WRONG_CONTENT_TYPE, "not JSON; send it with Content-Type: application/json"),
}

_CONFLICTS: Mapping[type[Conflict], ErrorCode] = {
    NameInUse: ErrorCode.NAME_TAKEN,
    VersionChanged: ErrorCode.VERSION_CHANGED,
}


# The code of an error whose text says all, and the field at fault; by class: a subclass needs an entry.
_TOLD_AS_THEY_ARE: Mapping[type[WangTimerError], tuple[ErrorCode, str]] = {
    UnknownFiring: (ErrorCode.UNKNOWN_FIRING, "firing_id"),
    UnknownSecret: (ErrorCode.UNKNOWN_SECRET, "id"),
    UnknownTarget: (ErrorCode.UNKNOWN_TARGET, "name"),
    UnknownAlertRule: (ErrorCode.UNKNOWN_ALERT_RULE, "name"),
    WrongToken: (ErrorCode.WRONG_TOKEN, "token"),
    NotOnRecord: (ErrorCode.NOT_ON_RECORD, "token"),
}
_LIMITS: Mapping[Limited, ErrorCode] = {
    Limited.TIMERS: ErrorCode.TOO_MANY_TIMERS,
    Limited.FIRINGS: ErrorCode.TOO_MANY_FIRINGS,
    Limited.CALENDARS: ErrorCode.CALENDARS_TOO_LARGE,
    Limited.REQUESTS: ErrorCode.TOO_MANY_REQUESTS,
    Limited.REPLAYS: ErrorCode.TOO_MANY_REPLAYS,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What a caller is told: `text` is "what is wrong; what to do" with `field` ("": the whole request).

    `meant` is the word that was meant, `existing_id` the timer that has the name, `cause` the error itself. Each is
    None where there is none.
    """

    code: ErrorCode
    text: str
    field: str = ""
    meant: str | None = None
    existing_id: int | None = None
    cause: WangTimerError | None = None


# Makes the response for a fault on some paths.
Teller = Callable[[Fault], Response]


def answer_failures(app: Flask, tellers: Mapping[str, Teller]) -> None:
    """Answer every error of the app with the teller of its path's prefix, or else in the envelope."""

    def tell(fault: Fault) -> Response:
        own = next(
            (own for prefix, own in tellers.items() if f"{request.path}/".startswith(prefix)), in_envelope
        )
        response = own(fault)
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response

    app.register_error_handler(WangTimerError, lambda error: tell(fault_of(error)))
    app.register_error_handler(StoreAway, lambda error: _away(error, tell))
    app.register_error_handler(NotOnRecord, lambda error: _later(error, tell, RETRY_AFTER_S))
    app.register_error_handler(TooManyAtOnce, lambda error: _later(error, tell, RETRY_EXPORT_AFTER_S))
    app.register_error_handler(TooFast, lambda error: _later(error, tell, error.retry_after_s))
    app.register_error_handler(HTTPException, lambda error: _http(error, tell))
    app.register_error_handler(Exception, lambda error: _fault(error, tell))


def fault_of(error: WangTimerError) -> Fault:
    """Return what a caller is told of an error; raises the error where callers are not told of it."""
    if (named := _TOLD_AS_THEY_ARE.get(type(error))) is not None:
        return Fault(named[0], str(error), named[1], cause=error)
    match error:
        case InvalidInput():
            text = f"{error.reason}; {error.mend}"
            return Fault(code_of(error), text, error.field, error.meant, cause=error)
        case UnknownTimer():
            field = "name" if isinstance(error.timer_id, str) else "id"
            return Fault(ErrorCode.UNKNOWN_TIMER, str(error), field, cause=error)
        case Conflict():
            code = _CONFLICTS.get(type(error), ErrorCode.WRONG_STATE)
            text = f"{error.reason}; {error.mend}"
            return Fault(code, text, error.field, existing_id=error.existing_id, cause=error)
        case Unplannable() | Unreadable():
            return Fault(ErrorCode.INTERNAL, str(error), "id", cause=error)
        case TooMuchWork():
            text = (
                "it takes more CPU than one request may, and nothing of it is done; send fewer timers, a shorter "
                "range, a smaller maxFirings or count, or a simpler cron"
            )
            return Fault(ErrorCode.TOO_MUCH_WORK, text, cause=error)
        case LimitReached() | TooFast():
            return Fault(_LIMITS[error.of], str(error), cause=error)
        case TooManyAtOnce():
            text = (
                "as many requests that take long are under way as this process serves at once; repeat it in "
                f"{RETRY_EXPORT_AFTER_S} s"
            )
            return Fault(ErrorCode.TOO_MANY_AT_ONCE, text, cause=error)
        case TookTooLong():
            text = (
                f"{error.store} ended a statement that took too long; ask for less, such as a shorter time or what "
                f"fewer timers meet, or repeat it in {RETRY_LONG_AFTER_S} s"
            )
            return Fault(ErrorCode.TOOK_TOO_LONG, text, cause=error)
        case StoreAway():
            text = f"{error.store} is away; repeat it in {RETRY_AFTER_S} s"
            return Fault(ErrorCode.STORE_AWAY, text, cause=error)
        case _:
            raise error


def in_envelope(fault: Fault) -> Response:
    """Return the envelope that tells of a fault."""
    data = None if fault.existing_id is None else ConflictData(existing_id=fault.existing_id)
    msg = f"{fault.field or 'request'}: {fault.text}"
    return send(ErrorAnswer(code=fault.code.number, msg=msg, field=fault.field, data=data), fault.code.status)


def _away(error: StoreAway, tell: Teller) -> Response:
    took_too_long = isinstance(error, TookTooLong)
    log.warning("took_too_long" if took_too_long else "store_away", path=request.path, error=str(error))
    return _later(error, tell, RETRY_LONG_AFTER_S if took_too_long else RETRY_AFTER_S)


def _later(error: WangTimerError, tell: Teller, after_s: int) -> Response:
    response = tell(fault_of(error))
    response.headers["Retry-After"] = str(after_s)
    return response


def _http(error: HTTPException, tell: Teller) -> Response | HTTPException:
    """Answer an error that Flask raises; redirections and ready-made responses pass."""
    if error.code is None or error.code < 400:
        return error
    code, text = _BY_STATUS.get(error.code, (ErrorCode.BAD_REQUEST, "it cannot be read; /docs shows how"))
    if isinstance(error, NotFound):
        code, text = ErrorCode.UNKNOWN_PATH, f"there is nothing at this path; {mend_of(request.path)}"
    if isinstance(error, ClientDisconnected):
        text = "its body did not come whole in time; send all of it at once"
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        methods = sorted(set(error.valid_methods) - {"HEAD", "OPTIONS"})
        text = f"{request.method} is not a method of this path; it has {', '.join(methods)}"
    response = tell(Fault(code, text))
    if error.code == 405:
        response.headers.extend([header for header in error.get_headers() if header[0] == "Allow"])
    return response


def _fault(error: Exception, tell: Teller) -> Response:
    log.error("request_failed", path=request.path, method=request.method, exc_info=error)
    return tell(Fault(ErrorCode.INTERNAL, "a fault of the service; its log says which"))
