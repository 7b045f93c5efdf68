"""Timers over HTTP: create, read, list, enable, disable, delete."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from flask import Response
from flask_openapi.blueprint import APIBlueprint

from wangtimer.api.asked.asked_schedule import FindCalendar, find_calendar
from wangtimer.api.asked.asked_timer import edited_timer, new_timer
from wangtimer.api.compat.answers import (
    CreateAnswer,
    DeleteAnswer,
    EditAnswer,
    StopAnswer,
    StoppedData,
    TimerAnswer,
    TimerData,
)
from wangtimer.api.compat.tags import TIMERS
from wangtimer.api.compat.timers.timer_data import planned_timer, stopped_data, timer_fields
from wangtimer.api.compat.timers.timer_models import (
    CreateTimer,
    EditTimer,
    TimerKey,
    TimerQuery,
)
from wangtimer.api.http.api_models import Answer
from wangtimer.api.http.kept_answer import CreateHeader, answer_once, asked_under
from wangtimer.api.http.serving import documented, refusing_callbacks, serving
from wangtimer.core.timers.timer import Timer
from wangtimer.core.timers.told import counts_within_ms
from wangtimer.registrar import Registrar
from wangtimer.store.sql.kept_answers import ToKeep
from wangtimer.wiring import Wiring


@dataclass(frozen=True, slots=True)
class TimerViews:
    """The operations on timers."""

    wiring: Callable[[], Wiring]

    def create(self, body: CreateTimer, header: CreateHeader) -> Answer | Response:
        """Create a timer.

        It stays disabled until it is enabled. The answer shows the next five moments.
        """
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())

        def create(keep: ToKeep | None = None) -> Timer:
            registrar: Registrar = wiring.registrar
            return registrar.create(new_timer(body.app, body.asked, now, self._calendars_of(body.app)), keep)

        def answer_of(timer: Timer) -> CreateAnswer:
            return CreateAnswer(id=timer.id, data=planned_timer(timer, now, body))

        if header.idempotency_key is None:
            return answer_of(create())
        asked = asked_under(body.app, header.idempotency_key, body)
        return answer_once(wiring.kept_answers, asked, now, create, answer_of, _as_json)

    def edit(self, body: EditTimer) -> EditAnswer:
        """Edit a timer.

        An enabled timer stays enabled: moments of the old schedule more than countsWithinMs away no longer fire, and
        those of the new one do, at once. A field that is absent stays. The answer shows the next five moments.
        """
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        find, seals = self._calendars_of(body.app), wiring.seals
        timer = wiring.registrar.edit(
            body.app, body.id, lambda was: edited_timer(body.asked, was, now, find, seals), body.version
        )
        return EditAnswer(
            data=planned_timer(timer, now, body), counts_within_ms=self._counts_within_ms(timer)
        )

    def enable(self, body: TimerKey) -> TimerAnswer:
        """Enable a timer, by its id or by its name.

        A one-shot up to a minute past fires at once; an older one is refused. Enabling twice changes nothing.
        """
        return self._answer(self.wiring().registrar.enable(body.app, body.id_in(self.wiring().timers)))

    def disable(self, body: TimerKey) -> StopAnswer:
        """Disable a timer, by its id or by its name.

        A moment more than countsWithinMs away no longer fires. Firings that were requested before (fire now, replay,
        backfill) and are not sent by then stop too. `stopped` says what becomes of the next moment. Disabling twice
        changes nothing.
        """
        timer = self.wiring().registrar.disable(body.app, body.id_in(self.wiring().timers))
        return StopAnswer(
            data=self._data(timer),
            stopped=self._stopped(timer),
            counts_within_ms=self._counts_within_ms(timer),
        )

    def delete(self, body: TimerKey) -> DeleteAnswer:
        """Delete a timer, by its id or by its name.

        A moment more than countsWithinMs away no longer fires; `stopped` says what becomes of the next one. The name is
        free again; the records stay.
        """
        timer = self.wiring().registrar.delete(body.app, body.id_in(self.wiring().timers), body.name)
        return DeleteAnswer(stopped=self._stopped(timer), counts_within_ms=self._counts_within_ms(timer))

    def get(self, query: TimerQuery) -> TimerAnswer:
        """Read a timer."""
        return self._answer(self.wiring().timers.get(query.app, query.id))

    def _stopped(self, timer: Timer) -> StoppedData | None:
        return stopped_data(self.wiring().stops.of([timer]).get(timer.id))

    def _calendars_of(self, app: str) -> FindCalendar:
        return partial(find_calendar, self.wiring().calendars, app)

    def _answer(self, timer: Timer) -> TimerAnswer:
        return TimerAnswer(data=self._data(timer))

    def _data(self, timer: Timer) -> TimerData:
        return TimerData.of(**timer_fields(timer, int(self.wiring().clock.now_ms())))

    def _counts_within_ms(self, timer: Timer) -> int:
        return counts_within_ms(timer.is_told, self.wiring().settings.lead_ms)


def timer_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of timers."""
    views = TimerViews(wiring)
    routes = APIBlueprint("timers", __name__, url_prefix="/api/timer/v1", abp_tags=[TIMERS])
    create, enable, disable = views.create, views.enable, views.disable
    routes.post("/def", **documented(create, "createTimer", 409, 422, answer=CreateAnswer))(
        refusing_callbacks(serving(create))
    )
    routes.patch("/def", **documented(views.edit, "editTimer", 404, 409))(
        refusing_callbacks(serving(views.edit))
    )
    routes.get("/def", **documented(views.get, "getTimer", 404))(serving(views.get))
    routes.delete("/def", **documented(views.delete, "deleteTimer", 404))(serving(views.delete))
    routes.post("/enable", **documented(enable, "enableTimer", 404, 409))(refusing_callbacks(serving(enable)))
    # xTimer's word for it.
    routes.post("/unable", **documented(disable, "unableTimer", 404))(serving(disable))
    return routes


def _as_json(answer: bytes) -> Response:
    return Response(answer, mimetype="application/json")
