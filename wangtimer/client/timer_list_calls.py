"""The operations on many timers: lists, changes of many at once, the load to come."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack, cast

from wangtimer.client.calls import TIMER, Calls, all_rows
from wangtimer.client.fields import Action, BulkFilter, NewTimer, Sort, TimerFilter, given, written
from wangtimer.client.timer_types import (
    ListedTimer,
    Load,
    MadeTimer,
    MadeTimers,
    MinuteLoad,
    TimersChange,
    TimersPage,
)
from wangtimer.client.transport import Call

MOST_A_ROUND = 1_000


class TimerListCalls(Calls):
    """List timers and change many. Each method raises `ClientError`."""

    def timers(
        self, *, sort: Sort = "id", most: int | None = None, **wanted: Unpack[TimerFilter]
    ) -> Iterator[ListedTimer]:
        """Yield the app's timers, `most` of them or all, asking for page after page."""
        return all_rows(
            lambda limit, cursor: self.list_timers(sort=sort, limit=limit, cursor=cursor, **wanted), most
        )

    def list_timers(
        self,
        *,
        sort: Sort = "id",
        limit: int | None = None,
        cursor: str | None = None,
        page_index: int | None = None,
        page_size: int | None = None,
        **wanted: Unpack[TimerFilter],
    ) -> TimersPage:
        """Return one page; `cursor` is the `nextCursor` of the page before. `timers` asks for all of them."""
        query = given({"sort": sort, "limit": limit, "cursor": cursor, **wanted})
        query |= given({"page_index": page_index, "page_size": page_size})
        page: TimersPage = self._get(f"{TIMER}/defs", query).page()
        return page

    def list_timers_by_name(self, name: str, *, page_index: int = 1, page_size: int = 10) -> TimersPage:
        """Return a numbered page of timers whose name contains a text, latest first, as xTimer has it."""
        query = written({"name": name, "page_index": page_index, "page_size": page_size})
        page: TimersPage = self._get(f"{TIMER}/defsByName", query).page()
        return page

    def create_timers(self, timers: Sequence[NewTimer], *, enable: bool = False) -> MadeTimers:
        """Create up to 1,000 timers, and say what became of each; one that fails stops no other."""
        body = {"timers": [given(timer) for timer in timers], "enable": enable}
        answer = self._send("POST", f"{TIMER}/defs", body, bears_repeating=False)
        return {
            "data": answer.data(list[MadeTimer]),
            "created": answer["created"],
            "failed": answer["failed"],
        }

    def change_timers(
        self,
        action: Action,
        *,
        wanted: BulkFilter | None = None,
        ids: Sequence[int] = (),
        all_timers: bool = False,
        dry_run: bool = False,
        limit: int = MOST_A_ROUND,
        after_id: int | None = None,
    ) -> TimersChange:
        """Enable, disable or delete up to `limit` timers: those `wanted`, or these `ids`, or `all_timers`.

        `dry_run` only counts them. `remaining` says how many are left to do; the next round passes by what failed with
        the `lastId` of this one as `after_id`, as `change_timers_in_rounds` does. Only `ids` and a dry run are sent
        again after no answer: anything else might change up to `limit` others.
        """
        which = _which(action, wanted, ids, all_timers) | {"dryRun": dry_run, "limit": limit}
        return self._change(which, after_id, bears_repeating=bool(ids) or dry_run)

    def change_timers_in_rounds(
        self,
        action: Action,
        *,
        wanted: BulkFilter | None = None,
        ids: Sequence[int] = (),
        all_timers: bool = False,
        dry_run: bool = False,
    ) -> Iterator[TimersChange]:
        """Change all that match, however many, yielding what each round did; `dry_run` only counts them.

        A round is sent again after no answer, since all are to be changed.
        """
        for start in range(0, max(1, len(ids)), MOST_A_ROUND):
            which = _which(action, wanted, ids[start : start + MOST_A_ROUND], all_timers)
            which |= {"dryRun": dry_run, "limit": MOST_A_ROUND}
            yield from self._rounds(which, still_to_come=max(0, len(ids) - start - MOST_A_ROUND))

    def _rounds(self, which: Mapping[str, Any], still_to_come: int) -> Iterator[TimersChange]:
        after_id: int | None = None
        while True:
            done = self._change(which, after_id, bears_repeating=True)
            yield done if which["dryRun"] else {**done, "remaining": done["remaining"] + still_to_come}
            after_id = done["lastId"]
            if which["dryRun"] or not done["remaining"] or after_id is None:
                return

    def _change(self, which: Mapping[str, Any], after_id: int | None, bears_repeating: bool) -> TimersChange:
        body = {**which, **given({"after_id": after_id})}
        answer = self._send("POST", f"{TIMER}/bulk", body, bears_repeating)
        return cast(TimersChange, {**answer.counts(TimersChange), **answer.how_soon()})

    def get_load(self, *, minutes: int | None = None, of_all_apps: bool = False) -> Load:
        """Return how many firings each of the coming minutes has, of this client's app or of all."""
        query = given({"minutes": minutes})
        query = query if of_all_apps else self._with_app(query)
        answer = self._transport.ask(Call("GET", f"{TIMER}/load", query=query))
        return {
            "data": answer.data(list[MinuteLoad]),
            "total": answer["total"],
            "plannedUntilMs": answer["plannedUntilMs"],
        }


def _which(action: Action, wanted: BulkFilter | None, ids: Sequence[int], all_timers: bool) -> dict[str, Any]:
    which: dict[str, Any] = {"action": action, "all": all_timers}
    if wanted:
        which["filter"] = written(wanted)
    if ids:
        which["ids"] = list(ids)
    return which
