"""Every error the client raises.

ClientError
├── Unreachable             no answer: no connection, or it broke, or took too long; the change may have been made
├── BadAnswer               an answer, but not WangTimer's: look at the URL, and at proxies in between
└── Refused                 a problem (RFC 9457): `code`, `detail`, `pointer` or `parameter`, `did_you_mean`
    ├── NotFound            404: the app has no such timer, firing or calendar
    ├── Conflict            409: a key taken, a state that does not allow it
    ├── PreconditionFailed  412: the timer is at another version than the one given: somebody changed it
    └── Unavailable         5xx: a fault, or a store that is away; the change may have been made

A moment without a zone, text that is not Unicode, or a URL that is none, is a ValueError: nothing was asked.
"""

from typing import NotRequired, TypedDict


class ClientError(Exception):
    """The service did not do what was asked, or `was_in_doubt`: it may have.

    So where a try of it had no answer, or none that refuses it (4xx).
    """

    was_in_doubt = False

    def __str__(self) -> str:
        return super().__str__() + ("; what was asked may have been done" if self.was_in_doubt else "")


class Unreachable(ClientError):
    """No answer came."""


class BadAnswer(ClientError):
    """What answered is not WangTimer."""


class Problem(TypedDict):
    """What the service says (RFC 9457): `code` as docs/api-errors.md lists it, and where in the request it is wrong.

    `type` leads to the code's page, relative to the service. `pointer` is a field of the body (RFC 6901); `parameter`
    a header, or a parameter of the path or query. `existingId` is the timer that has the key.
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


class Refused(ClientError):
    """The service answered why it did not do it."""

    def __init__(self, problem: Problem) -> None:
        place = problem.get("pointer", problem.get("parameter"))
        where = "" if place is None else f"{place}: "
        super().__init__(f"{where}{problem['detail']} ({problem['code']})")
        self.problem = problem
        self.status = problem["status"]
        self.code = problem["code"]
        self.detail = problem["detail"]
        self.pointer = problem.get("pointer")
        self.parameter = problem.get("parameter")
        self.did_you_mean = problem.get("didYouMean")


class NotFound(Refused):
    """The app has no such thing."""


class Conflict(Refused):
    """The present state does not allow it; `existing_id` is the timer that has the key, where that is why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.existing_id = problem.get("existingId")


class PreconditionFailed(Refused):
    """The timer is not at the version given: read it again, and decide anew."""


class Unavailable(Refused):
    """The service cannot do it now."""


def refused(problem: Problem) -> Refused:
    """Return the error of a problem, by its HTTP status."""
    kinds = {404: NotFound, 409: Conflict, 412: PreconditionFailed}
    kind = Unavailable if problem["status"] >= 500 else kinds.get(problem["status"], Refused)
    return kind(problem)
