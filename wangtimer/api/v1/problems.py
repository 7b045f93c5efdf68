"""Errors as v1 tells them: problem details (RFC 9457)."""

from typing import Annotated

from flask import Response, g
from pydantic import Field

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.envelope import Sent, is_none
from wangtimer.api.http.failures import Fault, fault_of
from wangtimer.api.http.reading import Model, read_model
from wangtimer.api.http.refusals import Refused
from wangtimer.api.v1.pointers import CALL, own_name, pointer
from wangtimer.core.errors import NameInUse, UnknownFiring, UnknownTimer, VersionChanged, WangTimerError

MEDIA_TYPE = "application/problem+json"
# The shared rules' names for what a path or header of v1 says.
_OF_PARAMETERS = {"id": "which", "name": "which", "version": "If-Match", "fireAt": "firing_id"}
CODES_PAGE = "/docs/errors"


class Problem(Sent):
    """What is wrong with a request, and what to do."""

    type: Annotated[
        str,
        Field(
            description="where its code is explained, relative to the service",
            examples=[f"{CODES_PAGE}#40008"],
        ),
    ]
    title: Annotated[str, Field(description="the code in words", examples=["Bad schedule"])]
    status: Annotated[int, Field(description="the HTTP status", ge=400, le=599, examples=[400])]
    detail: Annotated[
        str,
        Field(
            description="what is wrong; what to do",
            examples=["'0 25 * * *': hour 25 is not between 0 and 23; write one that is"],
        ),
    ]
    code: Annotated[int, Field(description="stable: what a program may go by", examples=[40008])]
    pointer: Annotated[
        str | None,
        Field(
            exclude_if=is_none,
            description="the field of the body at fault, as a JSON pointer (RFC 6901)",
            examples=["/schedule/cron"],
        ),
    ] = None
    parameter: Annotated[
        str | None,
        Field(
            exclude_if=is_none,
            description="the header, or the parameter of the path or query, at fault",
            examples=["WangTimer-App"],
        ),
    ] = None
    did_you_mean: Annotated[
        str | None, Field(exclude_if=is_none, description="the word that was meant, where that can be told")
    ] = None
    existing_id: Annotated[
        int | None, Field(exclude_if=is_none, description="with 40901: the id of the timer that has the key")
    ] = None


def tell_problem(fault: Fault) -> Response:
    """Return the answer that tells of a fault."""
    problem = problem_of(fault)
    return Response(problem.model_dump_json(by_alias=True), problem.status, content_type=MEDIA_TYPE)


def problem_of(fault: Fault) -> Problem:
    """Return a fault as v1 tells it."""
    code, text = _in_words_of_v1(fault)
    is_of_body = not fault.field or (g.get("v1_has_body", True) and fault.field not in _parameters())
    field = _own(fault.field, fault) if is_of_body else fault.field
    return Problem(
        type=f"{CODES_PAGE}#{code.number}",
        title=code.title,
        status=code.status,
        detail=text,
        code=code.number,
        pointer=pointer(field) if field and is_of_body else None,
        parameter=None if is_of_body else _own_parameter(field),
        did_you_mean=None if fault.meant is None else _own(fault.meant, fault),
        existing_id=fault.existing_id,
    )


def names_parameters(names: frozenset[str], has_body: bool) -> None:
    """Note which names of this request are no fields of its body: without one, all."""
    g.v1_parameters, g.v1_has_body = names, has_body


def goes_by_shared_rules() -> None:
    """Note that the request is read: fields that are refused from now on have the names of the shared rules."""
    g.v1_is_read = True


class AsWritten(Refused):
    """A refusal whose field has the name it has in v1, while other refusals go by the shared rules."""


def read_as_written(model: type[Model], given: object) -> Model:
    """Return a part of a request that is read already as a model; raises `Refused`."""
    try:
        return read_model(model, given)
    except Refused as refused:
        raise AsWritten(refused.code, refused.field, refused.reason, refused.mend, refused.meant) from None


def problem_of_row(error: WangTimerError) -> Problem:
    """Return what is wrong with one of many: its row names it, and no parameter of the request is at fault."""
    return problem_of(fault_of(error)).model_copy(update={"parameter": None})


def _own(field: str, fault: Fault) -> str:
    is_shared = g.get("v1_is_read") and not isinstance(fault.cause, AsWritten)
    return own_name(field) if is_shared or field.startswith(CALL) else field


def _own_parameter(field: str) -> str:
    """Return the name of the parameter by which this request says what the shared rules call by `field`."""
    there_are = g.get("v1_parameters", frozenset())
    own = _OF_PARAMETERS.get(field, field)
    return own if own in there_are and field not in there_are else field


def _parameters() -> frozenset[str]:
    # What a path, header or verb names goes by the shared rules' own words too.
    of_request: frozenset[str] = g.get("v1_parameters", frozenset())
    return of_request | {"id", "version", "Host", "webhook-id"}


def _in_words_of_v1(fault: Fault) -> tuple[ErrorCode, str]:
    match fault.cause:
        case UnknownTimer() as unknown:
            text = f"app {unknown.app!r} has no timer {unknown.timer_id}; GET /v1/timers lists those it has"
            return fault.code, text
        case UnknownFiring() as unknown:
            text = (
                f"timer {unknown.timer_id} has no firing of this moment; GET /v1/firings lists those it has"
            )
            return fault.code, text
        case VersionChanged():
            return ErrorCode.PRECONDITION_FAILED, fault.text
        case NameInUse():
            which = "" if fault.existing_id is None else f", timer {fault.existing_id}"
            return fault.code, f"the key is in use{which}; choose another, or delete that timer first"
    return fault.code, fault.text
