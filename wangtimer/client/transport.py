"""Sends requests to the service, repeats them where that is safe, and reads the answers."""

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypedDict, TypeVar, cast
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import NewConnectionError

from .api_key import Bearer, found_key
from .errors import BadAnswer, ClientError, Conflict, Problem, Unreachable, refused

Data = TypeVar("Data")
Row = TypeVar("Row")


class Listed(TypedDict, Generic[Row]):
    """A whole list."""

    items: list[Row]


class Page(Listed[Row]):
    """A page of a list; `nextCursor` None: the last."""

    nextCursor: str | None


class Round(TypedDict):
    """Counts of one round. `wasInDoubt` (of the client): an earlier try got no answer, and is not counted here."""

    matched: int
    remaining: int
    wasInDoubt: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """The JSON answer to a call of `path`. A missing key raises `BadAnswer`.

    `was_in_doubt`: an earlier try of the same call got no answer, so this answer may not count what that try did.
    `is_of_change`: the call may have changed something, even where its answer is incomplete.
    """

    path: str
    status: int
    body: Mapping[str, Any]
    was_in_doubt: bool = False
    is_of_change: bool = False

    def typed(self, _kind: type[Data], *needed: str) -> Data:
        """Return it as a typed dictionary; raises `BadAnswer` where a needed key is missing."""
        for name in needed:
            if name not in self.body:
                error = BadAnswer(f"{self.path} answered without {name}, not as WangTimer does")
                error.was_in_doubt = self.was_in_doubt or self.is_of_change
                raise error
        return cast(Data, self.body)

    def page(self, _row: type[Row]) -> Page[Row]:
        """Return it as a page of such rows."""
        return self.typed(Page[Row], "items", "nextCursor")

    def counts(self, kind: type[Data], *needed: str) -> Data:
        """Return the same with `wasInDoubt`: the counts leave out what a try with a lost answer did."""
        whole = {**cast(dict[str, Any], self.typed(kind, *needed)), "wasInDoubt": self.was_in_doubt}
        return cast(Data, whole)


IDEMPOTENCY_KEY, REPLAYED = "Idempotency-Key", "Idempotent-Replayed"
# Statuses of a server or its proxy that may recover in a moment.
AWAY = frozenset({502, 503, 504})
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
SHOWN_CHARACTERS = 200
USER_AGENT = "wangtimer-client"


@dataclass(frozen=True, slots=True)
class Call:
    """One operation; `bears_repeating`: a repeat has no further effect. `is_trial`: it changes nothing; no GET."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    header: Mapping[str, str | bytes] = field(default_factory=dict)
    bears_repeating: bool = True
    # The status of an error that counts as an answer here.
    accepted: int | None = None
    is_trial: bool = False

    @property
    def may_change(self) -> bool:
        """Whether the service may have changed something once it got the call."""
        return self.method != "GET" and not self.is_trial


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed try; `in_doubt`: the service may have carried it out."""

    error: ClientError
    in_doubt: bool
    is_passing: bool = True
    wait_s: float = 0.0


class Transport:
    """Sends calls over kept-open connections. Not for several threads at once.

    `timeout` (s) limits connecting, and each wait for bytes. `retries` is how often a failed call is sent again, with
    growing pauses. A call that bears repeating is sent again after no answer or a 502, 503 or 504; any call is where no
    connection was made. The owner of a given `session` closes it.
    """

    def __init__(
        self,
        base_url: str,
        timeout: float,
        retries: int,
        sleep: Callable[[float], None] = time.sleep,
        session: requests.Session | None = None,
        key: str | None = None,
    ) -> None:
        if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
            raise ValueError(f"{base_url!r} is not a URL; write it as in http://127.0.0.1:5000")
        if urlsplit(base_url).path.rstrip("/") == "/v1":
            raise ValueError(
                "the URL ends in /v1, which the client adds; write it as in http://127.0.0.1:5000"
            )
        if retries < 0:
            raise ValueError(f"retries is {retries}; write 0 or more")
        own_key = found_key(base_url) if key is None else key
        self._auth = Bearer(own_key) if own_key else None
        self._base = base_url.rstrip("/")
        # Errors end up in logs, and a password in the URL must not.
        self._shown = (
            urlsplit(self._base)._replace(netloc=urlsplit(base_url).netloc.rpartition("@")[2]).geturl()
        )
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._owns_session = session is None
        self._session = _new_session() if session is None else session
        # By the service's clock, in ms UTC.
        self.answered_at: int | None = None

    def close(self) -> None:
        """Close the connections, unless the session was given."""
        if self._owns_session:
            self._session.close()

    def pause(self, seconds: float) -> None:
        """Wait."""
        self._sleep(seconds)

    def ask(self, call: Call) -> Answer:
        """Return the answer; raises `ClientError`."""
        response, was_in_doubt = self._send(call)
        try:
            body = _read(response, call)
            # A kept answer is the complete answer to the first try.
            is_in_doubt = was_in_doubt and REPLAYED not in response.headers
            return Answer(call.path, response.status_code, body, is_in_doubt, call.may_change)
        except ClientError as error:
            # Only a 4xx says that nothing was done.
            is_refused = 400 <= response.status_code < 500
            error.was_in_doubt = was_in_doubt or (call.may_change and not is_refused)
            raise

    def _send(self, call: Call) -> tuple[requests.Response, bool]:
        """Return the response, and whether an earlier try may have been carried out."""
        was_in_doubt = False
        for tries_left in range(self._retries, -1, -1):
            found = self._try(call)
            if isinstance(found, requests.Response):
                return found, was_in_doubt
            may_repeat = found.is_passing and (call.bears_repeating or not found.in_doubt)
            was_in_doubt |= found.in_doubt
            if not tries_left or not may_repeat:
                found.error.was_in_doubt = was_in_doubt
                raise found.error
            self._sleep(max(found.wait_s, _pause_s(self._retries - tries_left)))
        raise AssertionError("the last try returns or raises")

    def _try(self, call: Call) -> requests.Response | Failure:
        body = None if call.body is None else json.dumps(call.body, ensure_ascii=False).encode()
        try:
            response = self._session.request(
                call.method,
                self._base + call.path,
                params={name: _parameter(value) for name, value in call.query.items()},
                data=body,
                headers={**({} if body is None else {"Content-Type": "application/json"}), **call.header},
                auth=self._auth,
                timeout=self._timeout,
                allow_redirects=False,
            )
        except requests.RequestException as error:
            return self._unreachable(error, call)
        self.answered_at = _sent_at(response)
        if response.status_code == call.accepted:
            return response
        try:
            _read(response, call)
        except ClientError as error:
            # What took too long for the service would do so again: it asks for a longer pause than a client makes.
            is_away = response.status_code in AWAY and _is_soon(response)
            if is_away or _is_under_way(error):
                return Failure(error, call.may_change, wait_s=_retry_after_s(response))
            if response.status_code == requests.codes.too_many_requests and _is_soon(response):
                return Failure(error, in_doubt=False, wait_s=_retry_after_s(response))
        return response

    def _unreachable(self, error: requests.RequestException, call: Call) -> Failure:
        is_passing = isinstance(error, requests.ConnectionError | requests.Timeout) and not isinstance(
            error, requests.exceptions.SSLError
        )
        if _was_never_sent(error):
            return Failure(Unreachable(f"cannot reach {self._shown}: {_why(error)}"), False, is_passing)
        return Failure(
            Unreachable(f"no answer from {self._shown}: {_why(error)}"), call.may_change, is_passing
        )


