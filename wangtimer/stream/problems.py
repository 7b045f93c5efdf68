"""Errors of the stream, as v1 tells them: problem details (RFC 9457)."""

from typing import Any

import orjson
from starlette.responses import Response

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.failures import RETRY_AFTER_S, Fault, fault_of
from wangtimer.api.v1.problems import CODES_PAGE, MEDIA_TYPE
from wangtimer.core.errors import StoreAway, TooFast, WangTimerError


def shown_problem(fault: Fault) -> dict[str, Any]:
    """Return a fault as callers read it."""
    code = fault.code
    shown = {
        "type": f"{CODES_PAGE}#{code.number}",
        "title": code.title,
        "status": code.status,
        "detail": fault.text,
        "code": code.number,
    }
    return shown | ({"parameter": fault.field} if fault.field else {})


def problem_response(error: WangTimerError) -> Response:
    """Return the answer that tells of an error; raises it where callers are not told of it."""
    headers = {}
    fault = fault_of(error)
    if isinstance(error, StoreAway):
        headers["Retry-After"] = str(RETRY_AFTER_S)
    elif isinstance(error, TooFast):
        headers["Retry-After"] = str(error.retry_after_s)
    if fault.code.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return fault_response(fault, headers)


def fault_response(fault: Fault, headers: dict[str, str] | None = None) -> Response:
    """Return the answer that tells of a fault."""
    body = orjson.dumps(shown_problem(fault))
    return Response(body, fault.code.status, headers, MEDIA_TYPE)


def crowded(text: str) -> Response:
    """Return the answer to who may not connect because too many are."""
    return fault_response(Fault(ErrorCode.TOO_MANY_AT_ONCE, text), {"Retry-After": "5"})
