"""Calendars over v1: the days on which an app's timers do not fire."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal, get_args

from flask_openapi.blueprint import APIBlueprint
from pydantic import AfterValidator, Field

from wangtimer.api.http import cursors
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.envelope import Sent
from wangtimer.api.http.field_types import PAGE, Cursor, Given, Limit, plain
from wangtimer.api.http.own_callbacks import refusing_callbacks
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.serving import Reply, Routes
from wangtimer.api.v1.shown import ListPage
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.store.sql.calendar_followers import Progress
from wangtimer.wiring import Wiring

MOST_DAYS = 4_000
# Monday first, as ISO 8601 counts them.
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)


class CalendarPath(Given):
    """Which calendar."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=64, description="unique in the app", examples=["plant-holidays"]),
        AfterValidator(plain),
    ]


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
            examples=[["2027-01-02"]],
        ),
    ]


class ShownFollowing(Sent):
    """Of the app's timers that name a calendar, how many have its days as they were uploaded last."""

    followers: Annotated[int, Field(description="timers that name it")]
    left: Annotated[
        int, Field(description="those that are still to take over its days: within seconds, as a rule")
    ]
    refused: Annotated[
        int,
        Field(
            description="those that keep older days, because their moments could not be worked out by these"
        ),
    ]
    refused_ids: Annotated[list[int], Field(description="the first ten of those")]


class ShownCalendar(Sent):
    """Days on which nothing fires: `weekdays` and `days`, save those in `working`."""

    name: str
    weekdays: Annotated[list[Weekday], Field(examples=[["saturday", "sunday"]])]
    days: list[str]
    working: list[str]
    first_year: Annotated[int | None, Field(description="of the years whose days are known")]
    last_year: Annotated[int | None, Field(description="after it only the weekdays count")]
    is_built_in: bool
    following: Annotated[
        ShownFollowing | None,
        Field(
            description="how far timers follow it; null in a list, and for a calendar that is always there"
        ),
    ]


class CalendarListQuery(Given):
    """Which page."""

    limit: Limit = PAGE
    cursor: Cursor | None = None


class CalendarPage(ListPage):
    """A page of the calendars that an app can name."""

    items: list[ShownCalendar]


@dataclass(frozen=True, slots=True)
class CalendarResource:
    """The operations on calendars."""

    wiring: Callable[[], Wiring]

    def page(self, header: AppHeader, query: CalendarListQuery) -> CalendarPage:
        """List calendars.

        Those that are always there, and then the app's own, by name.
        """
        listed = cursors.of_list(f"v1 {header.app} calendars", query)
        of_group = (built_in().values(), self.wiring().calendars.all_of(header.app))
        found = [(group, one) for group, calendars in enumerate(of_group) for one in calendars]
        found.sort(key=lambda one: (one[0], one[1].name))
        if query.cursor is not None:
            name, group = cursors.read(listed, query.cursor, str)
            found = [one for one in found if (one[0], one[1].name) > (group, name)]
        shown_rows = found[: query.limit]
        cursor = None
        if len(found) > query.limit:
            last_group, last = shown_rows[-1]
            cursor = cursors.write(listed, last.name, last_group)
        return CalendarPage(items=[_shown(calendar) for _, calendar in shown_rows], next_cursor=cursor)

    def get(self, path: CalendarPath, header: AppHeader) -> ShownCalendar:
        """Read a calendar, and how far timers follow it."""
        if path.name in built_in():
            return _shown(built_in()[path.name])
        wiring = self.wiring()
        calendar = wiring.calendars.get(header.app, path.name)
        if calendar is None:
            raise _unknown(path.name)
        return _shown(calendar, wiring.calendar_followers.progress(header.app, path.name))

    def put(self, path: CalendarPath, header: AppHeader, body: CalendarBody) -> ShownCalendar:
        """Upload a calendar.

        It takes the place of what the app has under this name; an app has 100 at most (409). The timers that name it
        follow within seconds of this answer: `following.left` counts them.
        """
        wiring = self.wiring()
        if path.name in built_in():
            raise Refused(
                ErrorCode.BAD_VALUE, "name", f"{shown(path.name)} is always there", "choose another name"
            )
        weekdays = frozenset(WEEKDAYS.index(word) for word in body.weekdays)
        calendar = Calendar(path.name, weekdays, _days(body.days, "days"), _days(body.working, "working"))
        wiring.calendars.put(header.app, calendar, int(wiring.clock.now_ms()))
        progress = wiring.calendar_followers.progress(header.app, path.name)
        if progress.left:
            wiring.broker.send_follow()
        return _shown(calendar, progress)

    def delete(self, path: CalendarPath, header: AppHeader) -> Reply:
        """Delete a calendar that no timer names."""
        calendars = self.wiring().calendars
        if users := calendars.timers_of(header.app, path.name):
            raise Refused(
                ErrorCode.WRONG_STATE,
                "name",
                f"{len(users)} timers name this calendar, the first is {users[0]}",
                "change them, schedule.excludeCalendar: null, and delete it then",
            )
        if not calendars.remove(header.app, path.name):
            raise _unknown(path.name)
        return Reply(None, 204)


def calendar_routes(wiring: Callable[[], Wiring]) -> APIBlueprint:
    """Return the routes of calendars."""
    resource = CalendarResource(wiring)
    routes = Routes.of("calendars", "calendars")
    add, one, answers = routes.add, "/calendars/<string:name>", {200: ShownCalendar}
    add("get", "/calendars", resource.page, "listCalendars", {200: CalendarPage})
    add("get", one, resource.get, "getCalendar", answers, 404)
    add("put", one, resource.put, "putCalendar", answers, 409, wrap=refusing_callbacks)
    add("delete", one, resource.delete, "deleteCalendar", {204: None}, 404, 409)
    return routes.blueprint


def _unknown(name: str) -> Refused:
    return Refused(
        ErrorCode.UNKNOWN_CALENDAR,
        "name",
        f"the app has no calendar {shown(name)} of its own",
        "GET /v1/calendars lists them",
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


def _shown(calendar: Calendar, progress: Progress | None = None) -> ShownCalendar:
    return ShownCalendar(
        name=calendar.name,
        weekdays=[WEEKDAYS[day] for day in sorted(calendar.weekdays)],
        days=sorted(day.isoformat() for day in calendar.days),
        working=sorted(day.isoformat() for day in calendar.working),
        first_year=calendar.first_year,
        last_year=calendar.last_year,
        is_built_in=calendar.name in built_in(),
        following=None if progress is None else _following(progress),
    )


def _following(progress: Progress) -> ShownFollowing:
    return ShownFollowing(
        followers=progress.followers,
        left=progress.left,
        refused=progress.refused,
        refused_ids=list(progress.refused_ids),
    )
