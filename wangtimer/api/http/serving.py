"""Makes Flask views: the types of a view say what it takes and answers.

WangTimer's own callbacks are refused where they would make more firings: a timer whose target was the operation that
fires timers made 150 calls a second of one request, for as long as it was let.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import getdoc
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

from flask import Response, g, request
from pydantic import BaseModel
from werkzeug.datastructures import Headers

from wangtimer.api.http.api_models import Answer, ErrorAnswer, Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.reading import MOST_BODY_BYTES, read_body, read_header, read_model, read_query
from wangtimer.api.http.refusals import Part, Refused
from wangtimer.api.http.request_context import ending_large, work_s
from wangtimer.core.work_budget import work_budget

Body = TypeVar("Body", bound=Sent)

ID = "webhook-id"
OURS = "X-WangTimer-"


def refusing_callbacks(view: Callable[..., Response]) -> Callable[..., Response]:
    """Return a view that refuses requests with the headers of a callback."""

    @wraps(view)
    def answer(**given: Any) -> Response:
        if ID in request.headers and any(
            name.lower().startswith(OURS.lower()) for name, _ in request.headers
        ):
            raise Refused(
                ErrorCode.OWN_CALLBACK,
                ID,
                "this request is a callback of a timer, and a callback may make no timers and no firings",
                f"let the timer call a service of yours, whose requests here have no {ID} and no {OURS}* header",
                part=Part.HEADER,
            )
        return view(**given)

    return answer


# The web server answers this before the API sees the request.
TOO_LONG = {
    "description": "The request line is over 8,190 bytes; the web server says so, in HTML",
    "content": {"text/html": {"schema": {"type": "string"}}},
}


def documented(
    view: Callable[..., Any],
    operation_id: str,
    *errors: int,
    answer: type[Answer] | None = None,
) -> dict[str, Any]:
    """Return a route's options: a stable operation id, its text, its answer, and its errors as HTTP statuses.

    `answer` is the model where the view makes the response itself.

    The errors that any operation can answer need not be named: bad input, no key or the wrong one, an unknown app, a
    fault, a store away.
    """
    hints = get_type_hints(view)
    summary, _, description = (getdoc(view) or "").partition("\n")
    of_a_body = (413, 415) if "body" in hints else ()
    of_a_query = {414: TOO_LONG} if "query" in hints else {}
    statuses = sorted({400, 401, 403, 404, 429, 500, 503, *of_a_body, *errors})
    return {
        "operation_id": operation_id,
        "summary": summary.rstrip("."),
        "description": " ".join(description.split()),
        "responses": {200: answer or hints["return"]} | dict.fromkeys(statuses, ErrorAnswer) | of_a_query,
    }


@dataclass(frozen=True, slots=True)
class Reply(Generic[Body]):
    """An answer with a status other than 200, or with headers."""

    body: Body
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Named(NamedTuple):
    """Something that a request names: in which part, and how it spells that; dotted in a body."""

    part: Part
    name: str


View = Callable[..., Sent | Reply[Any] | Response | None]
# A part of requests, its name, its model, and what reads it.
_Reading = tuple[Part, str, type[BaseModel], Callable[[dict[str, Any]], Any]]


class Whole(Response):
    """An answer with a body and all its headers, so werkzeug need not check each again."""

    def get_wsgi_headers(self, _environ: Any) -> Headers:
        """Return the headers. They have the length of the body, and locations are ASCII."""
        return self.headers


def serving(view: View, most_bytes: int = MOST_BODY_BYTES) -> Callable[..., Response]:
    """Return a Flask view: it calls `view` with the `path`, `header`, `query` and `body` it takes, and answers."""
    hints = get_type_hints(view)
    readers: dict[str, Callable[[dict[str, Any]], Any]] = {
        "path": lambda given: given,
        "header": lambda _: read_header(hints["header"]),
        "query": lambda _: read_query(),
        "body": lambda _: read_body(most_bytes),
    }
    parts = [part for part in Part if part.value in hints]
    # The first part that names something.
    named = {
        subject: Named(part, name)
        for part in reversed(parts)
        for subject, name in hints[part.value].named_by.items()
    }
    fields_in = Part.BODY if "body" in hints else Part.QUERY
    is_call = "body" in hints and hints["body"].is_call
    readings = [(part, part.value, hints[part.value], readers[part.value]) for part in parts]

    @wraps(view)
    def read_and_answer(**given: Any) -> Response:
        # How this request names what an error may be about, and which part has its fields. `is_call`: the body itself
        # is an HTTP call, which in other requests is the `target`.
        g.named, g.fields_in, g.is_call = named, fields_in, is_call
        with work_budget(work_s()), ending_large():
            taken = _read(readings, given)
            return response_of(view(**taken))

    # With this flask-openapi reads the types for the document only. Its own validation would build the query's JSON
    # schema on each request, keep only the last of two equal keys, and call broken JSON a missing body.
    read_and_answer.__delay_validate_request__ = True  # type: ignore[attr-defined]
    return read_and_answer


def _read(readings: Sequence[_Reading], given: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a request as models, by their names; raises `Refused`, which says where it stands."""
    taken = {}
    for part, name, model, read in readings:
        try:
            taken[name] = read_model(model, read(given))
        except Refused as refused:
            refused.part = part
            raise
    return taken


def response_of(answer: Sent | Reply[Any] | Response | None) -> Response:
    """Return what a view answers as an HTTP response; None: 204."""
    if isinstance(answer, Response):
        return answer
    if answer is None:
        return Response(status=204)
    reply = answer if isinstance(answer, Reply) else Reply(answer)
    text = reply.body.__pydantic_serializer__.to_json(reply.body, by_alias=True)
    return Whole(text, reply.status, dict(reply.headers), mimetype="application/json")
