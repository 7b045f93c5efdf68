"""The conditions that select an app's timers for a list or a bulk change, on all paths."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from wangtimer.api.http.field_types import GivenMoment, moment, number
from wangtimer.api.http.moments import read_moment_field
from wangtimer.core.timers.fields import TAG_CHARACTERS
from wangtimer.core.timers.timer import NAME_CHARACTERS
from wangtimer.store.sql.timer_lists import ListedStatus, TimerFilter

NameText = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
TagText = Annotated[str, Field(min_length=1, max_length=TAG_CHARACTERS)]
StatusWord = Literal["disabled", "enabled", "finished"]
NextBefore = Annotated[
    GivenMoment,
    BeforeValidator(number),
    moment("only timers whose next moment is at or before this"),
]


def wanted_timers(
    app: str | None,
    name: str | None,
    prefix: str | None,
    contains: str | None,
    status: StatusWord | None,
    tag: str | None,
    next_before: Any,
    path: str,
) -> TimerFilter:
    """Return the filter of an app's timers; raises `Refused` for a moment that cannot be read.

    `path` is the prefix of the conditions' names, such as "filter.".
    """
    before = None if next_before is None else read_moment_field(next_before, f"{path}nextBefore")
    listed = None if status is None else ListedStatus(status)
    return TimerFilter(app, name, prefix, contains, listed, tag, before)
