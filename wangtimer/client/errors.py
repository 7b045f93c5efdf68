"""Every error the client raises.

ClientError
├── Unreachable      no answer: no connection, or it broke, or took too long; the change may have been made
├── BadAnswer        an answer, but not WangTimer's: look at the URL, and at proxies in between
└── Refused          an answer that says why not: `code`, `field`, `msg`, `status`
    ├── NotFound     404: the app has no such timer, firing or calendar
    ├── Conflict     409: a name taken, a version changed, a state that does not allow it
    └── Unavailable  5xx: a fault, or a store that is away; the change may have been made

A moment without a zone, text that is not Unicode, or a URL that is none, is a ValueError: nothing was asked.
"""

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the service says: `code` as docs/api-errors.md lists it, `field` the dotted name at fault or "", `msg`."""

    status: int
    code: int
    msg: str
    field: str = ""
    existing_id: int | None = None


class Refused(ClientError):
    """The service answered why it did not do it."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"{refusal.msg} ({refusal.code})")
        self.status = refusal.status
        self.code = refusal.code
        self.msg = refusal.msg
        self.field = refusal.field


class NotFound(Refused):
    """The app has no such thing."""


class Conflict(Refused):
    """The present state does not allow it; `existing_id` is the timer that has the name, where that is why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.existing_id = refusal.existing_id


class Unavailable(Refused):
    """The service cannot do it now."""


def refused(refusal: Refusal) -> Refused:
    """Return the error of a refusal, by its HTTP status."""
    kinds = {404: NotFound, 409: Conflict}
    kind = Unavailable if refusal.status >= 500 else kinds.get(refusal.status, Refused)
    return kind(refusal)
