"""A request under an `Idempotency-Key` is answered once; repeated, it gets that answer again."""

import re
from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from typing import Annotated

from flask import Response, request
from pydantic import AfterValidator, Field

from wangtimer.api.compat.timers.timer_models import CreateTimer
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.envelope import Answer, send, serialized
from wangtimer.api.http.field_types import Given
from wangtimer.api.http.refusals import Refused
from wangtimer.core.errors import Conflict
from wangtimer.core.timers.timer import Timer
from wangtimer.store.sql.kept_answers import Asked, KeptAnswer, KeptAnswers, ToKeep

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"


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


class CreateHeader(Given):
    """What a create may have in its header."""

    idempotency_key: Annotated[
        str | None,
        Field(
            alias=HEADER,
            min_length=1,
            max_length=255,
            description="visible ASCII, the app's own; the same request again within 24 h gets the first answer again",
            # The pattern is in the schema for readers; `visible` says it better.
            json_schema_extra={"pattern": _VISIBLE.pattern},
        ),
        AfterValidator(visible),
    ] = None


def refusing_key(view: Callable[[], Response]) -> Callable[[], Response]:
    """Return a view that refuses the header which it would not heed: a repeat would be done once more."""

    @wraps(view)
    def answer() -> Response:
        if HEADER in request.headers:
            raise Refused(
                ErrorCode.UNKNOWN_FIELD,
                HEADER,
                "unknown here",
                "leave it out; POST /api/timer/v1/def takes it",
            )
        return view()

    return answer


def answer_once(
    kept: KeptAnswers,
    key: str,
    body: CreateTimer,
    now: int,
    create: Callable[[ToKeep], Timer],
    answer_of: Callable[[Timer], Answer],
) -> Response:
    """Create a timer and keep the answer, or send the one kept; `now` in ms UTC.

    Of two such requests at once, the second waits for the first. A refusal is not kept. Raises `Refused` for a key that
    was given with another body.
    """
    asked = Asked(body.app, key, sha256(body.model_dump_json(warnings=False).encode()).hexdigest())
    if held := kept.find(body.app, key, now):
        return _replay(held, asked)
    try:
        timer = create(ToKeep(asked, lambda timer: serialized(answer_of(timer)).decode()))
    except Conflict:
        if held := kept.find(body.app, key, now):
            return _replay(held, asked)
        raise
    return send(answer_of(timer))


def _replay(held: KeptAnswer, asked: Asked) -> Response:
    if held.body_hash != asked.body_hash:
        raise Refused(
            ErrorCode.KEY_REUSED, HEADER, "it was given with another body before", "give each request its own"
        )
    return Response(held.answer, mimetype="application/json", headers={REPLAYED: "true"})
