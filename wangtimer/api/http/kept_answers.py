"""A request with an `Idempotency-Key` is carried out once. A repeat gets the first answer again.

A request that makes one timer or one firing keeps its answer in the same transaction.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, Any

import orjson
from flask import Response
from pydantic import AfterValidator, BaseModel, Field

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.refusals import Part, Refused, bad_value
from wangtimer.core.errors import Conflict
from wangtimer.core.timers.secret_parts import MASK
from wangtimer.store.sql.kept_answers import Asked, KeptAnswer, KeptAnswers
from wangtimer.store.sql.tables import KEY_CHARACTERS

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
# Characters of an answer that is kept whole. No limit of an app counts what is kept for a day, also behind a delete: of
# a longer answer the content of the call is left out.
MOST_KEPT = 4_096


_VISIBLE = re.compile("^[!-~]*$")


def visible(key: str) -> str:
    """Return a key of visible ASCII characters; raises `Refused` for any other."""
    if _VISIBLE.fullmatch(key):
        return key
    raise bad_value(
        HEADER,
        "it has a space, a control or a non-ASCII character",
        "use visible ASCII characters, such as a UUID",
    )


IdempotencyKey = Annotated[
    str | None,
    Field(
        alias=HEADER,
        min_length=1,
        max_length=KEY_CHARACTERS,
        description="visible ASCII, unique in the app; a repeat of the request within 24 h gets the first answer again",
        # The pattern is in the schema for readers; the error of `visible` is clearer.
        json_schema_extra={"pattern": _VISIBLE.pattern},
    ),
    AfterValidator(visible),
]


class CreateHeader(Given):
    """The headers of a create."""

    idempotency_key: IdempotencyKey = None


def to_keep(text: str) -> str:
    """Return an answer about a timer, a JSON object, as it is kept: a long one has `***` for its call's content."""
    if len(text) <= MOST_KEPT:
        return text
    answer = orjson.loads(text)
    for holder in (answer, answer.get("timer"), answer.get("data")):
        for name in ("target", "notifyHTTPParam"):
            if isinstance(holder, dict) and isinstance(call := holder.get(name), dict):
                _mask(call)
    return orjson.dumps(answer).decode()


def _mask(call: dict[str, Any]) -> None:
    for headers in ("headers", "header"):
        if headers in call:
            call[headers] = {name: [MASK] for name in call[headers]}
    if call.get("body"):
        call["body"] = MASK


def asked_under(app: str, key: str, body: BaseModel) -> Asked:
    """Return the request under a key."""
    # Defaults are left out, so a version with one more field sees the same body as the same request.
    text = body.model_dump_json(warnings=False, exclude_defaults=True)
    return Asked(app, key, sha256(text.encode()).hexdigest())


def once_with_it(
    kept: KeptAnswers,
    asked: Asked,
    now: int,
    act: Callable[[Asked], Response],
    reused: str = "an earlier, different request had it",
) -> Response:
    """Return the kept answer, or else that of `act`, which keeps its answer in its own transaction; `now` in ms UTC.

    Of two such requests at once, the second waits for the first: `act` raises `Conflict` where another request has kept
    an answer in the meantime. A refusal is not kept. Raises `Refused`, which says `reused` of a key that a different
    request had.
    """
    if held := kept.find(asked.app, asked.key, now):
        return replayed(held, asked, reused)
    try:
        return act(asked)
    except Conflict:
        if held := kept.find(asked.app, asked.key, now):
            return replayed(held, asked, reused)
        raise


def kept_text(response: Response) -> str:
    """Return an answer in the form in which it is kept."""
    headers = {name: response.headers[name] for name in ("Location", "ETag") if name in response.headers}
    text = response.get_data(as_text=True)
    return orjson.dumps([response.status_code, headers, to_keep(text) if text else text]).decode()


def replayed(
    held: KeptAnswer, asked: Asked, reused: str = "an earlier, different request had it"
) -> Response:
    """Return a kept answer again; raises `Refused` for a different request, and while the first is still under way."""
    if held.body_hash != asked.body_hash:
        raise Refused(
            ErrorCode.KEY_REUSED,
            HEADER,
            reused,
            "give each request its own",
            part=Part.HEADER,
        )
    if held.is_under_way:
        raise Refused(
            ErrorCode.WRONG_STATE,
            HEADER,
            "the first request with this key is still under way",
            "repeat it in some seconds",
            part=Part.HEADER,
        )
    status, headers, body = orjson.loads(held.answer)
    return Response(body, status, headers | {REPLAYED: "true"}, mimetype="application/json")
