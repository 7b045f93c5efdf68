"""From what was raised to the error a caller reads."""

import structlog
from flask import Flask, Response, request
from werkzeug.exceptions import ClientDisconnected, HTTPException

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.envelope import ConflictData, ErrorAnswer, send
from wangtimer.api.http.refusals import code_of
from wangtimer.core.errors import (
    Conflict,
    InvalidInput,
    StoreAway,
    TooManyAtOnce,
    TooMuchWork,
    UnknownFiring,
    UnknownTimer,
    Unplannable,
    Unreadable,
    WangTimerError,
)

log = structlog.get_logger()

RETRY_AFTER_S = 1
# An export takes some seconds.
RETRY_EXPORT_AFTER_S = 5

_BY_STATUS = {
    404: (ErrorCode.UNKNOWN_PATH, "request: there is nothing at this path; /docs shows what there is"),
    405: (ErrorCode.WRONG_METHOD, "request: not a method of this path; the Allow header names those it has"),
    413: (ErrorCode.BODY_TOO_LARGE, "request: the body is over 64 KiB; shorten it"),
    415: (ErrorCode.WRONG_CONTENT_TYPE, "request: not JSON; send it with Content-Type: application/json"),
}


_CONFLICTS = {"name": ErrorCode.NAME_TAKEN, "version": ErrorCode.VERSION_CHANGED}


def answer_failures(app: Flask) -> None:
    """Let every error of the app end in the envelope."""
    app.register_error_handler(WangTimerError, _refused)
    app.register_error_handler(StoreAway, _away)
    app.register_error_handler(TooManyAtOnce, _too_many)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _fault)


def told(error: WangTimerError) -> ErrorAnswer:
    """Return what a caller reads of an error; raises it where it is none that callers are told of."""
    data: ConflictData | None = None
    match error:
        case InvalidInput():
            code, msg, field = code_of(error), str(error), error.field
        case UnknownTimer():
            field = "name" if isinstance(error.timer_id, str) else "id"
            code, msg = ErrorCode.UNKNOWN_TIMER, f"{field}: {error}"
        case UnknownFiring():
            code, msg, field = ErrorCode.UNKNOWN_FIRING, f"fireAt: {error}", "fireAt"
        case Conflict():
            code, msg, field = _CONFLICTS.get(error.field, ErrorCode.WRONG_STATE), str(error), error.field
            data = None if error.existing_id is None else ConflictData(existing_id=error.existing_id)
        case Unplannable() | Unreadable():
            code, msg, field = ErrorCode.INTERNAL, f"id: {error}", "id"
        case TooMuchWork():
            code, field = ErrorCode.TOO_MUCH_WORK, ""
            msg = (
                "request: it takes more CPU than one request may, and nothing of it is done; send fewer timers, a "
                "shorter range, a smaller maxFirings or count, or a simpler cron"
            )
        case TooManyAtOnce():
            msg = (
                "request: as many exports are under way as this process serves at once; repeat it in "
                f"{RETRY_EXPORT_AFTER_S} s"
            )
            code, field = ErrorCode.TOO_MANY_AT_ONCE, ""
        case StoreAway():
            msg = f"request: {error.store} is away; repeat it in {RETRY_AFTER_S} s"
            code, field = ErrorCode.STORE_AWAY, ""
        case _:
            raise error
    return ErrorAnswer(code=code.number, msg=msg, field=field, data=data)


def _error(code: ErrorCode, msg: str, field: str = "") -> Response:
    return send(ErrorAnswer(code=code.number, msg=msg, field=field), code.status)


def _refused(error: WangTimerError) -> Response:
    answer = told(error)
    return send(answer, answer.code // 100)


def _away(error: StoreAway) -> Response:
    log.warning("store_away", path=request.path, error=str(error))
    response = _refused(error)
    response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


def _too_many(error: TooManyAtOnce) -> Response:
    response = _refused(error)
    response.headers["Retry-After"] = str(RETRY_EXPORT_AFTER_S)
    return response


def _http(error: HTTPException) -> Response | HTTPException:
    """What Flask itself raises; redirections and ready-made responses pass."""
    if error.code is None or error.code < 400:
        return error
    code, msg = _BY_STATUS.get(
        error.code, (ErrorCode.BAD_REQUEST, "request: it cannot be read; /docs shows how")
    )
    if isinstance(error, ClientDisconnected):
        msg = "request: its body did not come whole in time; send all of it at once"
    response = _error(code, msg)
    if error.code == 405:
        response.headers.extend([header for header in error.get_headers() if header[0] == "Allow"])
    return response


def _fault(error: Exception) -> Response:
    log.error("request_failed", path=request.path, method=request.method, exc_info=error)
    return _error(ErrorCode.INTERNAL, "request: a fault of the service; its log says which")
