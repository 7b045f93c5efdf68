"""The operations on one timer."""

from collections.abc import Mapping
from typing import Any, Unpack, cast
from uuid import uuid4

from wangtimer.client.calls import TIMER, Calls
from wangtimer.client.errors import Conflict, NotFound
from wangtimer.client.fields import Callback, ScheduleFields, TimerChanges, TimerFields, given, written
from wangtimer.client.own_work import stands_as_wanted, whole_call
from wangtimer.client.timer_types import (
    Deletion,
    EditedTimer,
    PlannedTimer,
    Preview,
    PutTimer,
    StoppedTimer,
    Timer,
)

DEF = f"{TIMER}/def"
_SCHEDULE = tuple(written(dict.fromkeys(ScheduleFields.__annotations__)))
# What a timer has after a put that does not say otherwise.
PUT_DEFAULTS: Mapping[str, Any] = written(
    {
        **dict.fromkeys(("start_at", "end_at", "max_firings", "jitter_ms", "exclude_calendar", "tags")),
        **dict.fromkeys(("retention_days", "delete_after_finish")),
        "timezone": "UTC",
        "misfire": "fire_all",
        "misfire_grace_ms": 60_000,
        "catchup_window_ms": 0,
    }
)
# And in one with a cron; a service of before there were dialects says none.
CRON_DEFAULTS: Mapping[str, Any] = {"cronDialect": "unix"}


class TimerCalls(Calls):
    """Make, read, change and delete a timer. Each method raises `ClientError`."""

    def create_timer(
        self,
        name: str,
        callback: Callback,
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[TimerFields],
    ) -> PlannedTimer:
        """Create a timer, disabled; exactly one of `cron`, `every_ms`, `at`, `delay_ms` says when.

        Carries an Idempotency-Key, a new one unless given, so that it is safe to send it again.
        """
        body = given({"name": name, "callback": callback, **fields})
        header = {"Idempotency-Key": idempotency_key or uuid4().hex}
        return self._send("POST", DEF, body, header=header).data(PlannedTimer)

    def put_timer(
        self, name: str, callback: Callback, *, version: int | None = None, **fields: Unpack[TimerFields]
    ) -> PutTimer:
        """Make the app's timer of this name be so, created disabled where there is none.

        What is not given gets its default. With `version`, `Conflict` where the timer is not at it any more. Not sent
        again after no answer with `delay_ms`: its moment would move.
        """
        body = given({"name": name, "callback": callback, "version": version, **fields})
        try:
            answer = self._send("PUT", DEF, body, bears_repeating="delayMs" not in body)
        except Conflict as error:
            found = self._get(f"{TIMER}/defs", {"name": name}).data(list[Timer]) if error.was_in_doubt else []
            defaults = {**PUT_DEFAULTS, **(CRON_DEFAULTS if "cron" in body else {})}
            done = self._own_work(
                found[0] if found else None, {**defaults, **body, "notifyHTTPParam": whole_call(callback)}
            )
            if done is None:
                raise
            return {"id": done["id"], "data": done, "created": False}
        put = {"id": answer["id"], "data": answer.data(PlannedTimer), "created": answer["created"]}
        return cast(PutTimer, {**put, **answer.how_soon()})

    def edit_timer(
        self, id: int, *, version: int | None = None, **changes: Unpack[TimerChanges]
    ) -> EditedTimer:
        """Change what is given, None takes a bound or the tags away; the rest stays, the call's parts too.

        With `version`, `Conflict` where somebody changed the timer since; only then is it sent again after no answer.
        """
        body: dict[str, Any] = {"id": id, **written(changes)}
        if version is not None:
            body["version"] = version
        try:
            answer = self._send("PATCH", DEF, body, bears_repeating=version is not None)
        except Conflict as error:
            done = self._own_work(self.get_timer(id), body) if error.was_in_doubt else None
            if done is None:
                raise
            return cast(EditedTimer, done)
        return cast(EditedTimer, {**answer.data(PlannedTimer), **answer.how_soon()})

    def get_timer(self, id: int) -> Timer:
        """Return a timer; `NotFound` where the app has none of this id."""
        return self._get(DEF, {"id": id}).data(Timer)

    def enable_timer(self, id: int | None = None, *, name: str | None = None) -> Timer:
        """Enable the timer of this id, or of this name; twice is the same as once."""
        return self._switch("enable", id, name)

    def disable_timer(self, id: int | None = None, *, name: str | None = None) -> StoppedTimer:
        """Disable the timer of this id, or of this name: a moment later than `countsWithinMs` no longer fires.

        `stopped` of the answer says what becomes of the next moment.
        """
        return self._stop("disable", id, name)

    def unable_timer(self, id: int | None = None, *, name: str | None = None) -> StoppedTimer:
        """Disable the timer of this id, or of this name, in xTimer's word."""
        return self._stop("unable", id, name)

    def delete_timer(self, id: int | None = None, *, name: str | None = None) -> Deletion:
        """Delete the timer of this id, or of this name; a moment later than `countsWithinMs` no longer fires.

        `stopped` of the answer says what becomes of the next moment; None too where an earlier try without an answer
        deleted it: see the records then.
        """
        try:
            answer = self._send("DELETE", DEF, given({"id": id, "name": name}))
        except NotFound as error:
            # An earlier try without an answer did it.
            if not error.was_in_doubt:
                raise
            return {"stopped": None}
        return cast(Deletion, {"stopped": answer.fields.get("stopped"), **answer.how_soon()})

    def preview_schedule(self, *, count: int = 10, **schedule: Unpack[ScheduleFields]) -> Preview:
        """Return what a schedule comes to; nothing is stored."""
        return self._send("POST", f"{TIMER}/preview", given({"count": count, **schedule})).data(Preview)

    def _switch(self, verb: str, id: int | None, name: str | None) -> Timer:
        return self._send("POST", f"{TIMER}/{verb}", given({"id": id, "name": name})).data(Timer)

    def _stop(self, verb: str, id: int | None, name: str | None) -> StoppedTimer:
        answer = self._send("POST", f"{TIMER}/{verb}", given({"id": id, "name": name}))
        # A service of the version before says nothing of it.
        stopped = {"stopped": answer.fields.get("stopped")}
        return cast(StoppedTimer, {**answer.data(Timer), **stopped, **answer.how_soon()})

    def _own_work(self, timer: Timer | None, body: Mapping[str, Any]) -> PlannedTimer | None:
        """Return a timer where it stands as the request of a lost answer left it; None where somebody changed it."""
        version = body.get("version")
        if timer is None or version is None or timer["version"] != version + 1:
            return None
        if not stands_as_wanted(timer, body):
            return None
        schedule = {name: timer[name] for name in _SCHEDULE if name in timer}  # type: ignore[literal-required]
        found = self._send("POST", f"{TIMER}/preview", schedule).data(Preview)
        return cast(PlannedTimer, {**timer, **found})
