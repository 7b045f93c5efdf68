"""Calendars over v1: the days on which an app's timers do not fire."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, Field

from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given, plain
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.value_types import ListPage, PageQuery
from wangtimer.core.errors import Subject
from wangtimer.core.schedules.calendars import NAME_CHARACTERS, Calendar, built_in
from wangtimer.store.sql.calendar_followers import Progress
from wangtimer.wiring import Wiring

MOST_DAYS = 4_000

CalendarName = Annotated[
    str,
    Field(
        min_length=1, max_length=NAME_CHARACTERS, description="unique in the app", examples=["plant-holidays"]
    ),
    AfterValidator(plain),
]
Days = Annotated[
    list[str],
    Field(
        default_factory=list,
        max_length=MOST_DAYS,
        fail_fast=True,
        description="further days",
        examples=[["2027-01-01"]],
    ),
]
WorkingDays = Annotated[
    list[str],
    Field(
        default_factory=list,
        max_length=MOST_DAYS,
        fail_fast=True,
        description="exceptions: days on which timers do fire",
        examples=[["2027-01-02"]],
    ),
]


@dataclass(frozen=True, slots=True)
class FollowedCalendar:
    """A calendar, and how many timers use its latest days; None for a built-in calendar."""

    calendar: Calendar
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Calendars:
    """An app's calendars; each method raises `StoreAway`."""

    wiring: Wiring
    app: str

    def all(self) -> list[FollowedCalendar]:
        """Return the calendars that the app can name: the built-in ones and its own."""
        return [
            FollowedCalendar(one) for one in (*built_in().values(), *self.wiring.calendars.all_of(self.app))
        ]

    def get(self, name: str) -> FollowedCalendar:
        """Return the calendar of this name; raises `Refused` where there is none."""
        if name in built_in():
            return FollowedCalendar(built_in()[name])
        calendar = self.wiring.calendars.get(self.app, name)
        if calendar is None:
            raise self._unknown(name)
        return FollowedCalendar(calendar, self.wiring.calendar_followers.progress(self.app, name))

    def put(
        self, name: str, weekdays: Iterable[int], days: Iterable[str], working: Iterable[str]
    ) -> tuple[Calendar, Progress]:
        """Upload a calendar, and have the timers that name it follow; weekdays count from 0, Monday.

        Raises `Refused` for a bad name or day, `Conflict` when the app has too many calendars, `LimitReached` when
        these, or its timers, would take too many bytes.
        """
        if name in built_in():
            raise Refused(
                ErrorCode.BAD_VALUE,
                "name",
                f"{shown(name)} is built in",
                "choose another name",
                about=Subject.CALENDAR,
            )
        calendar = Calendar(name, frozenset(weekdays), _days(days, "days"), _days(working, "working"))
        now = int(self.wiring.clock.now_ms())
        self.wiring.calendar_followers.refuse_growth(self.app, calendar, now)
        self.wiring.calendars.put(self.app, calendar, now)
        progress = self.wiring.calendar_followers.progress(self.app, name)
        if progress.left:
            self.wiring.broker.send_follow()
        return calendar, progress

    def delete(self, name: str) -> None:
        """Delete a calendar that no timer names; raises `Refused`."""
        if users := self.wiring.calendars.timers_of(self.app, name):
            reason = f"{len(users)} timers name this calendar, the first is {users[0]}"
            mend = "give them schedule.excludeCalendar: null, and delete the calendar then"
            raise Refused(ErrorCode.WRONG_STATE, "name", reason, mend, about=Subject.CALENDAR)
        if not self.wiring.calendars.remove(self.app, name, int(self.wiring.clock.now_ms())):
            raise self._unknown(name)

    def _unknown(self, name: str) -> Refused:
        reason = f"the app has no calendar {shown(name)} of its own"
        return Refused(
            ErrorCode.UNKNOWN_CALENDAR,
            "name",
            reason,
            "GET /v1/calendars lists them",
            about=Subject.CALENDAR,
        )


def _days(texts: Iterable[str], field: str) -> frozenset[date]:
    return frozenset(_day(text, f"{field}.{index}") for index, text in enumerate(texts))


def _day(text: str, field: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Refused(
            ErrorCode.BAD_VALUE, field, f"{shown(text)} is no day", "write it as in 2027-01-01"
        ) from None


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
