"""The operations on many timers: list, make, change many at once, future load."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Unpack

from .answer import Page
from .calls import TIMERS, Calls, all_rows
from .filters import Action, ManyTimers, OneRound, Sort, TimerFilter
from .timer_fields import NewTimer
from .timer_types import (
    ListedTimer,
    Load,
    ManyTimersOutcome,
    MinuteOfAllApps,
    MinuteOfLoad,
    NewTimersOutcome,
)
from .values import given, written

MOST_A_ROUND = 1_000


class ManyTimerCalls(Calls):
    """List timers, make and change many. Each method raises `ClientError`."""

    def timers(
        self, *, sort: Sort = "id", most: int | None = None, **wanted: Unpack[TimerFilter]
    ) -> Iterator[ListedTimer]:
        """Yield the app's timers, all or at most `most`, page by page."""
        return all_rows(partial(self.list_timers, sort=sort, **wanted), most)

    def list_timers(
        self,
        *,
        sort: Sort = "id",
        limit: int | None = None,
        cursor: str | None = None,
        **wanted: Unpack[TimerFilter],
    ) -> Page[ListedTimer]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `timers` reads all pages."""
        query = {"sort": sort, "limit": limit, "cursor": cursor, **wanted}
        return self._get(TIMERS, query).page(ListedTimer)

    def batch_create_timers(
        self, timers: Sequence[NewTimer], *, idempotency_key: str | None = None
    ) -> NewTimersOutcome:
        """Make up to 1,000 timers, and return the result of each. A failed one does not stop the others.

        The request has an Idempotency-Key: the given one, or a new one.
        """
        body = {"timers": [given(timer) for timer in timers]}
        answer = self._post_once(f"{TIMERS}:batchCreate", body, idempotency_key)
        return answer.typed(NewTimersOutcome, "items")

    def batch_enable_timers(self, **asked: Unpack[OneRound]) -> ManyTimersOutcome:
        """Enable up to `limit` timers: those of `keys`, `ids` or a `filter`, or `all`.

        `dry_run` only counts them. `remaining` says how many are left. The next round skips failed timers if its
        `after_id` is the `lastId` of this one, as in `change_timers_in_rounds`. The request has an Idempotency-Key: the
        given one, or a new one. So a retry after a lost answer changes no further timers, unless the service failed in
        the middle of the request.
        """
        return self._change_some("enable", **asked)

    def batch_disable_timers(self, **asked: Unpack[OneRound]) -> ManyTimersOutcome:
        """Disable up to `limit` timers, named and counted as by `batch_enable_timers`."""
        return self._change_some("disable", **asked)

    def batch_delete_timers(self, **asked: Unpack[OneRound]) -> ManyTimersOutcome:
        """Delete up to `limit` timers, named and counted as by `batch_enable_timers`."""
        return self._change_some("delete", **asked)

    def change_timers_in_rounds(
        self, action: Action, *, dry_run: bool = False, **which: Unpack[ManyTimers]
    ) -> Iterator[ManyTimersOutcome]:
        """Change all timers that match; yield the result of each round. `dry_run` only counts them.

        Each round has its own Idempotency-Key.
        """
        named = "ids" if "ids" in which else "keys"
        listed = list(which.get(named, ()))  # type: ignore[call-overload]
        for start in range(0, max(1, len(listed)), MOST_A_ROUND):
            piece: Any = {named: listed[start : start + MOST_A_ROUND]} if listed else {}
            still_to_come = max(0, len(listed) - start - MOST_A_ROUND)
            yield from self._rounds(action, {**which, **piece}, dry_run, still_to_come)

    def _rounds(
        self, action: Action, which: ManyTimers, dry_run: bool, still_to_come: int
    ) -> Iterator[ManyTimersOutcome]:
        after_id: int | None = None
        while True:
            done = self._change_some(action, dry_run=dry_run, limit=MOST_A_ROUND, after_id=after_id, **which)
            yield done if dry_run else {**done, "remaining": done["remaining"] + still_to_come}
            after_id = done["lastId"]
            if dry_run or not done["remaining"] or after_id is None:
                return

    def _change_some(
        self,
        action: Action,
        *,
        dry_run: bool = False,
        limit: int = MOST_A_ROUND,
        after_id: int | None = None,
        idempotency_key: str | None = None,
        **which: Unpack[ManyTimers],
    ) -> ManyTimersOutcome:
        body = {**written(which), "dryRun": dry_run, "limit": limit, **given({"afterId": after_id})}
        answer = self._post_once(f"{TIMERS}:batch{action.capitalize()}", body, idempotency_key, dry_run)
        return answer.counts(ManyTimersOutcome, "matched", "remaining")

    def get_load(self, *, minutes: int | None = None) -> Load[MinuteOfLoad]:
        """Return how many of the app's firings are planned in each future minute."""
        return self._get("/v1/load", {"minutes": minutes}).typed(Load[MinuteOfLoad], "items")

    def get_load_of_all_apps(self, *, minutes: int | None = None) -> Load[MinuteOfAllApps]:
        """Return how many firings each of the coming minutes has, in all and by app."""
        answer = self._get("/v1/load:allApps", {"minutes": minutes}, names_app=False)
        return answer.typed(Load[MinuteOfAllApps], "items", "firings")
