"""A request with an `Idempotency-Key` is carried out once. A repeat gets the first answer again.

A request that makes one timer or one firing keeps its answer in the same transaction. Any other request claims its key
first and keeps its answer afterwards. If the process ends in between, the claim holds for a minute; then the request
may be carried out again. That is harmless: these requests have the same effect twice as once.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from hashlib import sha256
from typing import Any
from uuid import uuid4

import orjson
import structlog
from flask import Response
from pydantic import BaseModel

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.kept_answer import HEADER, REPLAYED, IdempotencyKey, to_keep
from wangtimer.api.http.refusals import Part, Refused
from wangtimer.api.http.serving import View, response_of
from wangtimer.api.v1.parameters import AppHeader, ChangeHeader
from wangtimer.api.v1.problems import OfMany
from wangtimer.core.errors import Conflict, StoreAway
from wangtimer.store.sql.kept_answers import Asked, KeptAnswer, KeptAnswers
from wangtimer.wiring import Wiring

log = structlog.get_logger()


class ActingHeader(AppHeader):
    """The app of the request, and the key under which its answer is kept."""

    idempotency_key: IdempotencyKey = None


class ActingChangeHeader(ChangeHeader):
    """The app of the timer, the version it must be at, and the key under which the answer is kept."""

    idempotency_key: IdempotencyKey = None


def once(wiring: Callable[[], Wiring], view: View, operation: str) -> View:
    """Return a view that carries out a request with a key once. It takes an `ActingHeader` or `ActingChangeHeader`.

    `operation` is the same in all versions: a repeat may come to a newer one.
    """

    @wraps(view)
    def answer(**taken: Any) -> Response:
        header = taken["header"]
        if header.idempotency_key is None:
            return response_of(view(**taken))
        kept, asked = wiring().kept_answers, asked_under(operation, taken)
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


def once_with_it(
    wiring: Callable[[], Wiring], operation: str, taken: Mapping[str, Any], act: Callable[[Asked], Response]
) -> Response:
    """Return the kept answer, or else that of `act`, which keeps its answer in its own transaction.

    `act` raises `Conflict` where another request has kept an answer in the meantime.
    """
    kept, asked = wiring().kept_answers, asked_under(operation, taken)
    now = int(wiring().clock.now_ms())
    if held := kept.find(asked.app, asked.key, now):
        return replayed(held, asked)
    try:
        return act(asked)
    except Conflict:
        if held := kept.find(asked.app, asked.key, now):
            return replayed(held, asked)
        raise


def asked_under(operation: str, taken: Mapping[str, Any]) -> Asked:
    """Return the identity of a request under its key: its operation, path, version and body."""
    header = taken["header"]
    parts = [f"v1 {operation}", str(getattr(header, "if_match", None))]
    parts += [
        one.model_dump_json(warnings=False, exclude_defaults=True)
        for one in map(taken.get, ("path", "body"))
        if isinstance(one, BaseModel)
    ]
    return Asked(header.app, header.idempotency_key, sha256("\n".join(parts).encode()).hexdigest())


def kept_text(response: Response) -> str:
    """Return an answer in the form in which it is kept."""
    headers = {name: response.headers[name] for name in ("Location", "ETag") if name in response.headers}
    text = response.get_data(as_text=True)
    return orjson.dumps([response.status_code, headers, to_keep(text) if text else text]).decode()


def replayed(held: KeptAnswer, asked: Asked) -> Response:
    """Return a kept answer again; raises `Refused` for a different request, and while the first is still under way."""
    if held.body_hash != asked.body_hash:
        raise Refused(
            ErrorCode.KEY_REUSED,
            HEADER,
            "an earlier, different request had it",
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


def _end_claim(kept: KeptAnswers, asked: Asked, claim_id: str, answer: str | None) -> None:
    """Keep an answer, or forget the request. If SQL is away, the caller still gets its answer; the claim runs out."""
    try:
        kept.end_claim(asked, claim_id, answer)
    except StoreAway as error:
        log.warning("answer_not_kept", error=str(error))
