"""Firings as the service sends them, and its health. A newer service may send more keys."""

from typing import Literal, NotRequired, TypedDict

from .filters import FiringKind, FiringStatus
from .timer_fields import Method
from .transport import Round


class Firing(TypedDict):
    """A firing: one moment of one timer, and its outcome. Its `id` is the `webhook-id` of its callbacks."""

    id: str
    timerId: int
    app: str
    fireAt: str
    status: FiringStatus
    kind: FiringKind
    attempt: int
    firstSentAt: str | None
    latenessMs: int | None
    durationMs: int | None
    httpStatus: int | None
    output: str
    error: str
    waitedFor: str
    hostFailingMs: int | None
    acceptedAt: NotRequired[str]
    ackBy: NotRequired[str]
    doneAt: NotRequired[str]
    seq: NotRequired[int]
    # Columns of an export stand in this order, so what is newer comes last.
    timerKey: str | None
    url: str | None
    target: str | None
    nextAttemptAt: NotRequired[str]


class CancelledFiring(Firing):
    """A cancelled firing; that takes effect `countsWithin` after the answer."""

    countsWithin: str


class Attempt(TypedDict):
    """One attempt of a firing's call."""

    attempt: int
    status: Literal["accepted", "succeeded", "failed", "skipped"]
    madeAt: str | None
    sentAt: str | None
    latenessMs: int | None
    connectMs: int | None
    firstByteMs: int | None
    durationMs: int | None
    httpStatus: int | None
    output: str
    error: str


class SentRequest(TypedDict):
    """A request as it was sent, with its secrets masked: `***`."""

    attempt: int
    method: NotRequired[Method]
    url: str
    headers: dict[str, list[str]]
    body: str


class FiringHistory(Firing):
    """A firing with all its attempts, and the request of the last one that was sent.

    `request` None: nothing was sent (`not_sent`), or the timer has changed since (`timer_changed`).
    """

    attempts: list[Attempt]
    request: SentRequest | None
    requestState: Literal["as_sent", "not_sent", "timer_changed"]


class FiringCounts(TypedDict):
    """Numbers of firings by status."""

    pending: int
    succeeded: int
    failed: int
    skipped: int
    accepted: int


class Prolonged(TypedDict):
    """An accepted firing that goes on: its target is to say until `ackBy` that it is done, or goes on."""

    ackBy: str


class NotReplayed(TypedDict):
    """A firing that could not be replayed, and why."""

    id: str
    detail: str


class Replay(Round, TypedDict):
    """What one round of a replay did; where some remain, `lastDueAt` is the next round's `startAt`."""

    replayed: int
    notReplayed: list[NotReplayed]
    firstDueAt: str | None
    lastDueAt: str | None


class Backfill(Round, TypedDict):
    """What one round of a backfill did; where moments remain, `nextSince` is the next round's `since`."""

    planned: int
    firstDueAt: str | None
    lastDueAt: str | None
    nextSince: str | None


class PartHealth(TypedDict):
    """Whether a part answers, and what it said if not."""

    ok: bool
    error: str


class PartsHealth(TypedDict):
    """The parts without which nothing can be made or fired."""

    sql: PartHealth
    store: PartHealth
    broker: PartHealth
    ticks: PartHealth


class FailingHost(TypedDict):
    """A host (scheme, host and port) that fails each call of an app since a moment; `lastError` says what came.

    Since `disabledAt` (None: they wait) the app's firings for it fail without a call.
    """

    host: str
    since: str
    lastFailedAt: str
    lastError: str
    disabledAt: str | None


class FailingHostOfApp(FailingHost):
    """The same, of one of all apps; `waiting` firings wait for it or a limit of it, those of other apps included."""

    app: str
    waiting: int


class DeadLetter(TypedDict):
    """A firing that has failed for good; `id` is its firing's, the `webhook-id` of its callbacks.

    `reason` says why in a word: `http_503`, `timed_out`, `not_connected`, `broken_off`, `not_taken`, `refused`,
    `host_disabled`, `nacked`, `not_acked` or `not_made`.
    """

    id: str
    timerId: int
    timerKey: str
    app: str
    kind: FiringKind
    fireAt: str
    failedAt: str
    attempt: int
    reason: str
    httpStatus: int | None
    error: str
    host: str
    target: str | None
    url: str | None


class LettersOfReason(TypedDict):
    """How many dead letters have a reason."""

    reason: str
    number: int


class LettersOfTarget(TypedDict):
    """How many dead letters called a host, through a named target or not."""

    target: str | None
    host: str
    number: int


class DeadLetterCounts(TypedDict):
    """How many dead letters there are, and of what; the most first."""

    total: int
    byReason: list[LettersOfReason]
    byTarget: list[LettersOfTarget]


class DiscardedLetters(Round, TypedDict):
    """How many dead letters were discarded; `remaining` 1 or more: others match, so repeat it.

    `notDiscarded` are those of `ids` that are no dead letters of the app.
    """

    discarded: int
    notDiscarded: list[str]
