"""Errors as v1 tells them: problem details (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from flask import Response, g, request
from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.failures import Fault, fault_of, verb_at
from wangtimer.api.http.refusals import Part
from wangtimer.api.http.serving import Named
from wangtimer.core.errors import (
    NameInUse,
    Subject,
    UnknownTimer,
    VersionChanged,
    WangTimerError,
)

MEDIA_TYPE = "application/problem+json"
CODES_PAGE = "/docs/errors"


class Problem(Sent):
    """What is wrong with a request, and what to do."""

    type: Annotated[str, Field(examples=[f"{CODES_PAGE}#40008"])]
    """where its code is explained, relative to the service"""
    title: Annotated[str, Field(examples=["Bad schedule"])]
    """the code in words"""
    status: Annotated[int, Field(ge=400, le=599, examples=[400])]
    """the HTTP status"""
    detail: Annotated[
        str, Field(examples=["'0 25 * * *': hour 25 is not between 0 and 23; write one that is"])
    ]
    """what is wrong; what to do"""
    code: Annotated[int, Field(examples=[40008])]
    """stable: what a program may go by"""
    pointer: Annotated[str | None, Field(examples=["/schedule/cron"])] = None
    """the field of the body at fault, as a JSON pointer (RFC 6901)"""
    parameter: Annotated[str | None, Field(examples=["WangTimer-App"])] = None
    """the header, or the parameter of the path or query, at fault"""
    did_you_mean: str | None = None
    """the word that was meant, where that can be told"""
    existing_id: int | None = None
    """with 40901: the id of the timer that has the key"""


class OfMany(Sent):
    """What became of many: each that failed has its problem."""

    @property
    def problems(self) -> list[Problem]:
        """The problems of those that failed."""
        raise NotImplementedError

    @property
    def may_succeed_later(self) -> bool:
        """Whether some failed by a fault of the service, which may pass."""
        return any(problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR for problem in self.problems)


def tell_problem(fault: Fault) -> Response:
    """Return the answer that tells of a fault."""
    problem, headers = problem_of(fault), {}
    verb = (
        None if request.method == "POST" or not _is_about_the_path(fault) else verb_at(request.path, "POST")
    )
    if verb is not None:
        mend = "send POST (with curl: -X POST)"
        if problem.status == HTTPStatus.NOT_FOUND:
            # A key may end as a verb does.
            detail = f"{problem.detail}; if the verb {verb} is meant, {mend}"
            problem = problem.model_copy(update={"detail": detail})
        else:
            text = f"{request.method} is no method of the verb {verb}; {mend}"
            problem, headers = problem_of(Fault(ErrorCode.WRONG_METHOD, text)), {"Allow": "POST"}
    return Response(problem.model_dump_json(by_alias=True), problem.status, headers, content_type=MEDIA_TYPE)


def _is_about_the_path(fault: Fault) -> bool:
    at, statuses = _named(fault), (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
    return at is not None and at.part is Part.PATH and fault.code.status in statuses


def problem_of(fault: Fault) -> Problem:
    """Return a fault as v1 tells it."""
    code, text = _as_v1_tells(fault)
    at = _named(fault)
    return Problem(
        type=f"{CODES_PAGE}#{code.number}",
        title=code.title,
        status=code.status,
        detail=text,
        code=code.number,
        pointer=None if at is None or at.part is not Part.BODY else pointer(at.name),
        parameter=None if at is None or at.part is Part.BODY else at.name,
        did_you_mean=fault.meant,
        existing_id=fault.existing_id,
    )


def problem_of_row(error: WangTimerError) -> Problem:
    """Return what is wrong with one of many: its row names it, and no parameter of the request is at fault."""
    return problem_of(fault_of(error)).model_copy(update={"parameter": None})


def _named(fault: Fault) -> Named | None:
    """Return what of the request is at fault; None: it as a whole, or nothing that it names."""
    if fault.cause is not None and fault.cause.about is not None:
        named: Mapping[Subject, Named] = g.get("named", {})
        return named.get(fault.cause.about)
    if not fault.field:
        return None
    part = getattr(fault.cause, "part", None) or g.get("fields_in", Part.BODY)
    return Named(part, _place(fault.field) if part is Part.BODY else fault.field)


def _place(field: str) -> str:
    """Return the place of a field in this request: where the body is a call itself, it has no `target`."""
    return field.removeprefix("target.") if g.get("is_call", False) else field


def pointer(field: str) -> str:
    """Return the JSON pointer (RFC 6901) of a dotted name."""
    return "/" + field.replace("~", "~0").replace("/", "~1").replace(".", "/")


def _as_v1_tells(fault: Fault) -> tuple[ErrorCode, str]:
    match fault.cause:
        case UnknownTimer() as unknown:
            text = f"app {unknown.app!r} has no timer {unknown.timer_id}; GET /v1/timers lists those it has"
            return fault.code, text
        case VersionChanged():
            return ErrorCode.PRECONDITION_FAILED, fault.text
        case NameInUse():
            which = "" if fault.existing_id is None else f", timer {fault.existing_id}"
            text = (
                f"the key is in use{which}; to change that timer, PUT or PATCH it at /v1/timers/key:...; to repeat a "
                "request, send the Idempotency-Key of the first"
            )
            return fault.code, text
    return fault.code, fault.text
