"""Makes Flask views of v1 and documents them. The types of a view say what it takes and answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, wraps
from inspect import getdoc
from typing import Any, get_type_hints

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.schema import Schema
from flask_openapi.utils import get_model_schema, normalize_name
from pydantic import BaseModel
from werkzeug.datastructures import Headers

from wangtimer.api.http.documented import TOO_LONG
from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.kept_answer import HEADER, REPLAYED
from wangtimer.api.http.reading import MOST_BODY_BYTES, read_body, read_header, read_model, read_query
from wangtimer.api.http.refusals import Part, Refused
from wangtimer.api.http.settings_in_use import work_s
from wangtimer.api.v1.parameters import ETAG, IF_MATCH
from wangtimer.api.v1.problems import MEDIA_TYPE, Named, Problem, note_names
from wangtimer.core.work_budget import work_budget

# Descriptions of the headers that answers may have.
_ALWAYS = (400, 401, 403, 404, 429, 500, 503)
_HEADERS = {
    "Location": "where the timer or firing is",
    ETAG: f"the timer's version, for {IF_MATCH}",
    REPLAYED: f"true: this is the answer of the first request with this {HEADER}",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with a status other than 200, or with headers. Its body may be None."""

    body: Sent | None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


View = Callable[..., Sent | Reply | Response]
# What the document says of a successful answer: its model, or the content types of a text; None: it has no body.
Answering = type[Sent] | tuple[str, ...] | None
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
        note_names(named, fields_in, is_call)
        with work_budget(work_s()):
            taken = _read(readings, given)
            return response_of(view(**taken))

    # With this flask-openapi reads the types for the document only.
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


def response_of(answer: Sent | Reply | Response) -> Response:
    """Return what a view answers as an HTTP response."""
    if isinstance(answer, Response):
        return answer
    reply = answer if isinstance(answer, Reply) else Reply(answer)
    if reply.body is None:
        return Response(status=reply.status, headers=dict(reply.headers))
    text = reply.body.__pydantic_serializer__.to_json(reply.body, by_alias=True)
    return Whole(text, reply.status, dict(reply.headers), mimetype="application/json")


@dataclass(frozen=True, slots=True)
class Routes:
    """Adds views to a blueprint, documented."""

    blueprint: APIBlueprint

    @classmethod
    def of(cls, name: str, tag: str) -> "Routes":
        """Return the routes of a resource; `tag` is its section of the document."""
        return cls(APIBlueprint(f"v1_{name}", __name__, url_prefix="/v1", abp_tags=[{"name": tag}]))

    def add(
        self,
        method: str,
        rule: str,
        view: View,
        operation_id: str,
        answers: Mapping[int, Answering],
        *errors: int,
        headers: tuple[str, ...] = (),
        wrap: Callable[[Callable[..., Response]], Callable[..., Response]] | None = None,
        most_bytes: int = MOST_BODY_BYTES,
    ) -> None:
        """Add a route.

        `answers` has for each successful status the model, or the content types of a text (None: no body), `headers`
        the headers of these answers.
        `errors` are the HTTP statuses beyond those of every operation. `wrap` wraps the whole view.
        """
        hints = get_type_hints(view)
        summary, _, description = (getdoc(view) or "").partition("\n")
        of_a_body = (413, 415) if "body" in hints else ()
        served = serving(view, most_bytes)
        options = {
            "operation_id": f"v1{operation_id[0].upper()}{operation_id[1:]}",
            "summary": summary.rstrip("."),
            "description": " ".join(description.split()),
            "responses": {status: self._success(model, headers) for status, model in answers.items()}
            | {one: self._content(Problem, MEDIA_TYPE) for one in sorted({*_ALWAYS, *of_a_body, *errors})}
            | ({414: TOO_LONG} if "query" in hints else {}),
        }
        register = getattr(self.blueprint, method)
        register(rule, endpoint=operation_id, **options)(served if wrap is None else wrap(served))

    def _success(self, answering: Answering, headers: tuple[str, ...]) -> dict[str, Any]:
        described = {name: {"description": _HEADERS[name], "schema": {"type": "string"}} for name in headers}
        match answering:
            case None:
                content = {}
            case tuple():
                content = {"content": {one: {"schema": {"type": "string"}} for one in answering}}
            case _:
                content = self._content(answering, "application/json")
        return content | ({"headers": described} if headers else {})

    def _content(self, model: type[BaseModel], media_type: str) -> dict[str, Any]:
        name, schemas = _schemas_of(model)
        self.blueprint.components_schemas.update(schemas)
        return {"content": {media_type: {"schema": {"$ref": f"#/components/schemas/{name}"}}}}


# Cached, as each operation needs the schema of problems five times.
@cache
def _schemas_of(model: type[BaseModel]) -> tuple[str, dict[str, Schema]]:
    """Return a model's name in the document, and the schemas it needs."""
    schema = get_model_schema(model, mode="serialization")
    name = normalize_name(schema.get("title") or model.__name__)
    inner = {normalize_name(one): value for one, value in schema.pop("$defs", {}).items()}
    return name, {one: Schema(**value) for one, value in ({name: schema} | inner).items()}
