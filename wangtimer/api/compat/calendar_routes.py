"""Calendars over HTTP: the days on which an app's timers do not fire."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from flask_openapi.blueprint import APIBlueprint
from pydantic import BeforeValidator, Field

from wangtimer.api.asked.calendars import (
    CalendarName,
    Calendars,
    Days,
    FollowedCalendar,
    WorkingDays,
    calendar_fields,
    following_fields,
)
from wangtimer.api.compat.answers import CalendarAnswer, CalendarData, CalendarsAnswer, FollowingData
from wangtimer.api.compat.tags import CALENDARS
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.documented import documented
from wangtimer.api.http.envelope import Answer
from wangtimer.api.http.field_types import App, Given
from wangtimer.api.http.own_callbacks import refusing_callbacks
from wangtimer.api.http.reading import taking_body, taking_query
from wangtimer.api.http.refusals import Refused
from wangtimer.wiring import Wiring

_Weekday = Annotated[int, Field(ge=1, le=7)]


def _from_monday(given: Any) -> Any:
    """Return weekdays; raises `Refused` for a number that is not a weekday. The type check refuses the rest."""
    for index, day in enumerate(given if isinstance(given, list) else []):
        if isinstance(day, int) and not isinstance(day, bool) and not 1 <= day <= 7:
            mend = "write 1 (Monday) to 7 (Sunday)"
            raise Refused(ErrorCode.BAD_VALUE, f"weekdays.{index}", f"it is {str(day)[:30]}", mend)
    return given


class CalendarUpload(Given):
    """Days on which nothing fires."""

    app: App
    name: CalendarName
    weekdays: Annotated[
        list[_Weekday],
        Field(
            default_factory=list,
            max_length=6,
            fail_fast=True,
            description="1 Monday to 7 Sunday",
            examples=[[6, 7]],
        ),
        BeforeValidator(_from_monday),
    ]
    days: Days
    working: WorkingDays


class CalendarKey(Given):
    """Which calendar."""

    app: App
    name: CalendarName


class CalendarsQuery(Given):
    """Whose calendars."""

    app: App


@dataclass(frozen=True, slots=True)
class CalendarViews:
    """The operations on calendars."""

    wiring: Callable[[], Wiring]

    def put(self, body: CalendarUpload) -> CalendarAnswer:
        """Upload a calendar.

        It replaces the app's calendar of this name. An app has 100 calendars at most (409).
        The timers that name it get the new days within seconds of this answer. `edited` counts these timers, and
        `following` of a later read says how many are left.
        """
        calendar, progress = self._of(body.app).put(
            body.name, (day - 1 for day in body.weekdays), body.days, body.working
        )
        return CalendarAnswer(data=_data(FollowedCalendar(calendar, progress)), edited=progress.left)

    def get(self, query: CalendarKey) -> CalendarAnswer:
        """Read a calendar, and how many timers use its latest days."""
        return CalendarAnswer(data=_data(self._of(query.app).get(query.name)))

    def page(self, query: CalendarsQuery) -> CalendarsAnswer:
        """List the calendars that an app can name."""
        return CalendarsAnswer(data=[_data(one) for one in self._of(query.app).all()])

    def delete(self, body: CalendarKey) -> Answer:
        """Delete a calendar that no timer names."""
        self._of(body.app).delete(body.name, "edit them, excludeCalendar: null, and delete it then")
        return Answer()

    def _of(self, app: str) -> Calendars:
        return Calendars(self.wiring(), app, "GET /api/timer/v1/calendars")


def calendar_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of calendars."""
    views = CalendarViews(wiring)
    routes = APIBlueprint("calendars", __name__, url_prefix="/api/timer/v1", abp_tags=[CALENDARS])
    routes.put("/calendar", **documented(views.put, "putCalendar", 409))(
        refusing_callbacks(taking_body(views.put))
    )
    routes.get("/calendar", **documented(views.get, "getCalendar", 404))(taking_query(views.get))
    routes.get("/calendars", **documented(views.page, "listCalendars"))(taking_query(views.page))
    routes.delete("/calendar", **documented(views.delete, "deleteCalendar", 404, 409))(
        taking_body(views.delete)
    )
    return routes


def _data(found: FollowedCalendar) -> CalendarData:
    return CalendarData(
        **calendar_fields(found.calendar),
        weekdays=sorted(day + 1 for day in found.calendar.weekdays),
        following=None if found.progress is None else FollowingData(**following_fields(found.progress)),
    )
