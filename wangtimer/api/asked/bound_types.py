"""What bounds a schedule, as requests of all paths have it; spans of time are spelled differently in v1."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.field_types import GivenMoment, moment
from wangtimer.core.schedules.calendars import NAME_CHARACTERS

# To find the last of so many moments of a cron that is rare takes half a second.
MOST_FIRINGS = 10_000
JITTER = "each moment is put off by up to so much, but never past the next; by how much is stable"

Timezone = Annotated[
    str | None,
    Field(
        description="IANA zone of cron and of excluded days, UTC by default; one moment has no use for it",
        examples=["Asia/Shanghai"],
    ),
]
StartAt = Annotated[GivenMoment, moment("nothing fires before"), Field(alias="startAt")]
EndAt = Annotated[
    GivenMoment, moment("nothing fires after; then the timer is finished"), Field(alias="endAt")
]
MaxFirings = Annotated[
    int | None,
    Field(
        alias="maxFirings",
        ge=1,
        le=MOST_FIRINGS,
        description="so many moments of the schedule, counted from startAt, or else from the first enable; then the "
        "timer is finished. Those that pass while it is disabled count",
    ),
]
ExcludeCalendar = Annotated[
    str | None,
    Field(
        alias="excludeCalendar",
        max_length=NAME_CHARACTERS,
        description="nothing fires on the days of this calendar: weekends, cn-off-days, or one the app uploaded",
        examples=["weekends"],
    ),
]
