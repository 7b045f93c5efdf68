"""The operations on firings: lists, one firing, and what an operator does to them."""

from collections.abc import Iterator, Mapping
from typing import Any, Unpack
from urllib.parse import quote

from .calls import Calls, Which, all_rows, name_of
from .filters import FiringFilter, Replayed, Spread
from .firing_types import (
    Backfill,
    CancelledFiring,
    Firing,
    FiringCounts,
    FiringHistory,
    FiringsPage,
    Replay,
)
from .values import Moment, given

FIRINGS = "/v1/firings"


class FiringCalls(Calls):
    """Look at firings, and have them made. Each method raises `ClientError`."""

    def firings(self, *, most: int | None = None, **wanted: Unpack[FiringFilter]) -> Iterator[Firing]:
        """Yield the app's firings, latest first, `most` of them or all, asking for page after page."""
        return all_rows(lambda limit, cursor: self.list_firings(limit=limit, cursor=cursor, **wanted), most)

    def list_firings(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[FiringFilter]
    ) -> FiringsPage:
        """Return one page; `cursor` is the `nextCursor` of the page before. `firings` asks for all of them."""
        query = {"limit": limit, "cursor": cursor, **_named(wanted)}
        return self._get(FIRINGS, query).typed(FiringsPage, "items", "nextCursor")

    def count_firings(self, **wanted: Unpack[FiringFilter]) -> FiringCounts:
        """Return how many firings have each outcome."""
        return self._get(f"{FIRINGS}:count", _named(wanted)).typed(FiringCounts, "pending")

    def get_firing(self, firing_id: str) -> FiringHistory:
        """Return a firing with its attempts."""
        return self._get(_place(firing_id)).typed(FiringHistory, "attempts")

    def cancel_firing(self, firing_id: str, *, idempotency_key: str | None = None) -> CancelledFiring:
        """Have a firing that is still to come be skipped; twice is the same as once."""
        return self._post(f"{_place(firing_id)}:cancel", None, idempotency_key).typed(CancelledFiring, "id")

    def replay_firing(self, firing_id: str, *, idempotency_key: str | None = None) -> Replay:
        """Attempt a firing that failed or was skipped once more, with the same id.

        Carries an Idempotency-Key, a new one unless given.
        """
        return self._post_once(f"{_place(firing_id)}:replay", None, idempotency_key).counts(
            Replay, "replayed"
        )

    def fire_timer(self, which: Which, *, idempotency_key: str | None = None) -> Firing:
        """Have a timer fire now, whatever its schedule; return the new firing.

        Carries an Idempotency-Key, a new one unless given: sent again after no answer, it does not fire twice.
        """
        return self._post_once(f"{self._path(which)}:fire", None, idempotency_key).typed(Firing, "id")

    def replay_firings(
        self,
        *,
        spread: Spread | None = None,
        idempotency_key: str | None = None,
        **wanted: Unpack[Replayed],
    ) -> Replay:
        """Attempt firings once more: those of `ids`, or up to 10,000 that failed or were skipped `since`.

        `remaining` says how many are left to do; `replay_in_rounds` goes on. Carries an Idempotency-Key, a new one
        unless given: sent again after no answer, it replays no others.
        """
        return self._replay(given({**_named(wanted), **(spread or {})}), idempotency_key)

    def replay_in_rounds(
        self, *, spread: Spread | None = None, **wanted: Unpack[Replayed]
    ) -> Iterator[Replay]:
        """Replay all that match, yielding what each round did, until none remains or a round gets no further.

        What fails anew meanwhile is not replayed again: not more than matched at first. Each round carries an
        Idempotency-Key of its own.
        """
        body = given({**_named(wanted), **(spread or {})})
        matched: int | None = None
        replayed, left = 0, 1
        while left and (matched is None or replayed < matched):
            done = self._replay(body, None)
            yield done
            if not done["replayed"]:
                return
            body |= given({"startAt": done["lastDueAt"]})
            matched = done["matched"] if matched is None else matched
            replayed, left = replayed + done["replayed"], done["remaining"]

    def backfill_timer(
        self,
        which: Which,
        *,
        since: Moment,
        until: Moment,
        idempotency_key: str | None = None,
        **spread: Unpack[Spread],
    ) -> Backfill:
        """Make the firings of a timer's past moments for which there is none, up to 10,000.

        Where some remain, `nextSince` and `lastDueAt` begin the next round; `backfill_in_rounds` goes on. Carries an
        Idempotency-Key, a new one unless given.
        """
        body = given({"since": since, "until": until, **spread})
        post = self._post if body.get("dryRun") else self._post_once
        answer = post(f"{self._path(which)}:backfill", body, idempotency_key)
        return answer.counts(Backfill, "planned", "nextSince")

    def backfill_in_rounds(
        self, which: Which, *, since: Moment, until: Moment, **spread: Unpack[Spread]
    ) -> Iterator[Backfill]:
        """Backfill all of a range, yielding what each round did."""
        while True:
            done = self.backfill_timer(which, since=since, until=until, **spread)
            yield done
            following = done["nextSince"]
            if following is None or following == since:
                return
            since = following
            if done["lastDueAt"] is not None:
                spread["startAt"] = done["lastDueAt"]

    def _replay(self, body: Mapping[str, Any], idempotency_key: str | None) -> Replay:
        post = self._post if body.get("dryRun") else self._post_once
        return post(f"{FIRINGS}:replay", body, idempotency_key).counts(Replay, "replayed", "remaining")


def _place(firing_id: str) -> str:
    return f"{FIRINGS}/{quote(firing_id, safe='')}"


def _named(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return conditions with their timer as v1 names it."""
    timer = wanted.get("timer")
    return {**wanted} if timer is None else {**wanted, "timer": name_of(timer)}
