"""The operations on firings: lists, one firing, and what an operator does to them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack, cast

from wangtimer.client.calls import TASK, Calls, all_rows
from wangtimer.client.fields import FiringFilter, FiringKey, given, written
from wangtimer.client.firing_types import (
    Backfill,
    CancelledFiring,
    Counts,
    Firing,
    FiringDetail,
    FiringsPage,
    Replay,
)
from wangtimer.client.transport import Call
from wangtimer.client.value_types import Moment


class FiringCalls(Calls):
    """Look at firings, and have them made. Each method raises `ClientError`."""

    def firings(self, *, most: int | None = None, **wanted: Unpack[FiringFilter]) -> Iterator[Firing]:
        """Yield the app's firings, latest first, `most` of them or all, asking for page after page."""
        return all_rows(lambda limit, cursor: self.list_firings(limit=limit, cursor=cursor, **wanted), most)

    def list_firings(
        self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[FiringFilter]
    ) -> FiringsPage:
        """Return one page; `cursor` is the `nextCursor` of the page before. `firings` asks for all of them."""
        page: FiringsPage = self._get(
            f"{TASK}/firings", given({"limit": limit, "cursor": cursor, **wanted})
        ).page()
        return page

    def list_records(
        self,
        id: int,
        *,
        pending: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
        page_index: int | None = None,
        page_size: int | None = None,
    ) -> FiringsPage:
        """Return one page of a timer's firings, latest first; those still to come only with `pending`."""
        query = given({"id": id, "pending": pending, "limit": limit, "cursor": cursor})
        query |= given({"page_index": page_index, "page_size": page_size})
        page: FiringsPage = self._get(f"{TASK}/records", query).page()
        return page

    def export_firings(
        self, *, format: Literal["csv", "jsonl"] = "jsonl", **wanted: Unpack[FiringFilter]
    ) -> Iterator[bytes]:
        """Yield the app's firings as text in UTF-8, in pieces of any length."""
        query = self._with_app(given({"format": format, **wanted}))
        return self._transport.stream(Call("GET", f"{TASK}/export", query=query))

    def get_firing(self, id: int, fire_at: Moment) -> FiringDetail:
        """Return a firing with its attempts."""
        found = self._get(f"{TASK}/firing", written({"id": id, "fire_at": fire_at}))
        return found.data(FiringDetail)

    def count_firings(self, **wanted: Unpack[FiringFilter]) -> Counts:
        """Return how many firings have each outcome."""
        return self._get(f"{TASK}/counts", given(wanted)).data(Counts)

    def fire_now(self, id: int | None = None, *, name: str | None = None) -> Firing:
        """Have the timer of this id, or of this name, fire now, whatever its schedule; return the new firing.

        Not sent again after no answer: it might fire twice.
        """
        body = given({"id": id, "name": name})
        return self._send("POST", f"{TASK}/fire", body, bears_repeating=False).data(Firing)

    def cancel_firing(self, id: int, fire_at: Moment) -> CancelledFiring:
        """Have a firing that is still to come be skipped."""
        body = written({"id": id, "fire_at": fire_at})
        answer = self._send("POST", f"{TASK}/cancel", body)
        return cast(CancelledFiring, {**answer.data(Firing), **answer.how_soon()})

    def replay_firings(
        self,
        firings: Sequence[FiringKey] = (),
        *,
        id: int | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        statuses: Sequence[Literal["failed", "skipped"]] = (),
        per_second: int | None = None,
        start_at: Moment | None = None,
        dry_run: bool = False,
    ) -> Replay:
        """Make firings again, `per_second` of them: these, or up to 10,000 that failed or were skipped `since`.

        `dry_run` only counts them. `remaining` says how many are left to do; `replay_in_rounds` goes on. Those `since`
        a moment are not sent again after no answer: it might replay as many others.
        """
        body = given(
            {"id": id, "since": since, "until": until, "per_second": per_second, "start_at": start_at}
        )
        if firings:
            body["firings"] = [written(cast(dict[str, Any], key)) for key in firings]
        if statuses:
            body["statuses"] = list(statuses)
        return self._replay(body | {"dryRun": dry_run}, bears_repeating=bool(firings) or dry_run)

    def replay_in_rounds(
        self,
        *,
        since: Moment,
        id: int | None = None,
        until: Moment | None = None,
        statuses: Sequence[Literal["failed", "skipped"]] = (),
        per_second: int | None = None,
    ) -> Iterator[Replay]:
        """Replay all that match, yielding what each round did, until none remains or a round gets no further.

        What fails anew meanwhile is not replayed again: not more than matched at first. A round is sent again after no
        answer, since all are to be replayed.
        """
        wanted = given({"id": id, "since": since, "until": until, "per_second": per_second})
        if statuses:
            wanted["statuses"] = list(statuses)
        matched: int | None = None
        replayed, left = 0, 1
        start_at: int | None = None
        while left and (matched is None or replayed < matched):
            done = self._replay(
                wanted | given({"start_at": start_at}) | {"dryRun": False}, bears_repeating=True
            )
            yield done
            if not done["replayed"]:
                return
            start_at = done["lastDueAtMs"]
            matched = done["matched"] if matched is None else matched
            replayed, left = replayed + done["replayed"], done["remaining"]

    def backfill_firings(
        self,
        id: int,
        *,
        since: Moment,
        until: Moment,
        per_second: int | None = None,
        start_at: Moment | None = None,
        dry_run: bool = False,
    ) -> Backfill:
        """Make the firings of past moments for which there is none, up to 10,000, `per_second` of them.

        Where some remain, `nextSince` and `lastDueAtMs` begin the next round; `backfill_in_rounds` goes on.
        """
        body = given({"id": id, "since": since, "until": until, "dry_run": dry_run})
        body |= given({"per_second": per_second, "start_at": start_at})
        return self._send("POST", f"{TASK}/backfill", body).counts(Backfill)

    def backfill_in_rounds(
        self, id: int, *, since: Moment, until: Moment, per_second: int | None = None
    ) -> Iterator[Backfill]:
        """Backfill all of a span, yielding what each round did."""
        start_at: int | None = None
        while True:
            done = self.backfill_firings(
                id, since=since, until=until, per_second=per_second, start_at=start_at
            )
            yield done
            following = done["nextSince"]
            if following is None or following == since:
                return
            since, start_at = following, done["lastDueAtMs"] or start_at

    def _replay(self, body: Mapping[str, Any], bears_repeating: bool) -> Replay:
        return self._send("POST", f"{TASK}/replay", body, bears_repeating).counts(Replay)
