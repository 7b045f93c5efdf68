"""The bounds of a schedule in requests of all paths. Only v1 spells spans of time in another way."""

from typing import Annotated

from pydantic import Field

from wangtimer.api.http.field_types import GivenMoment, moment
from wangtimer.core.schedules.calendars import NAME_CHARACTERS

# Finding the 10,000th moment of a rare cron takes half a second.
MOST_FIRINGS = 10_000
JITTER = "each moment is delayed by at most this, never past the next one; its delay is always the same"

Timezone = Annotated[
    str | None,
    Field(
        description="IANA zone of cron, of excluded days, and of moments written without an offset; UTC by default",
        examples=["Asia/Shanghai"],
    ),
]
StartAt = Annotated[GivenMoment, moment("nothing fires before")]
EndAt = Annotated[GivenMoment, moment("nothing fires after; then the timer is finished")]
MaxFirings = Annotated[
    int | None,
    Field(
        ge=1,
        le=MOST_FIRINGS,
        description="the timer is finished after this many moments of its schedule, counted from startAt, or else from "
        "the first enable. Moments that pass while it is disabled count",
    ),
]
ExcludeCalendar = Annotated[
    str | None,
    Field(
        max_length=NAME_CHARACTERS,
        description="nothing fires on the days of this calendar: weekends, cn-off-days, or one the app uploaded",
        examples=["weekends"],
    ),
]
