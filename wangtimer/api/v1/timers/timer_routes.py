"""Timers over v1: make, read, change, replace, delete, enable, disable, fire."""

from dataclasses import replace
from functools import partial
from secrets import token_hex

from flask import Response

from wangtimer.api.http.kept_answers import kept_text
from wangtimer.api.http.serving import Reply, response_of
from wangtimer.api.timer_terms.schedule_reading import FindCalendar, find_calendar, schedule_of
from wangtimer.api.timer_terms.timer_reading import edited_timer, new_timer, replaced_timer
from wangtimer.api.v1.parameters import (
    ETAG,
    WHICH,
    ActingChangeHeader,
    ActingHeader,
    AppHeader,
    ChangeHeader,
    TimerPath,
    etag,
)
from wangtimer.api.v1.resource import MADE, MADE_OR_CHANGED, Resource, Route
from wangtimer.api.v1.timers.declared_fields import Schedule
from wangtimer.api.v1.timers.timer_answers import (
    ShownPreview,
    ShownTimer,
    ShownTimerChange,
    SwitchedOffTimer,
    changed_timer,
    preview,
    shown_stop,
    timer_fields,
)
from wangtimer.api.v1.timers.timer_list_routes import ListedTimer, listed_timer
from wangtimer.api.v1.timers.timer_models import (
    NewTimerBody,
    PreviewBody,
    TimerPatch,
    WholeTimerBody,
    refuse_task_elsewhere,
)
from wangtimer.core.kinds.clock_changes import warnings_of_moment
from wangtimer.core.timers.change_delay import counts_within_ms
from wangtimer.core.timers.timer import Timer
from wangtimer.core.words.warning import Warning
from wangtimer.store.sql.kept_answers import Asked, ToKeep
from wangtimer.timers.registrar import Registrar, refuse_past

ONE = f"/timers/{WHICH}"


