"""The operations on firings and dead letters: list, count, read, cancel, replay, fire, backfill, discard."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Unpack

from .calls import Calls, Which, all_rows, name_of, place_of
from .filters import ChosenLetters, DeadLetterFilter, FiringFilter, Replayed, Spread
from .firing_types import (
    Backfill,
    CancelledFiring,
    DeadLetter,
    DeadLetterCounts,
    DiscardedLetters,
    Firing,
    FiringCounts,
    FiringHistory,
    Prolonged,
    Replay,
)
from .transport import Page
from .values import Moment, given

FIRINGS, LETTERS = "/v1/firings", "/v1/dead-letters"


class FiringCalls(Calls):
    """Read firings, request them, and replay or discard what has failed for good. Each method raises `ClientError`."""

    def firings(self, *, most: int | None = None, **wanted: Unpack[FiringFilter]) -> Iterator[Firing]:
        """Yield the app's firings, latest first, all or at most `most`, page by page."""
        return all_rows(partial(self.list_firings, **wanted), most)

    def list_firings(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[FiringFilter]
    ) -> Page[Firing]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `firings` reads all pages."""
        query = {"limit": limit, "cursor": cursor, **named(wanted)}
        return self._get(FIRINGS, query).page(Firing)

    def count_firings(self, **wanted: Unpack[FiringFilter]) -> FiringCounts:
        """Return the number of firings of each status."""
        return self._get(f"{FIRINGS}:count", named(wanted)).typed(FiringCounts, "pending")

    def get_firing(self, firing_id: str) -> FiringHistory:
        """Return a firing with its attempts."""
        return self._get(place_of(FIRINGS, firing_id)).typed(FiringHistory, "attempts")

    def cancel_firing(self, firing_id: str, *, idempotency_key: str | None = None) -> CancelledFiring:
        """Cancel a future firing: it is skipped. A repeat changes nothing."""
        place = f"{place_of(FIRINGS, firing_id)}:cancel"
        return self._post(place, None, idempotency_key).typed(CancelledFiring, "id")

    def replay_firing(self, firing_id: str, *, idempotency_key: str | None = None) -> Replay:
        """Attempt a failed or skipped firing once more, with its id; under this Idempotency-Key, or a new one."""
        return self._post_once(f"{place_of(FIRINGS, firing_id)}:replay", None, idempotency_key).counts(
            Replay, "replayed"
        )

    def ack_firing(self, firing_id: str, token: str) -> None:
        """Say that an accepted firing is done; needs no API key. A repeat changes nothing."""
        self._post(f"{place_of(FIRINGS, firing_id)}:ack", {"token": token})

    def nack_firing(self, firing_id: str, token: str, *, error: str = "", final: bool = False) -> None:
        """Say that an accepted firing failed, and why; needs no API key. It is tried again, unless that is `final`."""
        body = {"token": token, "error": error, "final": final}
        self._post(f"{place_of(FIRINGS, firing_id)}:nack", body)

    def heartbeat_firing(self, firing_id: str, token: str) -> Prolonged:
        """Say that an accepted firing goes on; needs no API key. It has its whole `ackTimeout` from now on."""
        answer = self._post(f"{place_of(FIRINGS, firing_id)}:heartbeat", {"token": token})
        return answer.typed(Prolonged, "ackBy")

    def fire_timer(self, which: Which, *, idempotency_key: str | None = None) -> Firing:
        """Fire a timer now, whatever its schedule; return the firing.

        Under this Idempotency-Key, or a new one, so that a retry does not fire twice.
        """
        return self._post_once(f"{self._path(which)}:fire", None, idempotency_key).typed(Firing, "id")

    def replay_firings(
        self,
        *,
        spread: Spread | None = None,
        idempotency_key: str | None = None,
        **wanted: Unpack[Replayed],
    ) -> Replay:
        """Attempt firings once more: those in `ids`, or up to 10,000 that failed or were skipped `since`.

        `remaining` says how many are left; `replay_in_rounds` replays them all. The request has an Idempotency-Key: the
        given one, or a new one. So a retry after a lost answer replays no further firings.
        """
        return self._replay(FIRINGS, given({**named(wanted), **(spread or {})}), idempotency_key)

    def replay_in_rounds(
        self, *, spread: Spread | None = None, **wanted: Unpack[Replayed]
    ) -> Iterator[Replay]:
        """Replay all firings that match; yield the result of each round, until none is left or a round does nothing.

        A firing that fails again meanwhile is not replayed again: no more are replayed than matched at first. Each
        round has its own Idempotency-Key.
        """
        body = given({**named(wanted), **(spread or {})})
        return in_rounds(body, lambda body: self._replay(FIRINGS, body, None))

    def backfill_timer(
        self,
        which: Which,
        *,
        since: Moment,
        until: Moment,
        idempotency_key: str | None = None,
        **spread: Unpack[Spread],
    ) -> Backfill:
        """Make the firings of a timer's past moments that have none, up to 10,000.

        Where some are left, `nextSince` and `lastDueAt` start the next round; `backfill_in_rounds` makes them all. The
        request has an Idempotency-Key: the given one, or a new one.
        """
        body = given({"since": since, "until": until, **spread})
        answer = self._post_once(
            f"{self._path(which)}:backfill", body, idempotency_key, bool(body.get("dryRun"))
        )
        return answer.counts(Backfill, "planned", "nextSince")

    def backfill_in_rounds(
        self, which: Which, *, since: Moment, until: Moment, **spread: Unpack[Spread]
    ) -> Iterator[Backfill]:
        """Backfill a whole range; yield the result of each round."""
        while True:
            done = self.backfill_timer(which, since=since, until=until, **spread)
            yield done
            following = done["nextSince"]
            if following is None or following == since:
                return
            since = following
            if done["lastDueAt"] is not None:
                spread["startAt"] = done["lastDueAt"]

    # firings that have failed for good

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
        """Replay what matches at first; yield each round's result, until none is left or one does nothing."""
        body = given({**named(wanted), **(spread or {})})
        return in_rounds(body, lambda body: self._replay(LETTERS, body, None))

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

    def _replay(self, path: str, body: Mapping[str, Any], idempotency_key: str | None) -> Replay:
        answer = self._post_once(f"{path}:replay", body, idempotency_key, bool(body.get("dryRun")))
        return answer.counts(Replay, "replayed", "remaining")


def in_rounds(body: dict[str, Any], replay: Callable[[Mapping[str, Any]], Replay]) -> Iterator[Replay]:
    """Yield the result of each round, until none is left, as many are replayed as matched, or a round does nothing."""
    matched: int | None = None
    replayed, left = 0, 1
    while left and (matched is None or replayed < matched):
        done = replay(body)
        yield done
        if not done["replayed"]:
            return
        body |= given({"startAt": done["lastDueAt"]})
        matched = done["matched"] if matched is None else matched
        replayed, left = replayed + done["replayed"], done["remaining"]


def named(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conditions with v1's name of their timer."""
    timer = wanted.get("timer")
    return {**wanted} if timer is None else {**wanted, "timer": name_of(timer)}


LETTERS = "/v1/dead-letters"
