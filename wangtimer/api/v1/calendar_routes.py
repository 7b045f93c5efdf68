"""Calendars over v1: the days on which an app's timers do not fire."""

from collections.abc import Iterable, Mapping
from datetime import date
from operator import attrgetter
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, Field

from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given, plain
from wangtimer.api.http.refusals import Refused, bad_value, shown
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.value_types import ListPage, PageQuery
from wangtimer.core.errors import Subject
from wangtimer.core.schedules.calendars import NAME_CHARACTERS, Calendar, built_in
from wangtimer.store.sql.calendar_followers import Progress

MOST_DAYS = 4_000


# Monday first, as ISO 8601 counts them.
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)

ONE = "/calendars/<string:name>"


class CalendarPath(Given):
    """Which calendar."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.CALENDAR: "name"}

    name: Annotated[
        str,
        Field(min_length=1, max_length=NAME_CHARACTERS, examples=["plant-holidays"]),
        AfterValidator(plain),
    ]
    """unique in the app"""


class CalendarBody(Given):
    """Days on which nothing fires."""

    weekdays: Annotated[
        list[Weekday],
        Field(default_factory=list, max_length=6, fail_fast=True, examples=[["saturday", "sunday"]]),
    ]
    """days of the week"""
    days: Annotated[
        list[str],
        Field(default_factory=list, max_length=MOST_DAYS, fail_fast=True, examples=[["2027-01-01"]]),
    ]
    """further days"""
    working: Annotated[
        list[str],
        Field(default_factory=list, max_length=MOST_DAYS, fail_fast=True, examples=[["2027-01-02"]]),
    ]
    """exceptions: days on which timers do fire"""


class ShownFollowing(Sent):
    """How many of the app's timers that name a calendar use its latest days."""

    followers: int
    """timers that name it"""
    left: int
    """timers that do not use its latest days yet; usually they do within seconds"""
    refused: int
    """timers that keep older days: moments with these could not be worked out, or the app's `timerBytes` have no room
    for these"""
    refused_ids: list[int]
    """the first ten of the refused timers"""


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
        calendars = (*built_in().values(), *self.wiring().calendars.all_of(header.app))
        found = sorted(calendars, key=_place)
        if query.cursor is not None:
            name, is_own = cursors.read(listed, query.cursor, str)
            found = [calendar for calendar in found if _place(calendar) > (is_own, name)]
        cursor = cursors.after(listed, found, query.limit, lambda last: (last.name, int(_place(last)[0])))
        items = cursors.shown_each(found[: query.limit], attrgetter("name"), _shown)
        return CalendarPage(items=items, next_cursor=cursor)

    @Route("get", ONE, "getCalendar", (404,))
    def get(self, path: CalendarPath, header: AppHeader) -> ShownCalendar:
        """Read a calendar, and how many timers use its latest days."""
        if path.name in built_in():
            return _shown(built_in()[path.name])
        calendar = self.wiring().calendars.get(header.app, path.name)
        if calendar is None:
            raise _unknown(path.name)
        return self._shown_with_followers(header, calendar)

    @Route("put", ONE, "putCalendar", (409,))
    def put(self, path: CalendarPath, header: AppHeader, body: CalendarBody) -> ShownCalendar:
        """Upload a calendar.

        It replaces the app's calendar of this name. An app has 100 calendars at most (409), and its timers have room
        for the new days (403, see `timerBytes`). The timers that name it get them within seconds of this answer;
        `following.left` counts those that do not have them yet.
        """
        wiring, now = self.wiring(), self.now()
        if path.name in built_in():
            reason, mend = f"{shown(path.name)} is built in", "choose another name"
            raise bad_value("name", reason, mend, about=Subject.CALENDAR)
        weekdays = frozenset(map(WEEKDAYS.index, body.weekdays))
        calendar = Calendar(path.name, weekdays, _days(body.days, "days"), _days(body.working, "working"))
        wiring.calendar_followers.refuse_growth(header.app, calendar, now)
        wiring.calendars.put(header.app, calendar, now)
        answer = self._shown_with_followers(header, calendar)
        if answer.following is not None and answer.following.left:
            wiring.broker.send_follow()
        return answer

    @Route("delete", ONE, "deleteCalendar", (404, 409))
    def delete(self, path: CalendarPath, header: AppHeader) -> None:
        """Delete a calendar that no timer names."""
        calendars = self.wiring().calendars
        if users := calendars.timers_of(header.app, path.name):
            reason = f"{len(users)} timers name this calendar, the first is {users[0]}"
            mend = "give them schedule.excludeCalendar: null, and delete the calendar then"
            raise Refused(ErrorCode.WRONG_STATE, "name", reason, mend, about=Subject.CALENDAR)
        if not calendars.remove(header.app, path.name, self.now()):
            raise _unknown(path.name)

    def _shown_with_followers(self, header: AppHeader, calendar: Calendar) -> ShownCalendar:
        return _shown(calendar, self.wiring().calendar_followers.progress(header.app, calendar.name))


def _place(calendar: Calendar) -> tuple[bool, str]:
    """Return what calendars are listed by: the built-in ones come first, then the app's own, by name."""
    return calendar.name not in built_in(), calendar.name


def _unknown(name: str) -> Refused:
    reason, mend = f"the app has no calendar {shown(name)} of its own", "GET /v1/calendars lists them"
    return Refused(ErrorCode.UNKNOWN_CALENDAR, "name", reason, mend, about=Subject.CALENDAR)


def _shown(calendar: Calendar, followers: Progress | None = None) -> ShownCalendar:
    """Return a calendar as answers show it; `followers` is how many timers use its latest days."""
    return ShownCalendar.of(
        calendar,
        weekdays=[WEEKDAYS[day] for day in sorted(calendar.weekdays)],
        days=sorted(day.isoformat() for day in calendar.days),
        working=sorted(day.isoformat() for day in calendar.working),
        is_built_in=calendar.name in built_in(),
        following=followers,
    )


def _days(texts: Iterable[str], field: str) -> frozenset[date]:
    return frozenset(_day(text, f"{field}.{index}") for index, text in enumerate(texts))


def _day(text: str, field: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise bad_value(field, f"{shown(text)} is no day", "write it as in 2027-01-01") from None
