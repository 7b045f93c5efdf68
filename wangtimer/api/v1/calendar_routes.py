"""Calendars over v1: the days on which an app's timers do not fire."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given
from wangtimer.api.v1.calendars import CalendarName, Calendars, Days, FollowedCalendar, WorkingDays
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.shown import ListPage, PageQuery
from wangtimer.core.errors import Subject
from wangtimer.core.schedules.calendars import built_in

# Monday first, as ISO 8601 counts them.
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)

ONE = "/calendars/<string:name>"


class CalendarPath(Given):
    """Which calendar."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.CALENDAR: "name"}

    name: CalendarName


class CalendarBody(Given):
    """Days on which nothing fires."""

    weekdays: Annotated[
        list[Weekday],
        Field(
            default_factory=list,
            max_length=6,
            fail_fast=True,
            description="days of the week",
            examples=[["saturday", "sunday"]],
        ),
    ]
    days: Days
    working: WorkingDays


class ShownFollowing(Sent):
    """How many of the app's timers that name a calendar use its latest days."""

    followers: Annotated[int, Field(description="timers that name it")]
    left: Annotated[
        int, Field(description="timers that do not use its latest days yet; usually they do within seconds")
    ]
    refused: Annotated[
        int,
        Field(
            description="timers that keep older days: moments with these could not be worked out, or the app's "
            "`timerBytes` have no room for these"
        ),
    ]
    refused_ids: Annotated[list[int], Field(description="the first ten of the refused timers")]


class ShownCalendar(Sent):
    """Days on which nothing fires: `weekdays` and `days`, except those in `working`."""

    name: str
    weekdays: Annotated[list[Weekday], Field(examples=[["saturday", "sunday"]])]
    days: list[str]
    working: list[str]
    first_year: Annotated[int | None, Field(description="the first year whose days are known")]
    last_year: Annotated[int | None, Field(description="after this year only the weekdays count")]
    is_built_in: bool
    following: Annotated[
        ShownFollowing | None,
        Field(description="how many timers use its latest days; null in a list, and for a built-in calendar"),
    ]


class CalendarPage(ListPage):
    """A page of the calendars that an app can name."""

    items: list[ShownCalendar]


class CalendarResource(Resource):
    """The operations on calendars."""

    @Route("get", "/calendars", "listCalendars")
    def page(self, header: AppHeader, query: PageQuery) -> CalendarPage:
        """List calendars.

        The built-in calendars come first, then the app's own, by name.
        """
        listed = cursors.of_list(f"v1 {header.app} calendars", query)
        found = [(one.calendar.name not in built_in(), one) for one in self._of(header).all()]
        found.sort(key=lambda one: (one[0], one[1].calendar.name))
        if query.cursor is not None:
            name, is_own = cursors.read(listed, query.cursor, str)
            found = [one for one in found if (one[0], one[1].calendar.name) > (is_own, name)]
        cursor = None
        if len(found) > query.limit:
            last_is_own, last = found[query.limit - 1]
            cursor = cursors.write(listed, last.calendar.name, int(last_is_own))
        rows = [one for _, one in found[: query.limit]]
        items = cursors.shown_each(rows, attrgetter("calendar.name"), _shown)
        return CalendarPage(items=items, next_cursor=cursor)

    @Route("get", ONE, "getCalendar", (404,))
    def get(self, path: CalendarPath, header: AppHeader) -> ShownCalendar:
        """Read a calendar, and how many timers use its latest days."""
        return _shown(self._of(header).get(path.name))

    @Route("put", ONE, "putCalendar", (409,))
    def put(self, path: CalendarPath, header: AppHeader, body: CalendarBody) -> ShownCalendar:
        """Upload a calendar.

        It replaces the app's calendar of this name. An app has 100 calendars at most (409), and its timers have room
        for the new days (403, see `timerBytes`). The timers that name it get them within seconds of this answer;
        `following.left` counts those that do not have them yet.
        """
        weekdays = (WEEKDAYS.index(word) for word in body.weekdays)
        return _shown(FollowedCalendar(*self._of(header).put(path.name, weekdays, body.days, body.working)))

    @Route("delete", ONE, "deleteCalendar", (404, 409))
    def delete(self, path: CalendarPath, header: AppHeader) -> None:
        """Delete a calendar that no timer names."""
        self._of(header).delete(path.name)

    def _of(self, header: AppHeader) -> Calendars:
        return Calendars(self.wiring(), header.app)


def _shown(found: FollowedCalendar) -> ShownCalendar:
    calendar = found.calendar
    return ShownCalendar.of(
        calendar,
        weekdays=[WEEKDAYS[day] for day in sorted(calendar.weekdays)],
        days=sorted(day.isoformat() for day in calendar.days),
        working=sorted(day.isoformat() for day in calendar.working),
        is_built_in=calendar.name in built_in(),
        following=found.progress,
    )
