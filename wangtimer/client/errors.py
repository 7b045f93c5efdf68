"""Every error the client raises.

ClientError
├── Unreachable             no answer: no connection, or it broke or took too long; the change may have been made
├── BadAnswer               an answer, but not WangTimer's: check the URL, and proxies in between
└── Refused                 a problem (RFC 9457): `code`, `detail`, `pointer` or `parameter`, `did_you_mean`
    ├── NotFound            404: the app has no such timer, firing or calendar
    ├── Conflict            409: the key is taken, or the state does not allow it
    ├── PreconditionFailed  412: the timer has changed since the given version
    ├── TooFast             429: the app asks faster than it may; nothing was done
    └── Unavailable         5xx: a fault, or a store is away; the change may have been made

A moment without a zone, and without a `timezone` beside it, text that is not Unicode, or a bad URL raises ValueError:
no request was sent.
"""

from typing import NotRequired, TypedDict


class ClientError(Exception):
    """The service did not carry out the request; with `was_in_doubt` (a try got no answer, or no 4xx) it may have."""

    was_in_doubt = False

    def __str__(self) -> str:
        return super().__str__() + ("; the request may have been carried out" if self.was_in_doubt else "")


class Unreachable(ClientError):
    """No answer came."""


class BadAnswer(ClientError):
    """The answer is not WangTimer's. `status` is that of HTTP, None where it is not what was wrong."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Problem(TypedDict):
    """The service's error (RFC 9457): `code` is listed in docs/api-errors.md, `detail` says what is wrong.

    `type` links to the code's page, relative to the service. `pointer` is the wrong field of the body (RFC 6901),
    `parameter` the wrong header, or parameter of the path or query. `existingId` is the timer that has the key.
    """

    type: str
    title: str
    status: int
    detail: str
    code: int
    pointer: NotRequired[str]
    parameter: NotRequired[str]
    didYouMean: NotRequired[str]
    existingId: NotRequired[int]


# The codes of a path that the service does not have, and of a request without a key.
UNKNOWN_PATH, NO_KEY = 40402, 40101
KEY_HINT = "; name its file in WANGTIMER_KEY_FILE, write the key into WANGTIMER_KEY, or give Client its key="


class Refused(ClientError):
    """The service refused the request and says why."""

    def __init__(self, problem: Problem) -> None:
        place = problem.get("pointer", problem.get("parameter"))
        where = "" if place is None else f"{place}: "
        hint = KEY_HINT if problem["code"] == NO_KEY else ""
        super().__init__(f"{where}{problem['detail']} ({problem['code']}){hint}")
        self.problem = problem
        self.status = problem["status"]
        self.code = problem["code"]
        self.detail = problem["detail"]
        self.pointer = problem.get("pointer")
        self.parameter = problem.get("parameter")
        self.did_you_mean = problem.get("didYouMean")


class NotFound(Refused):
    """The app has no such timer, firing or calendar."""


class Conflict(Refused):
    """The current state does not allow it. `existing_id` is the timer that has the key, if that is the reason."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.existing_id = problem.get("existingId")


class PreconditionFailed(Refused):
    """The timer is not at the given version: read it again, and decide again."""


class TooFast(Refused):
    """The app asks faster than it may: ask again later."""


class Unavailable(Refused):
    """The service cannot do it now."""


def refused(problem: Problem) -> Refused:
    """Return the error of a problem, by its HTTP status."""
    if problem["code"] == UNKNOWN_PATH:
        # Nothing is known of any timer: the client's URL leads elsewhere.
        return Refused(problem)
    kinds = {404: NotFound, 409: Conflict, 412: PreconditionFailed, 429: TooFast}
    kind = Unavailable if problem["status"] >= 500 else kinds.get(problem["status"], Refused)
    return kind(problem)
