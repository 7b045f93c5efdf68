"""Filters: the conditions that select timers and firings to list, count or change."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from .calls import Which
from .values import Moment, Span

Sort = Literal["id", "-id", "key", "-key", "createdAt", "-createdAt", "updatedAt", "-updatedAt"]
FiringStatus = Literal["pending", "accepted", "succeeded", "failed", "skipped"]
FiringKind = Literal["scheduled", "manual", "backfill"]
Replayable = Literal["failed", "skipped"]
Action = Literal["enable", "disable", "delete"]


class TimerFilter(TypedDict, total=False):
    """Which timers: those that meet all conditions."""

    key: str
    keyPrefix: str
    keyContains: str
    status: Literal["enabled", "disabled", "finished"]
    tag: str
    nextBefore: Moment
    host: str


class ManyTimers(TypedDict, total=False):
    """Which timers to change: exactly one of `keys`, `ids`, `filter` and `all` selects them."""

    keys: Sequence[str]
    ids: Sequence[int]
    filter: TimerFilter
    all: bool


class OneRound(ManyTimers, total=False):
    """Which timers one request is to change: `limit` (1,000) of them at most, in the order of their ids.

    `dry_run` only counts them; `after_id` passes by those up to this id.
    """

    dry_run: bool
    limit: int
    after_id: int | None
    idempotency_key: str | None


class FiringFilter(TypedDict, total=False):
    """Which firings: those that meet all conditions. `until` is now by default."""

    timer: Which
    tag: str
    status: FiringStatus
    kind: FiringKind
    since: Moment
    until: Moment
    laterThan: Span


class AuditFilter(TypedDict, total=False):
    """Which changes: those that meet all conditions; None: no such condition.

    `app` is whose the changed thing is, `key` the id of the key that changed it. `subject` is the id of a timer, firing
    or key, or the name of an app or a calendar.
    """

    app: str | None
    key: str | None
    kind: str | None
    subject: str | None
    since: Moment | None
    until: Moment | None


class Replayed(TypedDict, total=False):
    """Which firings to attempt once more: `ids`, or all with `statuses` (`failed` by default) since a moment."""

    ids: Sequence[str]
    timer: Which
    since: Moment
    until: Moment
    statuses: Sequence[Replayable]


class DeadLetterFilter(TypedDict, total=False):
    """Which dead letters: those that meet all conditions. `since` and `until` are of when they failed for good."""

    timer: Which
    reason: str
    host: str
    target: str
    since: Moment
    until: Moment


class ChosenLetters(DeadLetterFilter, total=False):
    """Which dead letters to act on: those of the firings `ids`, or all since a moment that meet the conditions."""

    ids: Sequence[str]


class Spread(TypedDict, total=False):
    """How the firings of one request are spread: `perSecond` (50) of them a second, the first at `startAt` (now).

    `dryRun` only counts them.
    """

    perSecond: int
    startAt: Moment
    dryRun: bool