def _new_session() -> requests.Session:
    session = requests.Session()
    session.headers["User-Agent"] = USER_AGENT
    return session


def _was_never_sent(error: requests.RequestException) -> bool:
    return isinstance(error, requests.ConnectTimeout) or isinstance(_reason(error), NewConnectionError)


def _reason(error: requests.RequestException) -> object:
    cause = error.args[0] if error.args else None
    return getattr(cause, "reason", cause)


def _why(error: requests.RequestException) -> str:
    if isinstance(error, requests.Timeout):
        return "it took too long"
    reason = _reason(error)
    found = reason.__cause__ if isinstance(reason, NewConnectionError) else reason
    while isinstance(found, Exception) and not isinstance(found, OSError) and found.args:
        found = found.args[-1]
    if isinstance(found, OSError) and found.strerror:
        return found.strerror.lower()
    return "the connection broke" if isinstance(error, requests.ConnectionError) else str(error)


def _read(response: requests.Response, call: Call) -> Mapping[str, Any]:
    """Return the JSON of an answer, {} for an empty one; raises `BadAnswer`, `Refused`."""
    if response.status_code == requests.codes.no_content:
        return {}
    try:
        answer = response.json()
    except (ValueError, requests.RequestException):
        answer = None
    is_good = response.ok and response.status_code < 300
    if isinstance(answer, dict) and (is_good or response.status_code == call.accepted):
        return answer
    if not is_good and _is_problem(answer):
        raise refused(cast(Problem, {**answer, "status": response.status_code}))
    shown = response.text[:SHOWN_CHARACTERS]
    status = response.status_code
    raise BadAnswer(f"{call.path} answered {status}, not as WangTimer does: {shown}", status)


def _is_under_way(error: ClientError) -> bool:
    """Tell whether an earlier try of the call, with the same Idempotency-Key, has not been answered yet."""
    return isinstance(error, Conflict) and error.parameter == IDEMPOTENCY_KEY


def _is_problem(answer: Any) -> bool:
    return (
        isinstance(answer, dict)
        and isinstance(answer.get("code"), int)
        and isinstance(answer.get("detail"), str)
    )


def _pause_s(tries: int) -> float:
    """Return a pause that doubles with each try, ±50 %, so that clients do not return at the same time."""
    return float(min(FIRST_PAUSE_S * 2**tries, LONGEST_PAUSE_S) * random.uniform(0.5, 1.5))


def _sent_at(response: requests.Response) -> int | None:
    """Return when an answer was sent, by its own word (ms UTC)."""
    try:
        at = parsedate_to_datetime(response.headers.get("Date", ""))
        # Without an offset it is one of UTC (RFC 9110, 5.6.7).
        return int((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp() * 1_000)
    except (ValueError, OverflowError):
        return None


def _retry_after_s(response: requests.Response) -> float:
    return min(_asked_to_wait_s(response), LONGEST_PAUSE_S)


def _is_soon(response: requests.Response) -> bool:
    """Tell whether the service asks to come again after a pause that a client makes by itself."""
    return _asked_to_wait_s(response) <= LONGEST_PAUSE_S


def _asked_to_wait_s(response: requests.Response) -> float:
    given = response.headers.get("Retry-After", "")
    return float(given) if given.isascii() and given.isdecimal() else 0.0


def _parameter(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
