"""The operations on dead letters, firings that have failed for good: list, count, replay, discard."""

from collections.abc import Iterator
from functools import partial
from typing import TypedDict, Unpack

from .answer import Page, Round
from .calls import all_rows
from .filters import ChosenLetters, DeadLetterFilter, FiringKind, Spread
from .firing_calls import FiringCalls, in_rounds, named
from .firing_types import Replay
from .values import given

LETTERS = "/v1/dead-letters"


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


class DeadLetterCalls(FiringCalls):
    """Read what has failed for good, and replay or discard it. Each method raises `ClientError`."""

    def dead_letters(
        self, *, most: int | None = None, **wanted: Unpack[DeadLetterFilter]
    ) -> Iterator[DeadLetter]:
        """Yield the app's dead letters, the latest first, all or at most `most`, page by page."""
        return all_rows(partial(self.list_dead_letters, **wanted), most)

    def list_dead_letters(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[DeadLetterFilter]
    ) -> Page[DeadLetter]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `dead_letters` reads all pages."""
        query = {"limit": limit, "cursor": cursor, **named(wanted)}
        return self._get(LETTERS, query).page(DeadLetter)

    def count_dead_letters(self, **wanted: Unpack[DeadLetterFilter]) -> DeadLetterCounts:
        """Return how many there are, of which reasons, and what they called."""
        return self._get(f"{LETTERS}:count", named(wanted)).typed(DeadLetterCounts, "total")

    def replay_dead_letters(
        self,
        *,
        spread: Spread | None = None,
        idempotency_key: str | None = None,
        **wanted: Unpack[ChosenLetters],
    ) -> Replay:
        """Attempt firings once more: those in `ids`, or the 10,000 oldest that failed for good `since`.

        `remaining` says how many are left; `replay_dead_letters_in_rounds` replays them all. The request has an
        Idempotency-Key: the given one, or a new one.
        """
        return self._replay(LETTERS, given({**named(wanted), **(spread or {})}), idempotency_key)

    def replay_dead_letters_in_rounds(
        self, *, spread: Spread | None = None, **wanted: Unpack[DeadLetterFilter]
    ) -> Iterator[Replay]:
        """Replay all that match; yield the result of each round, until none is left or a round does nothing.

        No more are replayed than matched at first: what fails again meanwhile is not.
        """
        body = given({**named(wanted), **(spread or {})})
        return in_rounds(body, lambda asked: self._replay(LETTERS, asked, None))

    def discard_dead_letters(
        self, *, dry_run: bool = False, idempotency_key: str | None = None, **wanted: Unpack[ChosenLetters]
    ) -> DiscardedLetters:
        """Discard those of the firings in `ids`, or the 10,000 oldest that match; their records stay.

        `dry_run` only counts all that match. The request has an Idempotency-Key: the given one, or a new one.
        """
        body = given({**named(wanted), "dryRun": dry_run or None})
        answer = self._post_once(f"{LETTERS}:discard", body, idempotency_key, dry_run)
        return answer.counts(DiscardedLetters, "discarded", "remaining")

    def discard_dead_letters_in_rounds(
        self, **wanted: Unpack[DeadLetterFilter]
    ) -> Iterator[DiscardedLetters]:
        """Discard all that match; yield the result of each round, until none is left or a round does nothing."""
        while True:
            done = self.discard_dead_letters(**wanted)
            yield done
            if not done["remaining"] or not done["discarded"]:
                return
