"""An app's calendars: uploaded, read and deleted."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import plain
from wangtimer.api.http.refusals import Refused, shown
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
