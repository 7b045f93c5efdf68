"""The operations on timers, one or many, on a schedule, and on future load."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Unpack, cast

from .calls import TIMERS, Calls, Which, all_rows, key_in, keyed
from .errors import NotFound
from .filters import Action, ManyTimers, OneRound, Sort, TimerFilter
from .own_work import put_whole
from .timer_fields import NewTimer, Schedule, TimerBody, TimerPatch
from .timer_types import (
    ChangedTimer,
    Deletion,
    ListedTimer,
    Load,
    ManyTimersOutcome,
    MinuteOfAllApps,
    MinuteOfLoad,
    NewTimersOutcome,
    Preview,
    PutTimer,
    SwitchedOffTimer,
)
from .transport import Answer, Call, Page
from .values import given, written

MOST_A_ROUND = 1_000


class TimerCalls(Calls):
    """Make, list, read, change and delete timers. Each method raises `ClientError`."""

    def create_timer(self, *, idempotency_key: str | None = None, **timer: Unpack[NewTimer]) -> ChangedTimer:
        """Make a timer, enabled unless `enabled` is False, in one commit; under this Idempotency-Key, or a new one."""
        return self._post_once(TIMERS, given(timer), idempotency_key).typed(ChangedTimer, "id")

    def put_timer(self, which: Which, *, version: int | None = None, **timer: Unpack[TimerBody]) -> PutTimer:
        """Replace a timer; with `key:` it is made where there is none.

        A field that is absent gets its default. With `version`: raises `PreconditionFailed` where the timer is at
        another version. With `delay` it is not sent again after a lost answer: its moment would move.
        """
        body = given(timer)
        bears_repeating = "delay" not in given(timer["schedule"])
        try:
            place = self._path(which)
        except NotFound:
            # A path cannot hold a key with a slash, and no timer has this one yet.
            if version is not None:
                raise
            made = self.create_timer(**cast(NewTimer, {**timer, "key": key_in(which)}))
            return cast(PutTimer, {**made, "created": True})
        call = Call("PUT", place, body=body, bears_repeating=bears_repeating)
        answer = self._change(place, call, version, put_whole(body))
        put = {**answer.typed(ChangedTimer, "id"), "created": answer.status == 201}
        return cast(PutTimer, put)

    def patch_timer(
        self, which: Which, *, version: int | None = None, **changes: Unpack[TimerPatch]
    ) -> ChangedTimer:
        """Change the given fields in one commit. Other fields stay, also those of the target. None removes a field.

        With `version`: raises `PreconditionFailed` where the timer has changed since. Only with `version` is it sent
        again after a lost answer.
        """
        body, place = written(changes), self._path(which)
        call = Call("PATCH", place, body=body, bears_repeating=version is not None)
        return self._change(place, call, version, body).typed(ChangedTimer, "id")

    def get_timer(self, which: Which) -> ListedTimer:
        """Return a timer with its last outcome; raises `NotFound` where the app has none with this id or key."""
        return self._get(self._path(which)).typed(ListedTimer, "id")

    def enable_timer(
        self, which: Which, *, version: int | None = None, idempotency_key: str | None = None
    ) -> ChangedTimer:
        """Enable a timer. A repeat changes nothing."""
        return self._switch(which, True, version, idempotency_key).typed(ChangedTimer, "id")

    def disable_timer(
        self, which: Which, *, version: int | None = None, idempotency_key: str | None = None
    ) -> SwitchedOffTimer:
        """Disable a timer: moments over `countsWithin` away do not fire. `stopped` is what becomes of the next."""
        return self._switch(which, False, version, idempotency_key).typed(
            SwitchedOffTimer, "timer", "stopped"
        )

    def delete_timer(self, which: Which, *, version: int | None = None) -> Deletion:
        """Delete a timer: a moment more than `countsWithin` away no longer fires.

        `stopped` of the answer says what becomes of the next moment. It is also None where an earlier try, whose answer
        was lost, deleted the timer: see the firings then.
        """
        place = self._path(which)
        try:
            return self._change(place, Call("DELETE", place), version, None).typed(Deletion, "stopped")
        except NotFound as error:
            # An earlier try whose answer was lost deleted it.
            if not error.was_in_doubt:
                raise
            return {"timer": None, "stopped": None}

    def preview_schedule(self, *, count: int = 10, **schedule: Unpack[Schedule]) -> Preview:
        """Return the preview of a schedule; nothing is stored."""
        body = {"schedule": given(schedule), "count": count}
        return self._post_once("/v1/schedules:preview", body, is_trial=True).typed(Preview, "nextMoments")

    def _switch(
        self, which: Which, enabled: bool, version: int | None, idempotency_key: str | None
    ) -> Answer:
        place = self._path(which)
        verb = "enable" if enabled else "disable"
        call = Call("POST", f"{place}:{verb}", header=keyed(idempotency_key))
        return self._change(place, call, version, {"enabled": enabled})

    # many timers

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
        """Make up to 1,000 timers, whichever fail; return each result. Under this Idempotency-Key, or a new one."""
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
        """Change, or by `dry_run` only count, all timers that match; yield the result of each round.

        Each round has an Idempotency-Key of its own.
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
