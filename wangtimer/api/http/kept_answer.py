"""A repeated request with the same `Idempotency-Key` gets the first answer again."""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, Any

import orjson
from flask import Response
from pydantic import AfterValidator, BaseModel, Field

from wangtimer.api.http.api_models import Sent, serialized
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.refusals import Part, Refused
from wangtimer.core.errors import NameInUse
from wangtimer.core.timers.secret_names import MASK
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.kept_answers import Asked, KeptAnswer, KeptAnswers, ToKeep
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
    raise Refused(
        ErrorCode.BAD_VALUE,
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


def answer_once(
    kept: KeptAnswers,
    asked: Asked,
    now: int,
    create: Callable[[ToKeep], Timer],
    answer_of: Callable[[Timer], Sent],
    response_of: Callable[[bytes], Response],
) -> Response:
    """Create a timer and keep the answer, or return the kept answer; `now` in ms UTC.

    `response_of` makes the response of either answer. Of two such requests at once, the second waits for the first. A
    refusal is not kept. Raises `Refused` for a key that an earlier request gave with another body.
    """
    if held := kept.find(asked.app, asked.key, now):
        return _replay(held, asked, response_of)
    try:
        timer = create(ToKeep(asked, lambda timer: to_keep(serialized(answer_of(timer)).decode())))
    except NameInUse:
        if held := kept.find(asked.app, asked.key, now):
            return _replay(held, asked, response_of)
        raise
    return response_of(serialized(answer_of(timer)))


def _replay(held: KeptAnswer, asked: Asked, response_of: Callable[[bytes], Response]) -> Response:
    if held.body_hash != asked.body_hash:
        raise Refused(
            ErrorCode.KEY_REUSED,
            HEADER,
            "an earlier request had it with another body",
            "give each request its own",
            part=Part.HEADER,
        )
    response = response_of(held.answer.encode())
    response.headers[REPLAYED] = "true"
    return response
