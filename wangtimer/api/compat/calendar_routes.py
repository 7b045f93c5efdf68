"""Calendars over HTTP: the days on which an app's timers do not fire."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from flask_openapi.blueprint import APIBlueprint
from pydantic import AfterValidator, BeforeValidator, Field

from wangtimer.api.compat.answers import CalendarAnswer, CalendarData, CalendarsAnswer, FollowingData
from wangtimer.api.compat.tags import CALENDARS
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.documented import documented
from wangtimer.api.http.envelope import Answer
from wangtimer.api.http.field_types import App, Given, plain
from wangtimer.api.http.own_callbacks import refusing_callbacks
from wangtimer.api.http.reading import taking_body, taking_query
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.store.sql.calendar_followers import Progress
from wangtimer.wiring import Wiring

MOST_DAYS = 4_000

_Name = Annotated[str, Field(min_length=1, max_length=64, examples=["plant-holidays"]), AfterValidator(plain)]
_Weekday = Annotated[int, Field(ge=1, le=7)]


def _from_monday(given: Any) -> Any:
    """Return weekdays; raises `Refused` for a number that is none. The rest is left to the type check."""
    for index, day in enumerate(given if isinstance(given, list) else []):
        if type(day) is int and not 1 <= day <= 7:
            mend = "write 1 (Monday) to 7 (Sunday)"
            raise Refused(ErrorCode.BAD_VALUE, f"weekdays.{index}", f"it is {str(day)[:30]}", mend)
    return given


class CalendarUpload(Given):
    """Days on which nothing fires."""

    app: App
    name: _Name
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
    days: Annotated[
        list[str],
        Field(
            default_factory=list,
            max_length=MOST_DAYS,
            fail_fast=True,
            description="further days",
            examples=[["2027-01-01"]],
        ),
    ]
    working: Annotated[
        list[str],
        Field(
            default_factory=list,
            max_length=MOST_DAYS,
            fail_fast=True,
            description="days on which timers fire all the same",
        ),
    ]


class CalendarKey(Given):
    """Which calendar."""

    app: App
    name: _Name


class CalendarsQuery(Given):
    """Whose calendars."""

    app: App


@dataclass(frozen=True, slots=True)
class CalendarViews:
    """The operations on calendars."""

    wiring: Callable[[], Wiring]

    def put(self, body: CalendarUpload) -> CalendarAnswer:
        """Upload a calendar.

        It takes the place of what the app has under this name; an app has 100 at most (409).
        The timers that name it, `edited` counts them, are then edited to follow it, within seconds of this answer;
        `following` of a later read tells how far they are.
        """
        wiring = self.wiring()
        if body.name in built_in():
            raise Refused(
                ErrorCode.BAD_VALUE, "name", f"{shown(body.name)} is always there", "choose another name"
            )
        calendar = Calendar(
            body.name,
            frozenset(day - 1 for day in body.weekdays),
            _days(body.days, "days"),
            _days(body.working, "working"),
        )
        wiring.calendars.put(body.app, calendar, int(wiring.clock.now_ms()))
        progress = wiring.calendar_followers.progress(body.app, body.name)
        if progress.left:
            wiring.broker.send_follow()
        return CalendarAnswer(data=_data(calendar, progress), edited=progress.left)

    def get(self, query: CalendarKey) -> CalendarAnswer:
        """Read a calendar, and how far timers follow it."""
        if query.name in built_in():
            return CalendarAnswer(data=_data(built_in()[query.name]))
        wiring = self.wiring()
        calendar = wiring.calendars.get(query.app, query.name)
        if calendar is None:
            raise _unknown(query.name)
        return CalendarAnswer(data=_data(calendar, wiring.calendar_followers.progress(query.app, query.name)))

    def page(self, query: CalendarsQuery) -> CalendarsAnswer:
        """List the calendars an app can name."""
        found = [*built_in().values(), *self.wiring().calendars.all_of(query.app)]
        return CalendarsAnswer(data=[_data(calendar) for calendar in found])

    def delete(self, body: CalendarKey) -> Answer:
        """Delete a calendar that no timer names."""
        calendars = self.wiring().calendars
        if users := calendars.timers_of(body.app, body.name):
            raise Refused(
                ErrorCode.WRONG_STATE,
                "name",
                f"{len(users)} timers name this calendar, the first is {users[0]}",
                "edit them, excludeCalendar: null, and delete it then",
            )
        if not calendars.remove(body.app, body.name):
            raise _unknown(body.name)
        return Answer()


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


def _unknown(name: str) -> Refused:
    return Refused(
        ErrorCode.UNKNOWN_CALENDAR,
        "name",
        f"the app has no calendar {shown(name)} of its own",
        "GET /api/timer/v1/calendars lists them",
    )


def _following(progress: Progress) -> FollowingData:
    return FollowingData(
        followers=progress.followers,
        left=progress.left,
        refused=progress.refused,
        refused_ids=list(progress.refused_ids),
    )


def _days(texts: list[str], field: str) -> frozenset[date]:
    return frozenset(_day(text, f"{field}.{index}") for index, text in enumerate(texts))


def _day(text: str, field: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Refused(
            ErrorCode.BAD_VALUE, field, f"{shown(text)} is no day", "write it as in 2027-01-01"
        ) from None


def _data(calendar: Calendar, progress: Progress | None = None) -> CalendarData:
    return CalendarData(
        name=calendar.name,
        weekdays=sorted(day + 1 for day in calendar.weekdays),
        days=sorted(day.isoformat() for day in calendar.days),
        working=sorted(day.isoformat() for day in calendar.working),
        first_year=calendar.first_year,
        last_year=calendar.last_year,
        is_built_in=calendar.name in built_in(),
        following=None if progress is None else _following(progress),
    )