class TimerResource(Resource):
    """The operations on one timer."""

    @Route("post", "/timers", "createTimer", statuses=MADE, headers=("Location", ETAG), keeps_its_answer=True)
    def create(self, header: ActingHeader, body: NewTimerBody) -> Reply[ShownTimerChange] | Response:
        """Make a timer.

        It is enabled in the same commit and fires from its next moment on, unless `enabled` is false. The answer shows
        the next five moments.
        """
        wiring, now = self.wiring(), self.now()
        terms = body.asked(body.key or token_hex(12))

        def create(keep: ToKeep | None = None) -> Timer:
            registrar: Registrar = wiring.registrar
            refuse_task_elsewhere(body.target, header.app, wiring.target_store.get)
            new = new_timer(header.app, terms, now, self._calendars_of(header.app))
            return registrar.create_enabled(new, keep) if body.enabled else registrar.create(new, keep)

        if header.idempotency_key is None:
            return self._made(create(), now, body.schedule)

        def create_once(asked: Asked) -> Response:
            keep = ToKeep(asked, lambda timer: kept_text(response_of(self._made(timer, now, body.schedule))))
            return response_of(self._made(create(keep), now, body.schedule))

        return self.once_with_it("create", create_once, header=header, body=body)

    @Route("get", ONE, "getTimer", (404,), headers=(ETAG,))
    def get(self, path: TimerPath, header: AppHeader) -> Reply[ListedTimer]:
        """Read a timer.

        The answer has its next moment and its last outcome.
        """
        wiring, now = self.wiring(), self.now()
        timer = wiring.timers.get(header.app, self._id_of(path, header))
        outcomes = wiring.firing_lists.last_outcomes([timer.id], now)
        return Reply(listed_timer(now, timer, outcomes), headers=_tagged(timer))

    @Route("put", ONE, "putTimer", (404, 409), statuses=MADE_OR_CHANGED, headers=(ETAG,))
    def put(self, path: TimerPath, header: ChangeHeader, body: WholeTimerBody) -> Reply[ShownTimerChange]:
        """Make a timer, or replace an existing one.

        With `key:` it is made where the app has no timer of this key (201). A repeat of the same request changes
        nothing, except that `delay` counts from each request.
        """
        now, find = self.now(), self._calendars_of(header.app)
        refuse_task_elsewhere(body.target, header.app, self.wiring().target_store.get)
        registrar: Registrar = self.wiring().registrar

        def change(was: Timer) -> Timer:
            return replaced_timer(body.asked(was.name), was, now, find, self.wiring().seals)

        if path.key is None:
            timer_id = self._id_of(path, header)
            timer = registrar.edit(header.app, timer_id, change, header.version, body.enabled)
            return self._changed(timer, now, body.schedule)
        terms = body.asked(path.key)
        timer, created = registrar.put(
            header.app,
            path.key,
            lambda: new_timer(header.app, terms, now, find),
            change,
            header.version,
            enabled=body.enabled,
            must_exist=header.if_match is not None,
        )
        return (self._made if created else self._changed)(timer, now, body.schedule)

    @Route("patch", ONE, "patchTimer", (404, 409), headers=(ETAG,))
    def patch(self, path: TimerPath, header: ChangeHeader, body: TimerPatch) -> Reply[ShownTimerChange]:
        """Change a timer.

        The body is a JSON merge patch (RFC 7396; `application/merge-patch+json` is taken too), applied in one commit.
        Moments of the old schedule more than `countsWithin` away no longer fire; those of the new one do.
        """
        now, find = self.now(), self._calendars_of(header.app)
        asked = body.asked()
        seals = self.wiring().seals
        timer = self.wiring().registrar.edit(
            header.app,
            self._id_of(path, header),
            lambda was: edited_timer(asked, was, now, find, seals),
            header.version,
            body.enabled,
        )
        return self._changed(timer, now, body.schedule)

    @Route("delete", ONE, "deleteTimer", (404,), headers=(ETAG,))
    def delete(self, path: TimerPath, header: ChangeHeader) -> Reply[SwitchedOffTimer]:
        """Delete a timer.

        Its key is free again; its firings stay on record. `stopped` says what becomes of the next moment.
        """
        wiring = self.wiring()
        timer_id = self._id_of(path, header)
        return self._off(wiring.registrar.delete(header.app, timer_id, path.key, header.version))

    @Route("post", f"{ONE}:enable", "enableTimer", (404,), headers=(ETAG,))
    def enable(self, path: TimerPath, header: ActingChangeHeader) -> Reply[ShownTimerChange]:
        """Enable a timer.

        A one-shot up to a minute past fires at once; an older one is refused. A repeat changes nothing.
        """
        timer = self.wiring().registrar.enable(header.app, self._id_of(path, header), header.version)
        return self._changed(timer, self.now())

    @Route("post", f"{ONE}:disable", "disableTimer", (404,), headers=(ETAG,), is_for_callbacks=True)
    def disable(self, path: TimerPath, header: ActingChangeHeader) -> Reply[SwitchedOffTimer]:
        """Disable a timer.

        Moments more than `countsWithin` away no longer fire. Firings that were requested before (fire, replay,
        backfill) stop too. `stopped` says what becomes of the next moment. A repeat changes nothing.
        """
        return self._off(
            self.wiring().registrar.disable(header.app, self._id_of(path, header), header.version)
        )

    @Route("post", "/schedules:preview", "previewSchedule", is_for_callbacks=True)
    def preview(self, header: AppHeader, body: PreviewBody) -> ShownPreview:
        """Preview a schedule.

        The answer has its next moments, the schedule in words, and warnings. Nothing is stored.
        """
        now = self.now()
        find = self._calendars_of(header.app)
        asked = schedule_of(body.schedule.whole(), now, find, must_fire=False)
        refuse_past(asked.schedule, now)
        schedule = replace(asked.ending, counted_from=now).applied_to(asked.schedule)
        return preview(schedule, now, body.count, _warnings_of(body.schedule))

    def _id_of(self, path: TimerPath, header: AppHeader) -> int:
        return path.id_in(header.app, self.wiring().timers)

    def _calendars_of(self, app: str) -> FindCalendar:
        return partial(find_calendar, self.wiring().calendars, app)

    def _plain(self, timer: Timer) -> ShownTimer:
        return ShownTimer.of(**timer_fields(timer, self.now()))

    def _shown(self, timer: Timer, now: int, asked: Schedule | None) -> ShownTimerChange:
        return changed_timer(timer, now, self._counts_within_ms(timer), _warnings_of(asked))

    def _made(self, timer: Timer, now: int, asked: Schedule) -> Reply[ShownTimerChange]:
        return Reply(self._shown(timer, now, asked), 201, _tagged(timer) | {"Location": _place(timer.id)})

    def _changed(self, timer: Timer, now: int, asked: Schedule | None = None) -> Reply[ShownTimerChange]:
        return Reply(self._shown(timer, now, asked), headers=_tagged(timer))

    def _off(self, timer: Timer) -> Reply[SwitchedOffTimer]:
        stopped = shown_stop(self.wiring().stops.of([timer]).get(timer.id))
        within_ms = self._counts_within_ms(timer)
        answer = SwitchedOffTimer.of(timer=self._plain(timer), stopped=stopped, counts_within=within_ms)
        return Reply(answer, headers=_tagged(timer))

    def _counts_within_ms(self, timer: Timer) -> int:
        return counts_within_ms(timer.is_told, self.wiring().settings.lead_ms)


def _tagged(timer: Timer) -> dict[str, str]:
    return {ETAG: etag(timer.definition.version)}


def _warnings_of(asked: Schedule | None) -> tuple[Warning, ...]:
    return () if asked is None else warnings_of_moment(vars(asked).get("at"), asked.timezone)


def _place(timer_id: int) -> str:
    return f"/v1/timers/{timer_id}"
