"""The resources of v1: each operation is a method, and its route stands beside it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, wraps
from hashlib import sha256
from inspect import getdoc
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints
from uuid import uuid4

import structlog
from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.schema import Schema
from flask_openapi.models.tag import Tag
from flask_openapi.utils import get_model_schema, normalize_name
from pydantic import BaseModel

from wangtimer.api.http.kept_answers import HEADER, REPLAYED, kept_text, once_with_it, replayed
from wangtimer.api.http.reading import MOST_BODY_BYTES
from wangtimer.api.http.serving import TOO_LONG, Reply, View, refusing_callbacks, response_of, serving
from wangtimer.api.v1.parameters import ETAG, IF_MATCH
from wangtimer.api.v1.problems import MEDIA_TYPE, OfMany, Problem
from wangtimer.core.errors import StoreAway
from wangtimer.store.replica import Replica
from wangtimer.store.sql.kept_answers import Asked, KeptAnswers
from wangtimer.wiring import Wiring

log = structlog.get_logger()

Declared = TypeVar("Declared", bound=View)

_ALWAYS = (400, 401, 403, 404, 429, 500, 503)
# Descriptions of the headers that answers may have.
_HEADERS = {
    "Location": "where the timer or firing is",
    ETAG: f"the timer's version, for {IF_MATCH}",
    REPLAYED: f"true: this is the answer of the first request with this {HEADER}",
}
# The statuses of what makes something, and of what makes or replaces it.
MADE, MADE_OR_CHANGED = (201,), (200, 201)
# The attribute of a method that has its route.
_ROUTE = "route_in_v1"


@dataclass(frozen=True, slots=True)
class Resource:
    """The operations on one thing, as methods. `wiring` returns the parts of the process."""

    wiring: Callable[[], Wiring]

    def now(self) -> int:
        """Return the present moment in ms UTC."""
        return int(self.wiring().clock.now_ms())

    def once_with_it(self, operation: str, act: Callable[[Asked], Response], **taken: BaseModel) -> Response:
        """Return the answer that is kept of a request, or else that of `act`, which keeps it in its own transaction."""
        return once_with_it(self.wiring().kept_answers, _asked_under(operation, taken), self.now(), act)


@dataclass(frozen=True, slots=True)
class Route:
    """Decorates a method of a `Resource` with its route; the types and the docstring of the method document it.

    `errors` are the HTTP statuses beyond those of every operation and those that its headers bring about. `statuses`
    are those of success: the answer is what the method returns, a model, a `Reply` with it, or None (204). `text` has
    the content types of a text. `headers` are the headers of these answers.

    A method that takes an `Idempotency-Key` is called once for each key; `keeps_its_answer`: it sees to that itself. A
    callback of our own may read and delete, and use what `is_for_callbacks`.
    """

    method: str
    rule: str
    operation_id: str
    errors: tuple[int, ...] = ()
    statuses: tuple[int, ...] = (200,)
    text: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    is_for_callbacks: bool = False
    keeps_its_answer: bool = False
    most_bytes: int = MOST_BODY_BYTES

    def __call__(self, view: Declared) -> Declared:
        """Return the method, which has this route from then on."""
        setattr(view, _ROUTE, self)
        return view


def add_resource(routes: APIBlueprint, tag: str, resource: Resource) -> None:
    """Add the routes of a resource's operations, in their order; `tag` is its section of the document."""
    for name, view in vars(type(resource)).items():
        if hasattr(view, _ROUTE):
            _add(routes, tag, resource, getattr(resource, name), getattr(view, _ROUTE))


def _add(routes: APIBlueprint, tag: str, resource: Resource, view: View, route: Route) -> None:
    hints, operation_id = get_type_hints(view), route.operation_id
    header = hints.get("header")
    taken = () if header is None else header.model_fields.keys()
    model = _model_in(hints["return"])
    statuses = (204,) if model is NoneType else route.statuses
    errors, headers = {*_ALWAYS, *route.errors}, route.headers
    if "body" in hints:
        errors |= {413, 415}
    if "if_match" in taken:
        errors |= {412}
    if "idempotency_key" in taken:
        errors, headers = errors | {409, 422}, (*headers, REPLAYED)
        view = view if route.keeps_its_answer else _once(resource.wiring, view, operation_id)
    summary, _, description = (getdoc(view) or "").partition("\n")
    may_call_back = route.is_for_callbacks or route.method in ("get", "delete")
    served = serving(view, route.most_bytes)
    getattr(routes, route.method)(
        route.rule,
        endpoint=operation_id,
        tags=[Tag(name=tag)],
        operation_id=f"v1{operation_id[0].upper()}{operation_id[1:]}",
        summary=summary.rstrip("."),
        description=" ".join(description.split()),
        responses={status: _success(routes, model, route.text, headers) for status in statuses}
        | {status: _content(routes, Problem, MEDIA_TYPE) for status in sorted(errors)}
        | ({414: TOO_LONG} if "query" in hints else {}),
    )(served if may_call_back else refusing_callbacks(served))


