"""The calendar that a schedule names."""

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.store.sql.calendars import CalendarStore


def find_calendar(calendars: CalendarStore, app: str, name: str) -> Calendar:
    """Return a built-in calendar, or the app's own; raises `Refused` where there is none."""
    calendar = built_in().get(name) or calendars.get(app, name)
    if calendar is None:
        raise Refused(
            ErrorCode.BAD_SCHEDULE,
            "schedule.excludeCalendar",
            f"there is no calendar {shown(name)}",
            f"name one of {', '.join(built_in())}, or upload it first",
        )
    return calendar
