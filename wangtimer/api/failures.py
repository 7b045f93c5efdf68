"""From what was raised to the error a caller reads."""

import structlog
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from wangtimer.api.answers import ErrorAnswer, send
from wangtimer.api.codes import ErrorCode
from wangtimer.api.refusals import code_of
from wangtimer.core.errors import Conflict, InvalidInput, StoreAway, UnknownTimer

log = structlog.get_logger()

RETRY_AFTER_S = 1

_BY_STATUS = {
    404: (ErrorCode.UNKNOWN_PATH, "request: there is nothing at this path; /docs shows what there is"),
    405: (ErrorCode.WRONG_METHOD, "request: not a method of this path; the Allow header names those it has"),
    413: (ErrorCode.BODY_TOO_LARGE, "request: the body is over 64 KiB; shorten it"),
    415: (ErrorCode.WRONG_CONTENT_TYPE, "request: not JSON; send it with Content-Type: application/json"),
}


_CONFLICTS = {"name": ErrorCode.NAME_TAKEN, "version": ErrorCode.VERSION_CHANGED}


def answer_failures(app: Flask) -> None:
    """Let every error of the app end in the envelope."""
    app.register_error_handler(InvalidInput, _refused)
    app.register_error_handler(UnknownTimer, _unknown)
    app.register_error_handler(Conflict, _conflict)
    app.register_error_handler(StoreAway, _away)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _fault)


def _error(code: ErrorCode, msg: str, field: str = "") -> Response:
    return send(ErrorAnswer(code=code.number, msg=msg, field=field), code.status)


def _refused(error: InvalidInput) -> Response:
    return _error(code_of(error), str(error), error.field)


def _unknown(error: UnknownTimer) -> Response:
    return _error(ErrorCode.UNKNOWN_TIMER, f"id: {error}", "id")


def _conflict(error: Conflict) -> Response:
    code = _CONFLICTS.get(error.field, ErrorCode.WRONG_STATE)
    return _error(code, str(error), error.field)


def _away(error: StoreAway) -> Response:
    log.warning("store_away", path=request.path, error=str(error))
    response = _error(ErrorCode.STORE_AWAY, f"request: {error.store} is away; repeat it in {RETRY_AFTER_S} s")
    response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


def _http(error: HTTPException) -> Response | HTTPException:
    """What Flask itself raises; redirections and ready-made responses pass."""
    if error.code is None or error.code < 400:
        return error
    code, msg = _BY_STATUS.get(
        error.code, (ErrorCode.BAD_REQUEST, "request: it cannot be read; /docs shows how")
    )
    response = _error(code, msg)
    if error.code == 405:
        response.headers.extend([header for header in error.get_headers() if header[0] == "Allow"])
    return response


def _fault(error: Exception) -> Response:
    log.error("request_failed", path=request.path, method=request.method, exc_info=error)
    return _error(ErrorCode.INTERNAL, "request: a fault of the service; its log says which")
