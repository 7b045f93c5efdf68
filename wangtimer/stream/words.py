"""What consumers say of the firings that they have: done, failed, still at it; many in one request."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.failures import fault_of
from wangtimer.api.http.refusals import Refused
from wangtimer.api.v1.firings.ack_routes import MOST_ERROR_CHARACTERS, TOKEN_CHARACTERS
from wangtimer.core.errors import WangTimerError, WrongToken
from wangtimer.core.flow.firing import Member
from wangtimer.core.time.moment_text import show_moment
from wangtimer.features.long_work import LongWork
from wangtimer.store.sql.accepted_firings import AcceptedFirings, AckState
from wangtimer.stream.problems import shown_problem
from wangtimer.stream.stream import Stream

MOST_WORDS = 1_000
# Of the fields of a body or a word so many are looked at: one more than there are.
MOST_FIELDS = 5
MEND = 'write {"firings": [{"id": "7-1795207483000", "token": "1.kWJ..."}]}'
ID_CHARACTERS = 40
VERBS = ("ack", "nack", "heartbeat")
# s; an outcome is on record some 200 ms after its firing was put. A word waits for that here, and holds no thread.
PAUSES_S = (0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.0, 1.0)


class Word(BaseModel):
    """Of which firing, with the token of its call; what failed, and whether for good, of a nack."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(max_length=ID_CHARACTERS, pattern=r"^[1-9][0-9]{0,18}-[0-9]{1,15}$")]
    token: Annotated[str, Field(min_length=1, max_length=TOKEN_CHARACTERS)]
    error: Annotated[str, Field(max_length=MOST_ERROR_CHARACTERS)] = ""
    final: bool = False


class SaidWords(BaseModel):
    """A request's body."""

    model_config = ConfigDict(extra="forbid", strict=True)

    firings: Annotated[list[Word], Field(min_length=1, max_length=MOST_WORDS)]


def read_words(body: bytes) -> list[Word]:
    """Read a request's body; raises `Refused`."""
    try:
        return SaidWords.model_validate(cut(orjson.loads(body))).firings
    except orjson.JSONDecodeError as error:
        raise Refused(ErrorCode.BROKEN_JSON, "", f"the body is no JSON: {error}", MEND) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])[:64]
        raise Refused(ErrorCode.BAD_VALUE, field, str(first["msg"]), MEND) from None


def cut(said: Any) -> Any:
    """Return a body with little more than it may have: each field too many would be an error of its own, and cost."""
    if not isinstance(said, dict):
        return None
    firings = said.get("firings")
    few = dict(islice(said.items(), MOST_FIELDS))
    if isinstance(firings, list):
        few["firings"] = [
            dict(islice(firing.items(), MOST_FIELDS)) if isinstance(firing, dict) else None
            for firing in firings[: MOST_WORDS + 1]
        ]
    return few


class Desk:
    """Records words; one that fails costs no other."""

    def __init__(self, stream: Stream, long_work: LongWork, accepted: AcceptedFirings) -> None:
        self._stream = stream
        self._long_work = long_work
        self._accepted = accepted

    async def record(self, app: str, verb: str, words: Sequence[Word]) -> list[dict[str, Any]]:
        """Return of each word of an app's consumer what became of it, in their order."""
        # One that is said again and again in a request is recorded once.
        said = list({(word.id, word.token): word for word in words}.values())
        found = await asyncio.gather(*(self._record(app, verb, word) for word in said))
        by_word = {(word.id, word.token): answer for word, answer in zip(said, found, strict=True)}
        return [by_word[word.id, word.token] for word in words]

    async def _record(self, app: str, verb: str, word: Word) -> dict[str, Any]:
        try:
            until = await self._recorded(app, verb, word)
        except WangTimerError as error:
            return {"id": word.id, "problem": shown_problem(fault_of(error))}
        return {"id": word.id} | ({"ackBy": show_moment(until)} if until else {})

    async def _recorded(self, app: str, verb: str, word: Word) -> int:
        """Record a word; return until when the firing goes on (ms UTC), 0: it has ended."""
        timer_id, _, fire_at = word.id.partition("-")
        firing = (int(timer_id), int(fire_at))
        attempt = self._long_work.ack_tokens.attempt_of(word.token, *firing)
        if attempt is None:
            raise WrongToken
        if verb != "heartbeat":
            # Who has said it has room at once, whatever SQL does.
            self._stream.note_word((word.id, attempt), 0)
        await self._await_record(app, Member(*firing, attempt))
        work: Callable[[], int | None]
        if verb == "heartbeat":
            work = lambda: self._long_work.heartbeat(*firing, word.token)  # noqa: E731
        elif verb == "ack":
            work = lambda: self._long_work.ack(*firing, word.token)  # noqa: E731
        else:
            work = lambda: self._long_work.nack(  # noqa: E731
                *firing, word.token, word.error, is_final=word.final
            )
        until = await self._stream.in_thread_of(app, work) or 0
        if until:
            self._stream.note_word((word.id, attempt), until)
        return until

    async def _await_record(self, app: str, member: Member) -> None:
        for pause_s in PAUSES_S:
            state, _ = await self._stream.in_thread_of(app, self._accepted.find, member)
            if state is not AckState.NOT_YET:
                return
            await asyncio.sleep(pause_s)