def _model_in(returned: Any) -> Any:
    """Return the model of what a method returns: itself, or that of its `Reply`."""
    replies = [kind for kind in (returned, *get_args(returned)) if get_origin(kind) is Reply]
    return get_args(replies[0])[0] if replies else returned


def _success(
    routes: APIBlueprint, model: Any, text: tuple[str, ...], headers: tuple[str, ...]
) -> dict[str, Any]:
    described = {name: {"description": _HEADERS[name], "schema": {"type": "string"}} for name in headers}
    content: dict[str, Any] = {}
    if text:
        content = {"content": {media_type: {"schema": {"type": "string"}} for media_type in text}}
    elif model is not NoneType:
        content = _content(routes, model, "application/json")
    return content | ({"headers": described} if headers else {})


def _content(routes: APIBlueprint, model: type[BaseModel], media_type: str) -> dict[str, Any]:
    name, schemas = _schemas_of(model)
    routes.components_schemas.update(schemas)
    return {"content": {media_type: {"schema": {"$ref": f"#/components/schemas/{name}"}}}}


# Cached, as each operation needs the schema of problems five times.
@cache
def _schemas_of(model: type[BaseModel]) -> tuple[str, dict[str, Schema]]:
    schema = get_model_schema(model, mode="serialization")
    name = normalize_name(schema.get("title") or model.__name__)
    inner = {normalize_name(model_name): value for model_name, value in schema.pop("$defs", {}).items()}
    return name, {model_name: Schema(**value) for model_name, value in ({name: schema} | inner).items()}


def tell_soon(*replicas: Replica[Any]) -> None:
    """Let a change count within seconds; while Redis is away, the next sweep tells."""
    with suppress(StoreAway):
        for replica in replicas:
            replica.tell()


def _once(wiring: Callable[[], Wiring], view: View, operation: str) -> View:
    """Return a view that carries out a request with a key once. It takes an `ActingHeader` or `ActingChangeHeader`.

    It claims the key first and keeps its answer afterwards. If the process ends in between, the claim holds for a
    minute; then the request may be carried out again. That is harmless: it has the same effect twice as once.
    `operation` is the same in all versions: a repeat may come to a newer one.
    """

    @wraps(view)
    def answer(**taken: Any) -> Response:
        header = taken["header"]
        if header.idempotency_key is None:
            return response_of(view(**taken))
        kept, asked = wiring().kept_answers, _asked_under(operation, taken)
        claim_id = uuid4().hex
        held = kept.claim(asked, claim_id, int(wiring().clock.now_ms()))
        if held is not None:
            return replayed(held, asked)
        try:
            answered = view(**taken)
        except BaseException:
            # A refusal is not kept. A fault may be gone when the request comes again.
            _end_claim(kept, asked, claim_id, None)
            raise
        response = response_of(answered)
        is_final = not (isinstance(answered, OfMany) and answered.may_succeed_later)
        _end_claim(kept, asked, claim_id, kept_text(response) if is_final else None)
        return response

    return answer


def _asked_under(operation: str, taken: Mapping[str, Any]) -> Asked:
    """Return the identity of a request under its key: its operation, path, version and body."""
    header = taken["header"]
    parts = [f"v1 {operation}", str(getattr(header, "if_match", None))]
    parts += [
        part.model_dump_json(warnings=False, exclude_defaults=True)
        for part in map(taken.get, ("path", "body"))
        if isinstance(part, BaseModel)
    ]
    return Asked(header.app, header.idempotency_key, sha256("\n".join(parts).encode()).hexdigest())


def _end_claim(kept: KeptAnswers, asked: Asked, claim_id: str, answer: str | None) -> None:
    """Keep an answer, or forget the request. If SQL is away, the caller still gets its answer; the claim runs out."""
    try:
        kept.end_claim(asked, claim_id, answer)
    except StoreAway as error:
        log.warning("answer_not_kept", error=str(error))
