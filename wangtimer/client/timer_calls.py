"""The operations on one timer, and on a schedule."""

from typing import Unpack, cast

from .answer import Answer
from .calls import TIMERS, Calls, Which, key_in, keyed
from .errors import NotFound
from .own_work import put_whole
from .timer_fields import NewTimer, Schedule, TimerBody, TimerPatch
from .timer_types import ChangedTimer, Deletion, ListedTimer, Preview, PutTimer, SwitchedOffTimer
from .transport import Call
from .values import given, written


class TimerCalls(Calls):
    """Make, read, change and delete a timer. Each method raises `ClientError`."""

    def create_timer(self, *, idempotency_key: str | None = None, **timer: Unpack[NewTimer]) -> ChangedTimer:
        """Make a timer, enabled unless `enabled` is False, in one request and one commit.

        The request has an Idempotency-Key: the given one, or a new one. So it is safe to send it again.
        """
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
        """Disable a timer: a moment more than `countsWithin` away no longer fires.

        `stopped` of the answer says what becomes of the next moment.
        """
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
