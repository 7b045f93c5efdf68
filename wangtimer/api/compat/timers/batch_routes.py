"""Many timers in one request: created together."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from flask_openapi.blueprint import APIBlueprint
from pydantic import Field, SkipValidation

from wangtimer.api.asked.asked_timer import new_timer
from wangtimer.api.asked.named_calendar import find_calendar
from wangtimer.api.asked.new_timers import (
    MOST_BATCH_BYTES,
    MOST_TIMERS,
    ToMake,
    make_each,
    once_each,
    read_each,
)
from wangtimer.api.asked.terms import TimerTerms
from wangtimer.api.compat.answers import WarningData
from wangtimer.api.compat.timers.previews import shown_warnings
from wangtimer.api.http.documented import documented
from wangtimer.api.http.envelope import Answer, Sent, is_none
from wangtimer.api.http.failures import told
from wangtimer.api.http.field_types import App, Given
from wangtimer.api.http.kept_answer import refusing_key
from wangtimer.api.http.own_callbacks import refusing_callbacks
from wangtimer.api.http.reading import MOST_BODY, read_model, taking_body
from wangtimer.batches import Made
from wangtimer.core.kinds.kinds import kind_of
from wangtimer.core.schedules.schedule import rule_of
from wangtimer.core.timers.timer import Timer
from wangtimer.wiring import Wiring


class CreateTimers(Given):
    """New timers, each read on its own."""

    app: App
    timers: Annotated[
        list[Annotated[TimerTerms, SkipValidation]],
        Field(min_length=1, max_length=MOST_TIMERS, description=f"each at most {MOST_BODY}"),
    ]
    enable: Annotated[bool, Field(description="enable those that are created")] = False


class MadeTimer(Sent):
    """What became of one timer of the request."""

    index: Annotated[int, Field(description="its place in the request, from 0")]
    code: Annotated[
        int, Field(description="0: done; else the error it would get in a request of its own")
    ] = 0
    msg: str = ""
    field: str = ""
    id: int | None = None
    created: bool
    existing_id: Annotated[
        int | None,
        Field(exclude_if=is_none, description="with 40901: the id of the timer that has the name"),
    ] = None
    warnings: Annotated[
        list[WarningData] | None,
        Field(
            exclude_if=is_none,
            description="what may surprise about the text of its cron: quartzWeekday, longStep, unevenStep. A preview "
            "tells more",
        ),
    ] = None


class CreatedAnswer(Answer):
    """What became of each timer, in the order of the request."""

    data: list[MadeTimer]
    created: int
    failed: int


@dataclass(frozen=True, slots=True)
class BatchViews:
    """The operations on many timers."""

    wiring: Callable[[], Wiring]

    def create(self, body: CreateTimers) -> CreatedAnswer:
        """Create many timers.

        Each is accepted or refused on its own. They stay disabled unless `enable` is true.
        """
        wiring = self.wiring()
        now = int(wiring.clock.now_ms())
        find = once_each(partial(find_calendar, wiring.calendars, body.app))

        def read(given: object) -> ToMake:
            return ToMake(new_timer(body.app, read_model(TimerTerms, given), now, find), body.enable)

        results = make_each(wiring.batches, body.app, read_each(body.timers, read), stay_disabled=True)
        data = [_shown(index, one) for index, one in enumerate(results)]
        return CreatedAnswer(
            data=data,
            created=sum(one.created for one in data),
            failed=sum(one.code != 0 for one in data),
        )


def add_batch_routes(routes: APIBlueprint, wiring: Callable[[], Wiring]) -> None:
    """Add the routes of many timers. All routes of one path must be in one blueprint."""
    views = BatchViews(wiring)
    create = refusing_callbacks(refusing_key(taking_body(views.create, MOST_BATCH_BYTES)))
    routes.post("/defs", **documented(views.create, "createTimers", 409))(create)


def _shown(index: int, made: Made) -> MadeTimer:
    timer_id = None if made.timer is None else made.timer.id
    created = made.timer is not None
    warnings = None if made.timer is None else _warnings(made.timer)
    if made.error is None:
        return MadeTimer(index=index, id=timer_id, created=created, warnings=warnings)
    error = told(made.error)
    return MadeTimer(
        index=index,
        code=error.code,
        msg=error.msg,
        field=error.field,
        id=timer_id,
        created=created,
        existing_id=None if error.data is None else error.data.existing_id,
        warnings=warnings,
    )


def _warnings(timer: Timer) -> list[WarningData] | None:
    """Return the warnings that take microseconds to find; None where there are none."""
    rule = rule_of(timer.definition.schedule)
    return shown_warnings(kind_of(rule).quick_warnings(rule)) or None
