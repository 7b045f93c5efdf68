"""Firings as the service sends them, and its health. A newer service may send further keys."""

from typing import NotRequired, TypedDict


class Firing(TypedDict):
    """A firing: one moment of one timer, and what became of it. Its `kind` is scheduled, manual or backfill."""

    timerID: int
    app: str
    runTimer: str
    fireAtMs: int
    firstSentAtMs: int | None
    latenessMs: int | None
    costTime: int
    attempt: int
    status: int
    statusName: str
    httpStatus: int | None
    output: str
    error: str
    webhookId: str
    kind: str
    waitedFor: str


class FiringsPage(TypedDict):
    """A page of firings; `nextCursor` None: the last. `total` only where pages are numbered."""

    data: list[Firing]
    nextCursor: str | None
    total: NotRequired[int]


class CancelledFiring(Firing):
    """A firing just cancelled; how soon that counts (see `timer_types`)."""

    countsWithinMs: NotRequired[int]


class Attempt(TypedDict):
    """One try at a firing's call."""

    attempt: int
    sentAtMs: int | None
    latenessMs: int | None
    connectMs: int | None
    firstByteMs: int | None
    costMs: int | None
    httpStatus: int | None
    output: str
    error: str
    statusName: str


class FiringDetail(Firing):
    """A firing with each of its attempts."""

    attempts: list[Attempt]


class Counts(TypedDict):
    """How many firings have each outcome."""

    pending: int
    succeeded: int
    failed: int
    skipped: int


class NotReplayed(TypedDict):
    """A firing that could not be replayed, and why."""

    id: int
    fireAtMs: int
    msg: str


class Replay(TypedDict):
    """What one round of a replay did; where some remain, `lastDueAtMs` is the next round's `start_at`.

    `wasInDoubt` is the client's: an earlier try got no answer, and what it did is not counted here.
    """

    matched: int
    replayed: int
    notReplayed: list[NotReplayed]
    firstDueAtMs: int | None
    lastDueAtMs: int | None
    remaining: int
    wasInDoubt: bool


class Backfill(TypedDict):
    """What one round of a backfill did; where moments remain, `nextSince` is the next round's `since`.

    `wasInDoubt` is the client's: an earlier try got no answer, and what it did is not counted here.
    """

    matched: int
    planned: int
    firstDueAtMs: int | None
    lastDueAtMs: int | None
    remaining: int
    nextSince: str | int | None
    wasInDoubt: bool


class PartHealth(TypedDict):
    """Whether a part answers, and what it said if not."""

    ok: bool
    error: str


class PartsHealth(TypedDict):
    """The parts without which nothing can be made or fired."""

    sql: PartHealth
    store: PartHealth
    broker: PartHealth
